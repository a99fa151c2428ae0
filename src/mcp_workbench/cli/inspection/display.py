"""The table of servers that commands print, which is updated while the servers start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mcp_workbench.workbench.text.sanitise import show_name, show_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from mcp_workbench.cli.inspection.rows import Row

PLAIN_COLUMNS = 140
"""Width of the output if it is not a terminal: files and pipes need no wrapping."""

STYLES = {
    "idle": "",
    "starting": "yellow",
    "ready": "green",
    "failed": "bold red",
    "stopping": "yellow",
    "disabled": "dim",
}


class Display:
    """A table of servers, updated live on a terminal, and printed once to a file or a pipe."""

    def __init__(
        self, heading: str, warnings: Sequence[str], rows: Sequence[Row], *, connecting: bool
    ) -> None:
        console = Console(highlight=False)
        self._console = console if console.is_terminal else Console(highlight=False, width=PLAIN_COLUMNS)
        self._heading = heading
        self._warnings = warnings
        self._rows = rows
        self._connecting = connecting
        self._live: Live | None = None

    def __enter__(self) -> Self:
        self._console.print(Text(show_text(self._heading)))
        for warning in self._warnings:
            self._console.print(Text(f"warning: {show_text(warning)}", style="yellow"))
        if self._connecting and self._console.is_terminal:
            self._live = Live(self._table(), console=self._console, transient=True)
            self._live.start()
        return self

    def update(self) -> None:
        """Show the current state of the rows, if the table is live."""
        if self._live is not None:
            self._live.update(self._table(), refresh=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        if kind is None and self._rows:
            self._console.print(Group(self._table(), *self._stderr_lines()))

    def _table(self) -> Table:
        shape = box.ROUNDED if self._console.is_terminal else None
        table = Table(header_style="bold", pad_edge=shape is not None, box=shape)
        for heading in ("toolbox", "server", "state"):
            table.add_column(heading, overflow="fold")
        if self._connecting:
            table.add_column("tools", justify="right")
            table.add_column("start", justify="right")
            table.add_column("what to do", overflow="fold", ratio=1)
        for row in self._rows:
            cells = [
                Text(show_name(row.toolbox)),
                Text(show_name(row.server)),
                Text(row.state, style=STYLES[row.state]),
            ]
            if self._connecting:
                cells += [_number(row.tools), _seconds(row.seconds), _advice(row)]
            table.add_row(*cells)
        return table

    def _stderr_lines(self) -> list[Text]:
        return [
            Text(
                f"\nLast lines of stderr of {show_name(f'{row.toolbox}/{row.server}')}:\n"
                + "\n".join(f"  {show_name(line)}" for line in row.stderr)
            )
            for row in self._rows
            if row.stderr
        ]


def _number(value: int | None) -> Text:
    return Text("" if value is None else str(value))


def _seconds(value: float | None) -> Text:
    return Text("" if value is None else f"{value:.2f} s")


def _advice(row: Row) -> Text:
    if row.error is None:
        return Text("")
    reason = row.error[:1].upper() + row.error[1:] + "."
    return Text(show_text(f"{reason} {row.hint}" if row.hint else reason))
