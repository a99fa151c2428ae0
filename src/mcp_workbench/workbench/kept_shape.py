"""What a kept content looks like, in a line: the lines of a text, the keys and lengths of a JSON value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_workbench.workbench.json_parts import items_of, kind_of, members_of

if TYPE_CHECKING:
    from mcp_workbench.wire.message import Body

DEEPEST: Final = 4
MOST_KEYS: Final = 20
SAMPLED: Final = 10
"""Items at each end of an array that are looked at for their type."""
PIECE: Final = 1024 * 1024


def count_lines(text: bytes) -> int:
    """How many lines it has. A line end at its end begins no other."""
    return text.count(b"\n") + (0 if text.endswith(b"\n") or not text else 1)


def shape_of_text(text: bytes) -> str:
    """Its lines."""
    count, longest = count_lines(text), longest_line(text)
    return "1 line" if count == 1 else f"{count:,} lines, the longest has {longest:,} bytes"


def longest_line(text: bytes) -> int:
    """The bytes of the longest line. In pieces, for there may be millions."""
    longest = carried = 0
    for at in range(0, len(text), PIECE):
        first, *others = text[at : at + PIECE].split(b"\n")
        carried += len(first)
        if others:
            longest = max(longest, carried, *map(len, others[:-1]), 0)
            carried = len(others[-1])
    return max(longest, carried)


def shape_of_json(text: bytes, room: int) -> str:
    """Its keys with their types and the lengths of its arrays, as deep as there is room for."""
    value = text.strip()
    for depth in range(DEEPEST, 0, -1):
        for most in (MOST_KEYS, MOST_KEYS // 4):
            shape = _shape(value, depth, most)
            if len(shape) <= room:
                return shape
    return _shape(value, 0, 0)


def _shape(value: Body, depth: int, most: int) -> str:
    kind = kind_of(value)
    if kind == "object":
        return _shape_of_object(value, depth, most)
    return _shape_of_array(value, depth, most) if kind == "array" else kind


def _shape_of_object(value: Body, depth: int, most: int) -> str:
    members = members_of(value)
    if members is None:
        return "object[very many]"
    if depth == 0:
        return f"object[{len(members)}]" if members else "{}"
    shown = [f"{key}: {_shape(member, depth - 1, most)}" for key, member in list(members.items())[:most]]
    if len(members) > most:
        shown.append(f"… {len(members) - most:,} more keys")
    return f"{{{', '.join(shown)}}}"


def _shape_of_array(value: Body, depth: int, most: int) -> str:
    items = items_of(value)
    if items is None:
        return "array[very many]"
    if not items or depth == 0:
        return f"array[{len(items)}]"
    kinds = sorted({kind_of(item) for item in (*items[:SAMPLED], *items[-SAMPLED:])})
    of = _shape(items[0], depth - 1, most) if len(kinds) == 1 else " | ".join(kinds)
    return f"array[{len(items)}] of {of}"
