"""What toolboxes cost a model in tokens: natively, at the start, opened, searched and used.

Owns what is counted, not how it looks. Everything is counted on what a client really gets: it is made here by
the same code, from the tools that are known.
"""

from __future__ import annotations

import re
from itertools import islice
from statistics import mean
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.surface.handshake_text import handshake_text
from mcp_workbench.surface.listing.detail import ListedTool
from mcp_workbench.surface.listing.document import compact
from mcp_workbench.surface.listing.found import findings_result
from mcp_workbench.surface.listing.open_request import OpenRequest
from mcp_workbench.surface.listing.opened import opening_result
from mcp_workbench.surface.metatools import USE_TOOL
from mcp_workbench.wire.message import decode_members, encode
from mcp_workbench.workbench.text.estimate import estimate_tokens
from mcp_workbench.workbench.toolbox import Opening

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.surface.listing.open_request import Detail
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.client_view import ClientView
    from mcp_workbench.workbench.toolbox import Toolbox

NATIVE: Final = ("name", "description", "inputSchema")
"""What clients show a model of a tool; titles, annotations and output schemas are for programs."""
QUERIES: Final = 20
"""Searches of which the mean is taken. Each is for the words in the name of a tool, and the tools are evenly
spread over the list."""

_NO_WORD: Final = re.compile(r"[\W_]+")


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of the answer of `open_toolbox`, at each level of detail."""

    full: int
    signatures: int
    names: int
    auto: int
    """What it gives if nobody asks for a level: the richest that fits into `listingBudget`."""


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, by estimate, for some toolboxes."""

    servers: int
    """Of which the tools are known."""
    tools: int
    native: int
    """All tools as a client would show them without a workbench."""
    start: int
    """What a workbench with these toolboxes shows in their place: instructions and two tools."""
    opened: Opened
    """All of the toolboxes, one by one."""
    search: int
    """One search with the usual limit: the query and its answer."""
    call: int
    """What a call by `use_tool` takes more than a native one, to name toolbox and server."""

    @property
    def saved(self) -> int:
        """At the start. Below zero if the workbench takes more."""
        return self.native - self.start

    @property
    def break_even(self) -> int:
        """How many calls, each after a search of its own, take together with the start no more than all tools
        natively."""
        return max(self.saved // max(self.search + self.call, 1), 0)


def figures(costs: Costs) -> dict[str, object]:
    """All of them, for scripts."""
    return {**msgspec.to_builtins(costs), "break_even_calls": costs.break_even}


async def costs_of(view: ClientView, toolboxes: Sequence[Toolbox]) -> Costs:
    """Of a workbench that has these toolboxes and no others."""
    openings = [_opening(toolbox) for toolbox in toolboxes]
    tools = [
        ListedTool(toolbox_server.origin, name, definition)
        for opening in openings
        for toolbox_server, index in opening.tools
        for name, definition in index.items()
    ]
    # One toolbox is searched as if it were the only one.
    within = toolboxes[0].name if len(toolboxes) == 1 else None
    return Costs(
        servers=sum(len(opening.tools) for opening in openings),
        tools=len(tools),
        native=estimate_tokens(b"[%b]" % b",".join(map(_native, tools))) if tools else 0,
        start=handshake_text(view.summaries(toolboxes)).tokens,
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
    """As if the servers of which the tools are known had just been connected."""
    known = [(toolbox_server, toolbox_server.known()) for toolbox_server in toolbox.toolbox_servers.values()]
    return Opening(
        toolbox, [(toolbox_server, it.index) for toolbox_server, it in known if it is not None], [], []
    )


def _native(tool: ListedTool) -> bytes:
    members = decode_members(tool.definition)
    return compact(encode({key: members[key] for key in NATIVE if key in members}))


def _opened(openings: Sequence[Opening], detail: Detail) -> int:
    return sum(_read(opening_result(opening, OpenRequest(detail=detail))) for opening in openings)


async def _searched(view: ClientView, tool: ListedTool, toolbox: str | None) -> int:
    query = _NO_WORD.sub(" ", tool.name).strip() or tool.name
    wanted = OpenRequest(toolbox=toolbox, queries=(query,))
    findings = await view.find(wanted.queries, wanted.limit, toolbox)
    answer = findings_result(findings, wanted, view.listing_budget(toolbox))
    return estimate_tokens(encode({"query": query})) + _read(answer)


def _called(tool: ListedTool) -> int:
    toolbox, server = tool.origin
    identifier = {"toolbox": toolbox, "server": server, "tool": tool.name}
    ours = USE_TOOL.encode() + encode({"tool": identifier, "arguments": {}})
    return estimate_tokens(ours) - estimate_tokens(f"{tool.name}{{}}")


def _spread(tools: Sequence[ListedTool]) -> list[ListedTool]:
    step = max(len(tools) // QUERIES, 1)
    return list(islice(tools, 0, None, step))[:QUERIES]


class _Content(msgspec.Struct):
    text: str


class _Result(msgspec.Struct):
    content: list[_Content]


def _read(result: tuple[Body, ...]) -> int:
    """What a model reads of a result: its text, which says the same as its structure."""
    found = msgspec.json.decode(b"".join(map(bytes, result)), type=_Result)
    return sum(estimate_tokens(content.text) for content in found.content)
