"""Adds what the workbench has to say to a server's result, without changing what the server sent.

Some hosts show the model only the `content` of a result, others only its `structuredContent`. So a note is
a text block at the end of the one, and a member of the other if that is an object.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

import msgspec

from mcp_workbench.wire.message import ABSENT, decode_members, encode, starts_with

MEMBER: Final = "workbench"
"""The member of an object in `structuredContent` that holds our note."""
MAX_KEYS: Final = 20
"""Occurrences of a key in a result that are tried as the result's own."""

_KEYS: Final = {
    "content": re.compile(rb'"content"\s*:\s*'),
    "structured": re.compile(rb'"structuredContent"\s*:\s*'),
}


class _Halves(msgspec.Struct):
    content: msgspec.Raw = ABSENT
    structured: msgspec.Raw = msgspec.field(default=ABSENT, name="structuredContent")


_decode_halves = msgspec.json.Decoder(_Halves).decode


def with_note(result: msgspec.Raw, note: str) -> msgspec.Raw:
    """Return a result with a note, and every other byte unchanged.

    Returns it as it is if its content is no list. Raises msgspec.DecodeError or RecursionError.
    """
    halves = _decode_halves(result)
    if not starts_with(halves.content, b"["):
        return result
    content = bytes(halves.content)
    block = b'{"type":"text","text":%b}' % encode(note)
    comma = b"" if content[1:-1].isspace() or len(content) == 2 else b","
    changed = _replaced(bytes(result), "content", content, b"%b%b%b]" % (content[:-1], comma, block))
    if changed is None:
        return result
    if starts_with(halves.structured, b"{"):
        structured = bytes(halves.structured)
        changed = _replaced(changed, "structured", structured, with_member(structured, note)) or changed
    return msgspec.Raw(changed)


def with_member(value: bytes, note: str) -> bytes:
    """Return a JSON object with a note as its last member, under a name that it does not have."""
    members = decode_members(value)
    name = MEMBER
    while name in members:
        name = f"_{name}"
    return b'%b%b"%b":%b}' % (value[:-1], b"," if members else b"", name.encode(), encode(note))


def _replaced(result: bytes, half: str, old: bytes, new: bytes) -> bytes | None:
    """Return the result with one half replaced, or None if its place cannot be found."""
    for key in islice(_KEYS[half].finditer(result), MAX_KEYS):
        start, end = key.end(), key.end() + len(old)
        if result[start:end] == old:
            changed = result[:start] + new + result[end:]
            # Only decoding shows whether this was the result's own member or a nested one.
            if getattr(_decode_halves(changed), half) == msgspec.Raw(new):
                return changed
    return None
