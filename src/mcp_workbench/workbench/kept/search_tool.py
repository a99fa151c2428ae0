"""The result of `search_result`: numbered lines with matches, and the lines around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import BadPattern, InvalidCall
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.kept.definitions import MAX_CONTEXT_LINES, MAX_MATCHES
from mcp_workbench.workbench.kept.reading import piece_of_bytes
from mcp_workbench.workbench.kept.search import find_pattern, find_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_workbench.workbench.kept.client_results import Content
    from mcp_workbench.workbench.kept.search import Match, Matches

MAX_PATTERN_CHARACTERS: Final = 1000
LONG_LINE_BYTES: Final = 500
"""A longer line is shown only around its matches."""
AROUND_BYTES: Final = 150
"""Bytes shown on either side of a match in a long line."""
MAX_SHOWN_BYTES: Final = 20_000
"""Size of all lines in one result."""


class SearchRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments of `search_result`."""

    handle: str
    text: str | None = None
    regex: str | None = None
    ignore_case: bool = False
    context: int = 2
    limit: int = 20

    def check(self) -> None:
        """Check the arguments. Raises InvalidCall."""
        if (self.text is None) == (self.regex is None):
            raise InvalidCall("Invalid arguments: give either text or regex")
        if not self._pattern:
            raise InvalidCall("Invalid arguments: what is searched for cannot be empty")
        if len(self._pattern) > MAX_PATTERN_CHARACTERS:
            raise InvalidCall(f"Invalid arguments: it can have {MAX_PATTERN_CHARACTERS:,} characters at most")
        for name, value, least, most in (
            ("context", self.context, 0, MAX_CONTEXT_LINES),
            ("limit", self.limit, 1, MAX_MATCHES),
        ):
            if not least <= value <= most:
                raise InvalidCall(f"Invalid arguments: {name} must be from {least} to {most}, and is {value}")

    @property
    def _pattern(self) -> str:
        return self.text or self.regex or ""

    @property
    def is_quick(self) -> bool:
        """Whether a search in a short content takes no noticeable time; a regular expression may not."""
        return self.text is not None and not self.ignore_case

    def answer(self, content: Content, limit: int) -> list[msgspec.Raw]:
        """Search the content and return the blocks of the result. Raises InvalidCall."""
        if content.kind == "binary":
            raise InvalidCall(
                f"Invalid arguments: it is {content.mime or 'binary'}, which cannot be searched"
            )
        data = content.data
        found = self._find(data)
        space = min(MAX_SHOWN_BYTES, limit)
        pieces: list[str] = []
        shown = 0
        lines = _MatchLines(data, self.context)
        lines.add(found.matches)
        for piece, count in lines.pieces():
            space -= len(piece.encode()) + 1
            if space < 0 and shown:
                break
            pieces.append(piece)
            shown += count
        text = "\n".join([self._summary(data, found, shown), *pieces])
        return [msgspec.Raw(encode({"type": "text", "text": text}))]

    def _find(self, data: bytes) -> Matches:
        if self.text is not None and not self.ignore_case:
            return find_text(data, self.text, self.limit)
        try:
            return find_pattern(
                data,
                self._pattern,
                self.limit,
                ignores_case=self.ignore_case,
                is_literal=self.regex is None,
            )
        except BadPattern as problem:
            raise InvalidCall(f"Invalid arguments: {problem}") from None

    def _summary(self, data: bytes, found: Matches, shown: int) -> str:
        what = f"text {self.text!r}" if self.text is not None else f"regex {self.regex!r}"
        if not found.matches:
            return f"No match for the {what} in {len(data):,} bytes."
        if shown < len(found.matches) or found.has_more:
            more = "there are more. Search for something rarer, or raise limit"
            return f"The first {_matches(shown)} for the {what}; {more}."
        return f"{_matches(shown)} for the {what}."


def _matches(count: int) -> str:
    return "1 match" if count == 1 else f"{count} matches"


class _MatchLines:
    """The lines to show, by number: those with matches, and those around them."""

    def __init__(self, data: bytes, context: int) -> None:
        self._data = data
        self._context = context
        self._lines: dict[tuple[int, int], tuple[str, int]] = {}
        """The text of each line and its number of matches. A long line may have several entries."""
        self._around: dict[int, str] = {}

    def add(self, matches: list[Match]) -> None:
        """Add matches, in their order in the content."""
        number, counted_to, around_to = 1, 0, 0
        for match in matches:
            number += self._data.count(b"\n", counted_to, match.start)
            counted_to = match.start
            start = self._data.rfind(b"\n", 0, match.start) + 1
            end = _line_end(self._data, match.end - 1)
            if end - start <= LONG_LINE_BYTES:
                _, count = self._lines.get((number, 0), ("", 0))
                self._lines[number, 0] = f"{number}: {_decoded(self._data[start:end])}", count + 1
                if not count:
                    self._add_context(number, start, end)
            elif match.end > around_to:
                before = piece_of_bytes(self._data, max(start, match.start - AROUND_BYTES), 1).start
                around_to = piece_of_bytes(self._data, match.end, AROUND_BYTES).end
                text = _decoded(self._data[before : min(around_to, end)])
                self._lines[number, match.start] = f"{number}: byte {match.start}: …{text}…", 1
            else:
                key, (text, count) = list(self._lines.items())[-1]
                self._lines[key] = text, count + 1

    def _add_context(self, number: int, start: int, end: int) -> None:
        before, after = start, end
        for step in range(1, self._context + 1):
            if before > 0:
                begin = self._data.rfind(b"\n", 0, before - 1) + 1
                self._around[number - step] = _decoded(self._data[begin : before - 1][:LONG_LINE_BYTES])
                before = begin
            if after + 1 < len(self._data):
                begin, after = after + 1, _line_end(self._data, after + 1)
                self._around[number + step] = _decoded(self._data[begin:after][:LONG_LINE_BYTES])

    def pieces(self) -> Iterator[tuple[str, int]]:
        """Return the lines in order, and how many matches each has."""
        matching = {number for number, _ in self._lines}
        around = {
            (number, 0): (f"{number}- {text}", 0)
            for number, text in self._around.items()
            if number not in matching
        }
        previous = 0
        for (number, _), (text, count) in sorted((self._lines | around).items()):
            if previous and number > previous + 1:
                yield "--", 0
            yield text, count
            previous = number


def _line_end(data: bytes, at: int) -> int:
    end = data.find(b"\n", at)
    return len(data) if end < 0 else end


def _decoded(line: bytes) -> str:
    # A line that was cut by bytes may end within a character.
    return line.removesuffix(b"\r").decode(errors="ignore")
