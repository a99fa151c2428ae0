"""Where the values of a JSON text are: the members of an object or a list, and the line of a place.

Owns positions only. The text has to be valid; comments and trailing commas are allowed where it says so.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from mcp_workbench.config.source.json_comments import without_comments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_workbench.config.validation.problems import Place

_SPACE = re.compile(r"[ \t\r\n]*")
# Decodes a value in C, only to learn where it ends.
_decode = json.JSONDecoder().raw_decode


class Member(NamedTuple):
    """A member of a JSON object or an item of a list, by its positions in the text."""

    key: str | int
    start: int
    """Where the key starts; in a list, where the value starts."""
    value: int
    end: int


class Positions:
    """Finds the line of a place in a JSON text, which may have comments and trailing commas.

    Nothing is scanned before the first question, and each object and list at most once.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._plain: str | None = None
        self._breaks: list[int] | None = None
        self._members: dict[int, dict[str | int, Member]] = {}

    def line_of(self, place: Place) -> int | None:
        """Return the line of a key or an item, the first line being 1.

        A place that is not in the text has the line of the nearest object or list on the way to it. The
        result is None if the text is not valid JSON. Of a key that is written twice, the last one counts.
        """
        try:
            return self._line_at(self._find(place))
        except (ValueError, IndexError, RecursionError):
            return None

    def _find(self, place: Place) -> int:
        if self._plain is None:
            self._plain = without_comments(self._text)
        start = value = skip_space(self._plain, 0)
        for step in place:
            if self._plain[value] not in "{[":
                break
            member = self._members_at(self._plain, value).get(step)
            if member is None:
                break
            start, value = member.start, member.value
        return start

    def _members_at(self, text: str, start: int) -> dict[str | int, Member]:
        found = self._members.get(start)
        if found is None:
            found = self._members[start] = {member.key: member for member in members(text, start)}
        return found

    def _line_at(self, position: int) -> int:
        if self._breaks is None:
            self._breaks = [match.start() for match in re.finditer("\n", self._text)]
        return bisect_left(self._breaks, position) + 1


def members(text: str, start: int) -> Iterator[Member]:
    """Yield the members of the object or list that starts at a position of valid JSON text.

    Raises ValueError or IndexError if the text is not valid JSON.
    """
    is_object = text[start] == "{"
    position = skip_space(text, start + 1)
    index = 0
    while text[position] not in "}]":
        key, first = index, position
        if is_object:
            key, after = _decode(text, position)
            position = skip_space(text, skip_space(text, after) + 1)
        _, end = _decode(text, position)
        yield Member(key, first, position, end)
        index += 1
        position = skip_space(text, end)
        if text[position] == ",":
            position = skip_space(text, position + 1)


def skip_space(text: str, position: int) -> int:
    """Return the position of the first character from a position on that is not white space of JSON."""
    match = _SPACE.match(text, position)
    return position if match is None else match.end()
