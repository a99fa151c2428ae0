"""Parts of a JSON text: members of an object, items of an array, and targets of pointers (RFC 6901).

Decodes as little as possible and rewrites nothing: every part is the original text.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from mcp_workbench.errors import NoSuchPart
from mcp_workbench.wire.message import ABSENT, Body, decode_members
from mcp_workbench.workbench.text.json_pointer import unescape_step

MAX_PARTS: Final = 3_000_000
"""Parts that are split at once: each takes some 70 bytes."""
ALWAYS_SPLIT_BYTES: Final = 4 * 1024 * 1024
"""Values up to this size cannot have too many parts to split."""
SAMPLE_BYTES: Final = 16 * 1024
"""Size of the beginning by which the number of parts is estimated."""
KEYS_SHOWN: Final = 30

_TOKEN: Final = rb'"(?:[^"\\]|\\.)*+"?|[][{},]'
_NOT_IN_FIELD_NAMES: Final = frozenset('"\\')
"""Characters that the field of a msgspec type cannot have in its name."""
_INDEX: Final = "0|[1-9][0-9]{0,17}"

_KINDS: Final = {
    b"{": "object",
    b"[": "array",
    b'"': "string",
    b"t": "boolean",
    b"f": "boolean",
    b"n": "null",
}

_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def kind_of(value: Body) -> str:
    """Return the type of a JSON value, as JSON Schema calls it."""
    kind = _KINDS.get(bytes(memoryview(value)[:1]))
    if kind is not None:
        return kind
    digits = bytes(memoryview(value)[:40])
    return "number" if any(sign in digits for sign in b".eE") else "integer"


def members_of(value: Body) -> dict[str, msgspec.Raw] | None:
    """Return the members of an object; None if there are too many, or one is nested too deeply."""
    if _estimate(value) > MAX_PARTS:
        return None
    try:
        return decode_members(value)
    except RecursionError:
        return None


def items_of(value: Body) -> list[msgspec.Raw] | None:
    """Return the items of an array; None if there are too many, or one is nested too deeply."""
    if _estimate(value) > MAX_PARTS:
        return None
    try:
        return _decode_items(value)
    except RecursionError:
        return None


def _estimate(value: Body) -> int:
    """Estimate the number of parts by the beginning of the value; 0 if it is too short for too many."""
    if len(value) <= ALWAYS_SPLIT_BYTES:
        return 0
    depth = parts = 0
    for token in re.findall(_TOKEN, memoryview(value)[:SAMPLE_BYTES]):
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
        else:
            parts += token == b"," and depth == 1
    return parts * len(value) // SAMPLE_BYTES


def find_part(text: bytes, pointer: str) -> Body:
    """Return the value that a pointer leads to. Raises NoSuchPart."""
    if pointer and not pointer.startswith("/"):
        raise NoSuchPart(f'the pointer {pointer!r} does not begin with /: write for example "/rows/0/name"')
    value: Body = text.strip()
    reached = ""
    for step in pointer.split("/")[1:]:
        value = _step(value, unescape_step(step), pointer, reached)
        reached += f"/{step}"
    return value


def _step(value: Body, step: str, pointer: str, reached: str) -> Body:
    kind = kind_of(value)
    place = f"{reached!r}" if reached else "the whole"
    if kind == "object":
        if found := _member(value, step):
            return found
        members = members_of(value)
        keys = "more keys than can be listed" if members is None else f"the keys {listed(members)}"
        raise NoSuchPart(f"nothing is at {pointer!r}: {place} is an object with {keys}")
    if kind == "array":
        items = items_of(value)
        if items is None:
            raise NoSuchPart(f"{place} is an array with too many items to count them: read it by bytes")
        if re.fullmatch(_INDEX, step) and int(step) < len(items):
            return items[int(step)]
        indices = f"items 0 to {len(items) - 1}" if items else "no items"
        raise NoSuchPart(f"nothing is at {pointer!r}: {place} is an array with {indices}")
    raise NoSuchPart(f"nothing is at {pointer!r}: {place} is of the type {kind}, and has nothing inside")


def _member(value: Body, key: str) -> msgspec.Raw:
    """Return one member of an object, which may have millions; empty if there is no such member."""
    if not key.isprintable() or not _NOT_IN_FIELD_NAMES.isdisjoint(key):
        return (members_of(value) or {}).get(key, ABSENT)
    fields = [("member", msgspec.Raw, msgspec.field(name=key, default=ABSENT))]
    try:
        found = msgspec.json.decode(value, type=msgspec.defstruct("Found", fields))
    except RecursionError:
        raise NoSuchPart("it is nested too deeply to be looked into: read it by bytes") from None
    member: msgspec.Raw = found.member  # type: ignore[attr-defined] # defined three lines above
    return member


def listed(members: dict[str, msgspec.Raw]) -> str:
    """Return the keys of an object, or the first of them, as text."""
    shown = ", ".join(list(members)[:KEYS_SHOWN])
    more = len(members) - KEYS_SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown or "(none)"
