"""The shape of a kept content, in a line: the lines of a text, the keys and lengths of a JSON value."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.workbench.kept.json_parts import items_of, kind_of, members_of

if TYPE_CHECKING:
    from mcp_workbench.wire.message import Body

MAX_DEPTH: Final = 4
"""Levels of a JSON value that a shape shows."""
MAX_KEYS: Final = 20
FEW_KEYS: Final = 5
SAMPLED_ITEMS: Final = 10
"""Items at each end of an array whose types are read."""
PIECE_BYTES: Final = 1024 * 1024


def count_lines(text: bytes) -> int:
    """Return the number of lines. A line end at the end of the text begins no other line."""
    return text.count(b"\n") + (0 if text.endswith(b"\n") or not text else 1)


def shape_of_text(text: bytes) -> str:
    """Describe a text by its number of lines and its longest line."""
    count, longest = count_lines(text), longest_line(text)
    return "1 line" if count == 1 else f"{count:,} lines, the longest has {longest:,} bytes"


def longest_line(text: bytes) -> int:
    """Return the size of the longest line. Works in pieces, for there may be millions of lines."""
    longest = carried = 0
    for at in range(0, len(text), PIECE_BYTES):
        first, *others = text[at : at + PIECE_BYTES].split(b"\n")
        carried += len(first)
        if others:
            longest = max(longest, carried, *map(len, others[:-1]), 0)
            carried = len(others[-1])
    return max(longest, carried)


def shape_of_json(text: bytes, space: int) -> str:
    """Describe a JSON value: keys with types, and lengths of arrays, as deep as `space` characters allow."""
    value = _Value(text.strip())
    shape = value.shape(0, 0)
    # From the top down: each level is read once, and none that would not be shown.
    for depth in range(1, MAX_DEPTH + 1):
        fitting = (
            candidate for most in (MAX_KEYS, FEW_KEYS) if len(candidate := value.shape(depth, most)) <= space
        )
        deeper = next(fitting, None)
        if deeper is None:
            break
        shape = deeper
    return shape


class _Value:
    """A JSON value, and its contents once they were read."""

    def __init__(self, raw: Body) -> None:
        self._raw = raw
        self._kind = kind_of(raw)
        self._contents: _Contents | None = None

    def shape(self, depth: int, most: int) -> str:
        """Describe the value to a depth, with `most` keys of each object."""
        if self._kind not in ("object", "array"):
            return self._kind
        if self._contents is None:
            self._contents = _object(self._raw) if self._kind == "object" else _array(self._raw)
        contents = self._contents
        if depth == 0 or not contents.count:
            return "{}" if (self._kind, contents.count) == ("object", 0) else f"{self._kind}[{contents.size}]"
        if self._kind == "array":
            of = contents.of or contents.values[0][1].shape(depth - 1, most)
            return f"array[{contents.size}] of {of}"
        shown = [f"{key}: {value.shape(depth - 1, most)}" for key, value in contents.values[:most]]
        if contents.count > most:
            shown.append(f"… {contents.count - most:,} more keys")
        return f"{{{', '.join(shown)}}}"


class _Contents(msgspec.Struct, frozen=True):
    """The contents of an object or an array."""

    count: int | None
    """Number of members or items; None if there are too many to count."""
    values: list[tuple[str, _Value]]
    """The first members or items, with their keys."""
    of: str = ""
    """The types of the items, if there are several."""

    @property
    def size(self) -> str:
        return "very many" if self.count is None else str(self.count)


def _object(raw: Body) -> _Contents:
    members = members_of(raw)
    if members is None:
        return _Contents(None, [])
    return _Contents(
        len(members), [(key, _Value(raw_value)) for key, raw_value in islice(members.items(), MAX_KEYS)]
    )


def _array(raw: Body) -> _Contents:
    items = items_of(raw)
    if items is None:
        return _Contents(None, [])
    kinds = sorted({kind_of(item) for item in (*items[:SAMPLED_ITEMS], *items[-SAMPLED_ITEMS:])})
    return _Contents(
        len(items), [("", _Value(item)) for item in items[:1]], " | ".join(kinds) if len(kinds) > 1 else ""
    )
