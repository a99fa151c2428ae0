"""A page of text on stdout: styled and fitted to the width of a terminal, plain and whole in a pipe."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from mcp_workbench.cli.wrapping import cut, wrap
from mcp_workbench.workbench.text.sanitise import show_name, show_text

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_COLUMNS: Final = 80
DEFAULT_ROWS: Final = 24
MIN_COLUMNS: Final = 40
BOLD: Final = "\x1b[1m"
DIM: Final = "\x1b[2m"
RED: Final = "\x1b[31m"
GREEN: Final = "\x1b[32m"
YELLOW: Final = "\x1b[33m"
_RESET: Final = "\x1b[0m"


class Page:
    """Prints lines, paragraphs and columns. Hidden characters are written out everywhere."""

    def __init__(self) -> None:
        self.is_terminal = sys.stdout.isatty()
        is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        self._has_styles = self.is_terminal and not is_plain
        columns = shutil.get_terminal_size((DEFAULT_COLUMNS, DEFAULT_ROWS)).columns
        self._columns = max(columns, MIN_COLUMNS)

    def line(self, text: str = "", style: str = "") -> None:
        """Print a line, cut to the width of a terminal."""
        shown = show_name(text)
        if self.is_terminal:
            shown = cut(shown, self._columns)
        print(f"{style}{shown}{_RESET}" if style and self._has_styles else shown)

    def whole(self, text: str) -> None:
        """Print a line that is not cut, so that it can be copied."""
        print(show_name(text))

    def paragraph(
        self,
        text: str,
        indent: str = "",
        hanging: str | None = None,
        *,
        style: str = "",
        breaks_words: bool = False,
    ) -> None:
        """Print a text of several lines, wrapped on a terminal. Its second line is indented by `hanging`."""
        shown = show_text(text)
        if self.is_terminal:
            lines = wrap(shown, self._columns, indent, hanging, breaks_words=breaks_words)
        else:
            lines = [f"{indent}{line}".rstrip() for line in shown.splitlines()]
        for line in lines:
            print(f"{style}{line}{_RESET}" if style and self._has_styles else line)

    def rows(self, rows: Sequence[Sequence[str]], indent: str = "") -> None:
        """Print aligned columns on a terminal, the last one cut; with tabs between them in a pipe."""
        shown = [[show_name(cell) for cell in row] for row in rows]
        if not self.is_terminal:
            for row in shown:
                print("\t".join(row).rstrip("\t"))
            return
        # A long name in one row does not push the other rows to the right.
        limit = self._columns // 2
        widths = [
            max((width for width in map(cell_len, column) if width <= limit), default=0)
            for column in list(zip(*shown, strict=True))[:-1]
        ]
        for *cells, last in shown:
            padded = (
                cell + " " * max(width - cell_len(cell), 0) for cell, width in zip(cells, widths, strict=True)
            )
            self.line(f"{indent}{'  '.join([*padded, last])}".rstrip())
