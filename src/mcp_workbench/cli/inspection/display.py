"""What commands that start servers print: a line for each server, then a block for each failure.

On a terminal the servers that are starting are shown with the seconds so far. All lines are printed once, at
the end, even if the command is interrupted.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from mcp_workbench.cli.inspection.failure_blocks import failure_blocks
from mcp_workbench.cli.inspection.rows import count_states
from mcp_workbench.cli.inspection.server_lines import server_lines
from mcp_workbench.workbench.text.sanitise import show_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from mcp_workbench.cli.inspection.rows import Row

REFRESHES_PER_SECOND: Final = 4
OTHER_ROWS: Final = 2
"""Rows of the terminal that the line with the counts and the cursor take."""


class Display:
    """Shows servers while they start if stdout is a terminal, and prints the outcome at the end."""

    def __init__(self, heading: str, warnings: Sequence[str], rows: Sequence[Row]) -> None:
        self._is_terminal = sys.stdout.isatty()
        # Lines of files and pipes are not wrapped.
        self._console = Console(
            highlight=False, force_terminal=self._is_terminal, soft_wrap=not self._is_terminal
        )
        self._heading = heading
        self._warnings = warnings
        self._rows = rows
        self._started: dict[str, float] = {}
        """When each server began to start, by name."""
        self._live: Live | None = None

    def __enter__(self) -> Self:
        self._console.print(Text(show_text(self._heading)))
        for warning in self._warnings:
            self._console.print(Text(f"warning: {show_text(warning)}", style="yellow"))
        if self._is_terminal and not self._console.is_dumb_terminal:
            self._live = Live(
                console=self._console,
                get_renderable=self._live_lines,
                refresh_per_second=REFRESHES_PER_SECOND,
                transient=True,
            )
            self._live.start()
        return self

    def update(self) -> None:
        """Note which servers have begun to start."""
        for row in self._rows:
            if row.state == "starting":
                self._started.setdefault(row.name, time.monotonic())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        for line in server_lines(self._rows, self._seconds, self._columns):
            # A console does not look whether a line may be wrapped, unless it is told.
            self._console.print(line, no_wrap=True, overflow="crop" if self._is_terminal else None)
        for block in failure_blocks(self._rows, self._columns):
            text = Text(f"\n{block}")
            text.stylize("bold", 0, block.find(": ") + 1)
            self._console.print(text, soft_wrap=True)
        if kind is not None:
            self.conclude(f"Interrupted: {self._counted()}")

    def conclude(self, text: str) -> None:
        """Print the last words of the command, after all else. Not wrapped, because people copy commands."""
        self._console.print(Text(f"\n{show_text(text)}"), soft_wrap=True)

    @property
    def _columns(self) -> int | None:
        """The width of the terminal; None if the output is not a terminal."""
        return self._console.width if self._is_terminal else None

    def _counted(self) -> str:
        starting = ", ".join(row.name for row in self._rows if row.state == "starting")
        return count_states(self._rows) + (f". Still starting: {starting}" if starting else "")

    def _seconds(self, row: Row) -> float | None:
        """Return the seconds that the start has taken so far, or took."""
        if row.state == "starting" and row.name in self._started:
            return time.monotonic() - self._started[row.name]
        return row.seconds

    def _live_lines(self) -> Group:
        """Return the servers that are starting or have failed, as many as fit, and how many there are."""
        starting = [row for row in self._rows if row.state == "starting"]
        failed = [row for row in self._rows if row.state == "failed"]
        space = max(self._console.height - OTHER_ROWS, 1)
        shown = [*starting, *reversed(failed)][:space]
        counts = Text(count_states(self._rows), no_wrap=True, overflow="crop")
        return Group(*server_lines(shown, self._seconds, self._columns), counts)
