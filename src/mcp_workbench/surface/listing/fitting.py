"""Which level of detail a list of tools gets, so that it fits into a budget of tokens."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.surface.listing.detail import NAMES, SCHEMAS, SIGNATURES
from mcp_workbench.surface.listing.listing_result import compact
from mcp_workbench.workbench.text.estimate import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mcp_workbench.config import Origin
    from mcp_workbench.surface.listing.detail import DefinitionReader, DetailLevel, ListedTool

    Show = Callable[[DetailLevel, ListedTool], bytes]
    Shown = list[tuple[ListedTool, bytes]]

SCHEMAS_TOKENS: Final = 350
"""Tokens of the longest list of a toolbox with input schemas. docs/decisions/0034-what-a-model-reads.md has
the measurements."""
MIN_SIGNATURE_TOKENS: Final = 12
"""Tokens of a short signature, by which lists are recognised in which not all signatures can fit."""
MAX_HIDDEN_SHARE: Final = 0.5
"""Part of the tools whose parameters may be left out of a list of signatures. If it had to be more, the list
has names only."""
MAX_TOOL_SHARE: Final = 0.1
"""Part of the budget for one tool if not all tools fit, so that one tool does not displace all others."""


class Fit(msgspec.Struct, frozen=True):
    """A list of tools at the level that fits into a budget."""

    level: DetailLevel
    shown: Iterable[tuple[ListedTool, bytes]]
    """The tools, and what is shown of each."""
    hidden: int = 0
    """How many tools are shown without their parameters in a list of signatures."""
    omitted: int = 0
    """How many tools did not fit at any level."""


def fit_toolbox(tools: Sequence[ListedTool], budget: float, reader: DefinitionReader) -> Fit:
    """Show the tools of a toolbox at the most detailed level that fits.

    Input schemas are for small toolboxes only, whatever the budget: signatures say the same in half as many
    tokens.
    """
    small = list(_affordable(tools, partial(reader.item, SCHEMAS), min(budget, SCHEMAS_TOKENS)))
    if len(small) == len(tools):
        return Fit(SCHEMAS, small)
    if (signatures := _fit_signatures(tools, budget, reader)) is not None:
        return signatures
    return fit_names(tools, budget, reader.line)


def fit_names(tools: Sequence[ListedTool], budget: float, show: Show) -> Fit:
    """Show names with the longest summaries that fit. If not even the names do, leave tools out."""
    for level in NAMES:
        shown = list(_affordable(tools, partial(show, level), budget))
        if len(shown) == len(tools):
            return Fit(level, shown)
    level = NAMES[-1]
    # In turns, so that no server takes the whole budget.
    pieces = dict(_affordable(_in_turns(tools), partial(show, level), budget, budget * MAX_TOOL_SHARE))
    in_order = [(tool, pieces[tool]) for tool in tools if tool in pieces]
    return Fit(level, in_order, omitted=len(tools) - len(in_order))


def cost(piece: bytes) -> int:
    """Return the estimated tokens of one tool in a list."""
    return estimate_tokens(compact(piece)) + 1  # the comma


def _fit_signatures(tools: Sequence[ListedTool], budget: float, reader: DefinitionReader) -> Fit | None:
    """Show signatures. The most expensive tools lose their parameters if not all fit; None if most would."""
    if len(tools) * MIN_SIGNATURE_TOKENS > budget:
        return None
    lines = {tool: reader.line(SIGNATURES, tool) for tool in tools}
    costs = {tool: cost(line) for tool, line in lines.items()}
    tokens = sum(costs.values())
    for hidden, tool in enumerate(sorted(tools, key=costs.__getitem__, reverse=True)):
        if tokens <= budget:
            return Fit(SIGNATURES, list(lines.items()), hidden)
        if hidden >= len(tools) * MAX_HIDDEN_SHARE:
            break
        lines[tool] = reader.line_without_parameters(tool)
        tokens += cost(lines[tool]) - costs[tool]
    return None


def _affordable(
    tools: Sequence[ListedTool],
    show: Callable[[ListedTool], bytes],
    tokens_left: float,
    max_cost: float = inf,
) -> Iterator[tuple[ListedTool, bytes]]:
    """Return the first tools that fit, without those that cost more than `max_cost`."""
    for tool in tools:
        price = cost(piece := show(tool))
        if price <= max_cost:
            tokens_left -= price
            if tokens_left < 0:
                return
            yield tool, piece


def _in_turns(tools: Iterable[ListedTool]) -> list[ListedTool]:
    """Order tools in turns: the first of each server, then the second of each, and so on."""
    counts: dict[Origin, int] = {}
    positions = {}
    for tool in tools:
        positions[tool] = counts[tool.origin] = counts.get(tool.origin, 0) + 1
    return sorted(positions, key=positions.__getitem__)
