"""Hides the secrets of a client's file in a preview of its change.

A file may hold values that should not be shown on a screen: everything under `env` and `headers`, and values
whose key or form is that of a secret.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from mcp_workbench.config.documents import open_document
from mcp_workbench.config.masking.recognition import find_secrets
from mcp_workbench.config.masking.secret_values import SENSITIVE_NAME
from mcp_workbench.config.masking.secrets import MIN_SECRET_CHARACTERS, Secrets
from mcp_workbench.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_workbench.config.documents import Format

_SECRET_OBJECTS: Final = frozenset(("env", "environment", "envs", "headers", "http_headers"))
_FORMATS: Final[dict[str, Format]] = {".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}
_HIDDEN: Final = "(hidden: the file cannot be parsed, so its secrets are not known)"
_DIFF_HEADERS: Final = ("--- ", "+++ ", "@@ ")


def format_of(path: str) -> Format:
    """Return the format of a file, by the end of its name."""
    return _FORMATS.get(os.path.splitext(path)[1].lower(), "json")


def mask_of(
    format_: Format, *contents: bytes | None, is_public: Callable[[dict[str, object]], bool] | None = None
) -> Callable[[str], str]:
    """Return a function that masks the secrets of a file in one line of a diff.

    `is_public` says of an object in the file whether its values may be shown, as those of our own entry. If
    the file cannot be parsed, the lines of the diff are hidden.
    """
    found: dict[tuple[str, str], str] = {}
    for content in contents:
        try:
            data = open_document(format_, content or b"").data
        except DocumentError:
            return _hide
        node = _without_public(data, is_public) if is_public else data
        found |= {(key, value): f"<{key}>" for key, value in _secret_values("", node, is_secret=False)}
        found |= {("", secret.value): f"<{secret.suggested_name}>" for secret in find_secrets(node)}
    return _masking(found)


def _masking(found: dict[tuple[str, str], str]) -> Callable[[str], str]:
    secrets = Secrets({value: label for (_, value), label in found.items()})
    # A short value may stand anywhere by chance, so it is masked only after its key.
    short = "|".join(
        rf"({re.escape(key)}[\"']?\s*[:=]\s*[\"']?){re.escape(value)}(?!\w)"
        for key, value in found
        if key and 0 < len(value) < MIN_SECRET_CHARACTERS
    )
    pattern = re.compile(short) if short else None

    def mask(line: str) -> str:
        if pattern is not None:
            line = pattern.sub(lambda match: f"{match[match.lastindex or 0]}<hidden>", line)
        return secrets.mask(line)

    return mask


def _hide(line: str) -> str:
    return line if line.startswith(_DIFF_HEADERS) else f"{line[:1]}{_HIDDEN}"


def _without_public(
    node: dict[str, object], is_public: Callable[[dict[str, object]], bool]
) -> dict[str, object]:
    def pruned(value: object) -> object:
        if isinstance(value, dict):
            return {} if is_public(value) else {key: pruned(member) for key, member in value.items()}
        return [pruned(item) for item in value] if isinstance(value, list) else value

    return {key: pruned(value) for key, value in node.items()}


def _secret_values(key: str, node: object, *, is_secret: bool) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of what is secret because of where it stands."""
    if isinstance(node, dict):
        for name, value in node.items():
            hides = is_secret or name in _SECRET_OBJECTS or re.search(SENSITIVE_NAME, name) is not None
            yield from _secret_values(name, value, is_secret=hides)
    elif isinstance(node, list):
        for item in node:
            yield from _secret_values(key, item, is_secret=is_secret)
    elif is_secret and node is not None and not isinstance(node, bool):
        yield key, str(node)
