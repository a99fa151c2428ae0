"""Counts what toolboxes cost a model in tokens: natively, at the start, opened, searched and used.

Owns what is counted; `tokens_display` shows it. The counted texts are those that a client gets, made by the
same code from the tools in the catalogue.
"""

from __future__ import annotations

import re
from itertools import islice
from statistics import mean
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.surface.handshake_text import handshake_text
from mcp_workbench.surface.listing.detail import ListedTool
from mcp_workbench.surface.listing.found import findings_result
from mcp_workbench.surface.listing.open_request import OpenRequest
from mcp_workbench.surface.listing.opened import opening_result
from mcp_workbench.surface.metatools import USE_TOOL, passed_on
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.text.estimate import estimate_tokens
from mcp_workbench.workbench.toolbox import Opening

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.surface.listing.open_request import Detail
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.client_view import ClientView
    from mcp_workbench.workbench.toolbox import Toolbox

MAX_QUERIES: Final = 20
"""Searches whose mean is taken, at most. Each is for the words in the name of a tool, and the tools are
spread evenly over the list."""

_NON_WORD: Final = re.compile(r"[\W_]+")


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of the result of `open_toolbox` at each level of detail."""

    full: int
    signatures: int
    names: int
    auto: int
    """Tokens without a choice of level, which is what models read."""


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """Estimated tokens that some toolboxes cost a model."""

    servers: int
    """Number of servers whose tools are in the catalogue."""
    tools: int
    """Number of tools of these servers."""
    native: int
    """Tokens of what a client passes on to a model without a workbench: all tools, and the instructions of
    their servers."""
    start: int
    """Tokens of what a workbench shows in the place of the tools: instructions and two tools."""
    opened: Opened
    """Tokens of opening each of the toolboxes once."""
    search: int
    """Tokens of one search with the default limit: the query and its result."""
    call: int
    """Tokens that a call by `use_tool` takes more than a native one, to name toolbox and server."""

    @property
    def saved(self) -> int:
        """Tokens that the workbench saves at the start; negative if it takes more."""
        return self.native - self.start

    @property
    def once(self) -> int:
        """Tokens of a conversation that opens every toolbox once, with what is read at the start."""
        return self.start + self.opened.auto

    @property
    def break_even(self) -> int:
        """Number of calls, each after a search, up to which the workbench costs no more than native tools."""
        return max(self.saved // max(self.search + self.call, 1), 0)


def figures(costs: Costs) -> dict[str, object]:
    """Return the costs and what follows from them as plain data, for scripts."""
    return {**msgspec.to_builtins(costs), "once": costs.once, "break_even_calls": costs.break_even}


async def costs_of(view: ClientView, toolboxes: Sequence[Toolbox]) -> Costs:
    """Return the costs of a workbench that has these toolboxes and no others."""
    openings = [_opening(toolbox) for toolbox in toolboxes]
    tools = [
        ListedTool(toolbox_server.origin, name, definition)
        for opening in openings
        for toolbox_server, index in opening.tools
        for name, definition in index.items()
    ]
    # A single toolbox is searched as if it was the only one.
    within = toolboxes[0].name if len(toolboxes) == 1 else None
    return Costs(
        servers=sum(len(opening.tools) for opening in openings),
        tools=len(tools),
        native=_native(openings, tools),
        start=handshake_text(view.summaries(toolboxes), has_read_only_tool=view.has_read_only_tool).tokens,
        opened=Opened(
            full=_opened(openings, "full"),
            signatures=_opened(openings, "signatures"),
            names=_opened(openings, "names"),
            auto=_opened(openings, "auto"),
        ),
        search=round(mean([await _searched(view, tool, within) for tool in _spread(tools)] or [0])),
        call=round(mean(map(_called, tools))) if tools else 0,
    )


def _opening(toolbox: Toolbox) -> Opening:
    """Return the opening of a toolbox as if the servers in the catalogue had just been connected."""
    known = [(toolbox_server, toolbox_server.known()) for toolbox_server in toolbox.toolbox_servers.values()]
    listed = [(toolbox_server, tools.index) for toolbox_server, tools in known if tools is not None]
    return Opening(toolbox, listed, [], [])


def _native(openings: Sequence[Opening], tools: Sequence[ListedTool]) -> int:
    said = [toolbox_server.instructions for opening in openings for toolbox_server, _ in opening.tools]
    definitions = passed_on(tool.definition for tool in tools) if tools else b""
    return estimate_tokens(definitions) + sum(map(estimate_tokens, said))


def _opened(openings: Sequence[Opening], detail: Detail) -> int:
    return sum(_tokens_of(opening_result(opening, OpenRequest(detail=detail))) for opening in openings)


async def _searched(view: ClientView, tool: ListedTool, toolbox: str | None) -> int:
    query = _NON_WORD.sub(" ", tool.name).strip() or tool.name
    wanted = OpenRequest(toolbox=toolbox, queries=(query,))
    findings = await view.find(wanted.queries, wanted.limit, toolbox)
    answer = findings_result(findings, wanted, view.listing_budget(toolbox))
    return estimate_tokens(encode({"query": query})) + _tokens_of(answer)


def _called(tool: ListedTool) -> int:
    toolbox, server = tool.origin
    identifier = {"toolbox": toolbox, "server": server, "tool": tool.name}
    through_workbench = USE_TOOL.encode() + encode({"tool": identifier, "arguments": {}})
    return estimate_tokens(through_workbench) - estimate_tokens(f"{tool.name}{{}}")


def _spread(tools: Sequence[ListedTool]) -> list[ListedTool]:
    step = max(len(tools) // MAX_QUERIES, 1)
    return list(islice(tools, 0, None, step))[:MAX_QUERIES]


class _Content(msgspec.Struct):
    text: str


class _Result(msgspec.Struct):
    content: list[_Content]


def _tokens_of(result: tuple[Body, ...]) -> int:
    """Return the tokens of the text of a result, which is what a model reads of it."""
    found = msgspec.json.decode(b"".join(map(bytes, result)), type=_Result)
    return sum(estimate_tokens(content.text) for content in found.content)
