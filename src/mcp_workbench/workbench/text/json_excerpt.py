"""JSON from a client or a server as it may be kept or shown: secrets masked, and long parts shortened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.config.masking.in_text import MASKED, mask_in_text
from mcp_workbench.config.masking.recognition import names_secret

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_READ_BYTES: Final = 256 * 1024
"""Size of the longest JSON that is read: to decode more would hold up everything else."""

_MAX_DEPTH: Final = 32
_SECRET_CHARACTERS: Final = 500
"""Length of a secret that is still recognised where a text is cut. To search whole texts would take long."""
_LIMITS: Final = ((2000, 200), (200, 20))
"""How many characters of a text and how many members of a list or an object are shown, and how many if
that is still too much."""


def json_excerpt(body: bytes, max_bytes: int, mask: Callable[[str], str]) -> bytes:
    """Return JSON without secrets, of at most `max_bytes`; a JSON text that says why, if there is none.

    `mask` replaces known secrets in a text. Values under keys such as `password` are masked too, in texts as
    well, and tokens of known services wherever they stand.
    """
    if len(body) > MAX_READ_BYTES:
        return left_out(f"{len(body):,} bytes")
    try:
        tree = msgspec.json.decode(body)
        # Spelled anew: every character can be written as an escape, which would hide a secret.
        text = msgspec.json.encode(tree).decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return left_out("no valid JSON")
    # Before anything is cut: half a secret would not be recognised.
    if mask(text) != text:
        tree = _masked(tree, mask, 0)
    for characters, members in _LIMITS:
        excerpt = msgspec.json.encode(_shortened(tree, characters, members, 0))
        if len(excerpt) <= max_bytes:
            return excerpt
    return left_out(f"{len(body):,} bytes")


def left_out(why: str) -> bytes:
    """Return the JSON text that stands for JSON that is not shown."""
    return msgspec.json.encode(f"(left out: {why})")


def _masked(value: object, mask: Callable[[str], str], depth: int) -> object:
    """Return a value with the known secrets in it replaced, whatever form they have."""
    if depth > _MAX_DEPTH:
        return MASKED
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {mask(key): _masked(member, mask, depth + 1) for key, member in value.items()}
    if isinstance(value, list):
        return [_masked(member, mask, depth + 1) for member in value]
    plain = msgspec.json.encode(value).decode()
    masked = mask(plain)
    return value if masked == plain else masked


def _shortened(value: object, characters: int, members: int, depth: int) -> object:
    """Return a value with long texts, lists and objects cut, and without what is secret by its looks."""
    if depth > _MAX_DEPTH:
        return "…"
    if isinstance(value, str):
        beyond = len(value) - characters
        # Most results are texts, which may have JSON, commands or addresses in them.
        text = mask_in_text(value[: characters + _SECRET_CHARACTERS])
        return text if beyond <= 0 else f"{text[:characters]}… ({beyond:,} characters left out)"
    if isinstance(value, dict):
        shown: dict[object, object] = {}
        for key, member in list(value.items())[:members]:
            is_secret = names_secret(key) and not isinstance(member, bool) and bool(member)
            shown[key] = MASKED if is_secret else _shortened(member, characters, members, depth + 1)
        if len(value) > members:
            shown["…"] = f"({len(value) - members:,} members left out)"
        return shown
    if isinstance(value, list):
        cut = [_shortened(member, characters, members, depth + 1) for member in value[:members]]
        return cut if len(value) <= members else [*cut, f"… ({len(value) - members:,} left out)"]
    return value
