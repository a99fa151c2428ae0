"""A terminal of a given size that shows what a program writes, as far as our commands use one."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"\x1b\[(?P<arguments>[0-9;?]*)(?P<letter>[A-Za-z])|(?P<control>[\r\n])|(?P<text>[^\x1b\r\n]+)"
)


class Screen:
    """The rows of a terminal. What scrolls off at the top stays in `transcript`, as on a real one."""

    def __init__(self, rows: int, columns: int) -> None:
        self._rows = rows
        self._columns = columns
        self._lines = [""]
        self._top = 0
        self._row = 0
        self._column = 0
        self._is_drawn = False
        """Whether anything was written since lines were erased."""
        self.frames: list[list[str]] = []
        """What was shown each time the program began to draw over it."""
        self.colours: set[str] = set()
        """The arguments of all sequences that choose a colour or a style."""
        self.is_cursor_shown = True

    def feed(self, text: str) -> None:
        """Show what a program writes. Fails on a sequence that is not known."""
        position = 0
        while position < len(text):
            token = _TOKEN.match(text, position)
            assert token, f"unknown: {text[position : position + 20]!r}"
            position = token.end()
            if token["letter"]:
                self._obey(token["letter"], token["arguments"])
            elif token["control"] == "\r":
                self._column = 0
            elif token["control"] == "\n":
                self._line_feed()
            else:
                self._write(token["text"])

    @property
    def shown(self) -> list[str]:
        """The lines that are on the screen now, without trailing spaces."""
        return [line.rstrip() for line in self._lines[self._top :]]

    @property
    def transcript(self) -> list[str]:
        """All lines since the start: those that have scrolled off, and those on the screen."""
        return [line.rstrip() for line in self._lines]

    def _obey(self, letter: str, arguments: str) -> None:
        match letter:
            case "A":
                self._row = max(self._row - int(arguments or 1), self._top)
            case "K":
                assert arguments == "2", arguments
                if self._is_drawn:
                    self.frames.append(self.shown)
                self._is_drawn = False
                self._lines[self._row] = ""
            case "m":
                self.colours.add(arguments)
            case "h" | "l":
                assert arguments == "?25", arguments
                self.is_cursor_shown = letter == "h"
            case _:
                raise AssertionError(f"unknown: CSI {arguments}{letter}")

    def _line_feed(self) -> None:
        self._row += 1
        if self._row == len(self._lines):
            self._lines.append("")
        self._top = max(self._top, self._row - self._rows + 1)

    def _write(self, text: str) -> None:
        self._is_drawn = True
        for character in text:
            if self._column == self._columns:
                self._line_feed()
                self._column = 0
            line = self._lines[self._row].ljust(self._column)
            self._lines[self._row] = line[: self._column] + character + line[self._column + 1 :]
            self._column += 1
