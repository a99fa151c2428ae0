"""Extracts what can be saved from a line that cannot be decoded.

The id of the request that the line belongs to, so that the request fails at once and not after its
timeout. The search is no parsing, so it trusts only the places where programs write an id: first or last
in the message. Anywhere else it may belong to something in the body.

From a line that is nested too deeply, all values that are not, for code that knows where to look.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from mcp_workbench.wire.lines import Line

_ID: Final = rb'"id"\s*:\s*(?:(-?(?:0|[1-9]\d{0,17}))(?:\.0+)?|("[\x20\x21\x23-\x5b\x5d-\x7e]{1,100}"))\s*'
_VERSION: Final = rb'"jsonrpc"\s*:\s*(?:"[^"]{0,10}"|[\d.]{1,10})\s*'
_ID_FIRST: Final = rb"\s*\{\s*(?:" + _VERSION + rb",\s*)?" + _ID + rb"[,}]"
_ID_LAST: Final = _ID + rb"(?:,\s*" + _VERSION + rb")?\}\s*$"
_METHOD_EARLY: Final = rb'\s*\{(?:\s*"(?:jsonrpc|id)"\s*:\s*[^,{}\[\]]{0,120},)*\s*"method"\s*:'
_LAST_REACH: Final = 200
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"{}[]"))
_TOKEN: Final = rb'"(?:[^"\\]|\\.)*+"|[\[{]|[\]}]'


def find_id(line: Line) -> int | str | None:
    """Return the id that the line seems to have, if any."""
    match = re.match(_ID_FIRST, line)
    if match is None and re.match(rb"\s*+\{", line):
        match = re.search(_ID_LAST, line[-_LAST_REACH:])
    if match is None:
        return None
    found: int | str = msgspec.json.decode(match[1] or match[2], type=int | str)
    return found


def find_answered_id(line: Line) -> int | str | None:
    """Return the id that the line seems to have, if it looks like a response and not like a request."""
    return None if re.match(_METHOD_EARLY, line) else find_id(line)


def without_deep_values(line: bytes, level: int, depth: int) -> bytes:
    """Return the line with null in place of values at `level` that are nested deeper than `depth`."""
    kept: list[bytes] = []
    copied_to = start = reached = at = 0
    for token in re.finditer(_TOKEN, line, re.DOTALL):
        kind = token[0]
        if kind in b"{[":
            at += 1
            reached = max(reached, at)
            if at == level:
                start, reached = token.start(), at
        elif kind in b"]}":
            if at == level and reached > depth:
                kept += line[copied_to:start], b"null"
                copied_to = token.end()
            at -= 1
    return b"".join((*kept, line[copied_to:]))


def depth_of(value: bytes) -> int:
    """Return how many levels of nesting a JSON text has."""
    brackets = re.sub(rb'"(?:[^"\\]|\\.)*+"', b"", value, flags=re.DOTALL).translate(None, _NO_BRACKETS)
    depth = deepest = 0
    for bracket in brackets:
        depth += 1 if bracket in b"{[" else -1
        deepest = max(deepest, depth)
    return deepest
