"""One line for each server: its state, its name, its tools or why it failed, and the seconds of its start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from mcp_workbench.cli.inspection.rows import WORDS
from mcp_workbench.cli.wrapping import cut
from mcp_workbench.workbench.text.counting import count
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_workbench.cli.inspection.rows import Row

STYLES: Final = {
    "starting": "yellow",
    "ready": "green",
    "failed": "bold red",
    "disabled": "dim",
}
GAP: Final = "  "
MIN_NAME_CELLS: Final = 12
"""Cells of a terminal that a name gets at least."""


def server_lines(
    rows: Sequence[Row], seconds_of: Callable[[Row], float | None], columns: int | None
) -> list[Text]:
    """Return a line for each row, in aligned columns. A name that is too long for `columns` is shortened."""
    states = [WORDS.get(row.state, row.state) for row in rows]
    outcomes = [_outcome(row) for row in rows]
    times = ["" if (seconds := seconds_of(row)) is None else f"{seconds:.1f} s" for row in rows]
    others = [_widest(cells) for cells in (states, outcomes, times)]
    names = [show_name(row.name) for row in rows]
    widest = _widest(names)
    if columns is not None:
        space = columns - sum(others) - len(GAP) * len(others)
        widest = min(widest, max(space, MIN_NAME_CELLS))
    lines = []
    for row, state, name, outcome, time in zip(rows, states, names, outcomes, times, strict=True):
        line = Text(no_wrap=True, overflow="crop")
        line.append(state.ljust(others[0]), STYLES.get(row.state, ""))
        shown = set_cell_size(cut(name, widest), widest)
        line.append(f"{GAP}{shown}{GAP}{outcome.ljust(others[1])}{GAP}{time.rjust(others[2])}")
        line.rstrip()
        lines.append(line)
    return lines


def _outcome(row: Row) -> str:
    if row.tools is not None:
        held = f", {row.held:,} held" if row.held else ""
        withheld = ", instructions held" if row.withheld else ""
        hard = (row.findings or {}).get("hard", 0)
        found = f", {count(hard, 'hard finding', 'hard findings')}" if hard else ""
        return count(row.tools, "tool", "tools") + held + withheld + found
    return row.cause or ""


def _widest(cells: Sequence[str]) -> int:
    return max(map(cell_len, cells), default=0)
