"""The lines of a text by positions in it: where a line starts and ends, and which number it has."""

from __future__ import annotations

import re

_BREAK = re.compile(r"[\r\n]")
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_SPACE = re.compile(r"[ \t]*")


class Lines:
    """The lines of a text, which end with LF, CRLF or CR."""

    def __init__(self, text: str) -> None:
        self.text = text

    def line_at(self, position: int) -> int:
        """Return the number of the line with a position, the first being 1."""
        return self.text.count("\n", 0, position) + 1

    def line_start(self, position: int) -> int:
        """Return where the line with a position starts."""
        return max(self.text.rfind("\n", 0, position), self.text.rfind("\r", 0, position)) + 1

    def line_end(self, position: int) -> int:
        """Return where the line with a position ends, before its line break."""
        match = _BREAK.search(self.text, position)
        return len(self.text) if match is None else match.start()

    def next_line(self, position: int) -> int:
        """Return where the line after the one with a position starts."""
        match = _LINE_BREAK.search(self.text, position)
        return len(self.text) if match is None else match.end()

    def previous_line(self, start: int) -> int:
        """Return where the line before the one that starts at a position starts."""
        return self.line_start(start - (2 if self.text.endswith("\r\n", 0, start) else 1))

    def line(self, position: int) -> str:
        """Return the line with a position, without the white space around it."""
        return self.text[self.line_start(position) : self.line_end(position)].strip()

    def indent_at(self, position: int) -> str:
        """Return the white space that the line with a position starts with."""
        match = _SPACE.match(self.text, self.line_start(position))
        return "" if match is None else match[0]

    def is_on_one_line(self, start: int, end: int) -> bool:
        """Whether there is no line break between two positions."""
        return _BREAK.search(self.text, start, end) is None

    def count_breaks(self, start: int, end: int) -> int:
        """Return the number of line breaks between two positions."""
        return len(_LINE_BREAK.findall(self.text, start, end))

    def up_to_end(self, start: int, end: int) -> tuple[int, int]:
        """Return a range of whole lines to remove, such that a text without a final line break stays so."""
        if end == len(self.text) and start and not self.text.endswith(("\n", "\r")):
            start -= 2 if self.text.endswith("\r\n", 0, start) else 1
        return start, end
