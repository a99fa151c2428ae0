"""The output of `mcp-workbench tokens` for people: a table of the toolboxes, and a summary in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mcp_workbench.workbench.text.counting import count
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_workbench.cli.inspection.costs import Costs

HEADINGS: Final = (
    "servers",
    "tools",
    "native",
    "start",
    "full",
    "signatures",
    "names",
    "auto",
    "once",
    "search",
    "calls",
)
PLAIN_COLUMNS: Final = 140
"""Width of the table if stdout is not a terminal. Sentences are not wrapped there."""
FRAME_COLUMNS: Final = 120
"""Width of a terminal from which on the table has a frame."""
UNKNOWN: Final = "-"
"""Stands for a figure that cannot be counted."""
MAX_COLUMNS: Final = 1000
"""A width that no table reaches."""
LEGEND: Final = (
    "Tokens, by estimate, of what clients pass on to a model. native: name, description and input schema of "
    "every tool, and the instructions of the servers. start: the same of a workbench with this toolbox "
    "alone. full to auto: open_toolbox at each level of detail; auto is the default. once: start and auto, "
    "in percent of native. search: a query for the words of a tool's name, and its answer. calls: how many, "
    "each after a search, cost no more than native."
)


def show(toolboxes: Mapping[str, Costs], total: Costs) -> None:
    """Print the costs of each toolbox, and of all together, as a table."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PLAIN_COLUMNS)
    # Figures are never cut: a narrow terminal gets no frame, and names are folded.
    shape = box.ROUNDED if console.is_terminal and console.width >= FRAME_COLUMNS else None
    padding = (0, 1) if shape else (0, 1, 0, 0)
    table = Table(header_style="bold", pad_edge=shape is not None, box=shape, padding=padding)
    table.add_column("toolbox", overflow="fold")
    for heading in HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for name, costs in toolboxes.items():
        table.add_row(Text(show_name(name)), *_cells(costs))
    if len(toolboxes) > 1:
        table.add_section()
        table.add_row(Text("all", style="bold"), *_cells(total))
    # A terminal that is too narrow even for that breaks the lines itself.
    needed = Console(width=MAX_COLUMNS).measure(table).minimum
    (console if needed <= console.width else Console(highlight=False, width=needed)).print(table)
    for paragraph in (Text(LEGEND, style="dim"), *(Text(f"\n{sentence}") for sentence in _sentences(total))):
        console.print(paragraph, soft_wrap=not console.is_terminal)


def _cells(costs: Costs) -> Iterator[str]:
    if not costs.servers:
        # No tools are known, so that only the start can be counted.
        for heading in HEADINGS:
            yield {"servers": "0", "start": f"{costs.start:,}"}.get(heading, UNKNOWN)
        return
    opened = costs.opened
    for figure in (
        costs.servers,
        costs.tools,
        costs.native,
        costs.start,
        opened.full,
        opened.signatures,
        opened.names,
        opened.auto,
    ):
        yield f"{figure:,}"
    yield f"{_percentage(costs):,}%" if costs.native else UNKNOWN
    yield f"{costs.search:,}"
    yield f"{costs.break_even:,}"


def _percentage(costs: Costs) -> int:
    return round(100 * costs.once / costs.native)


def _sentences(total: Costs) -> Iterator[str]:
    servers, tools = count(total.servers, "server", "servers"), count(total.tools, "tool", "tools")
    shown = f"{tools} of {servers} would take {total.native:,} tokens in every conversation"
    if total.saved <= 0:
        yield f"{shown}; the workbench takes {total.start:,}. For so few tools it saves none."
        yield "In tokens, these servers are cheaper in the client's own configuration."
        return
    percentage = 100 * total.start / total.native
    yield f"{shown}; the workbench takes {total.start:,} at the start ({percentage:.1f} %)."
    step = total.search + total.call
    each = (
        f"A search and the call of what it found take about {step:,} more ({total.search:,} + {total.call:,})"
    )
    if total.break_even:
        calls = count(total.break_even, "such call", "such calls")
        yield f"{each}: a conversation with up to {calls} is cheaper with the workbench."
    else:
        yield f"{each}: with the first such call it has taken more than it saves."
    compared = f"{_percentage(total)} % of what they take natively"
    yield f"With every toolbox opened once, and no search, it is {total.once:,}: {compared}."
    if total.once > total.native:
        yield (
            "So the workbench pays in conversations that use a part of these tools. Servers whose tools are "
            "used in every conversation are cheaper in the client's own configuration."
        )
