"""What a kept content looks like, in a line: the lines of a text, the keys and lengths of a JSON value."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.workbench.kept.json_parts import items_of, kind_of, members_of

if TYPE_CHECKING:
    from mcp_workbench.wire.message import Body

DEEPEST: Final = 4
MOST_KEYS: Final = 20
FEW_KEYS: Final = 5
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
    value = _Value(text.strip())
    shape = value.shape(0, 0)
    # From the top down: each level is looked into once, and none that would not be shown.
    for depth in range(1, DEEPEST + 1):
        fitting = (it for most in (MOST_KEYS, FEW_KEYS) if len(it := value.shape(depth, most)) <= room)
        deeper = next(fitting, None)
        if deeper is None:
            break
        shape = deeper
    return shape


class _Value:
    """A value, and what is in it once that was looked at."""

    def __init__(self, raw: Body) -> None:
        self._raw = raw
        self._kind = kind_of(raw)
        self._inside: _Inside | None = None

    def shape(self, depth: int, most: int) -> str:
        """To so many levels, with so many keys in each object."""
        if self._kind not in ("object", "array"):
            return self._kind
        if self._inside is None:
            self._inside = _object(self._raw) if self._kind == "object" else _array(self._raw)
        inside = self._inside
        if depth == 0 or not inside.count:
            return "{}" if (self._kind, inside.count) == ("object", 0) else f"{self._kind}[{inside.size}]"
        if self._kind == "array":
            of = inside.of or inside.values[0][1].shape(depth - 1, most)
            return f"array[{inside.size}] of {of}"
        shown = [f"{key}: {value.shape(depth - 1, most)}" for key, value in inside.values[:most]]
        if inside.count > most:
            shown.append(f"… {inside.count - most:,} more keys")
        return f"{{{', '.join(shown)}}}"


class _Inside(msgspec.Struct, frozen=True):
    """What is in an object or an array."""

    count: int | None
    """None if it is not known."""
    values: list[tuple[str, _Value]]
    """The first of them."""
    of: str = ""
    """The types of items that are of several."""

    @property
    def size(self) -> str:
        return "very many" if self.count is None else str(self.count)


def _object(raw: Body) -> _Inside:
    members = members_of(raw)
    if members is None:
        return _Inside(None, [])
    return _Inside(len(members), [(key, _Value(it)) for key, it in islice(members.items(), MOST_KEYS)])


def _array(raw: Body) -> _Inside:
    items = items_of(raw)
    if items is None:
        return _Inside(None, [])
    kinds = sorted({kind_of(item) for item in (*items[:SAMPLED], *items[-SAMPLED:])})
    return _Inside(
        len(items), [("", _Value(it)) for it in items[:1]], " | ".join(kinds) if len(kinds) > 1 else ""
    )
