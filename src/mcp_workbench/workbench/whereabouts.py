"""Where the servers and tools are that a call names wrongly: in other toolboxes, on other servers.

Searches only the servers that it is given, which are those that the client may use, and only the tools that
are known without starting a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from mcp_workbench.errors import ToolNotFound
from mcp_workbench.workbench.text.similar_names import MAX_COMPARED_NAMES, fold_name, similar_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_workbench.config import Origin
    from mcp_workbench.workbench.client_view import ClientView
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

T = TypeVar("T")
ToolPlace = tuple[str, str, str]
"""The names of a toolbox, a server and a tool."""

MAX_PLACES: Final = 5
"""Places that an error names."""


def servers_named(servers: Iterable[ToolboxServer], name: str) -> list[Origin]:
    """Return the servers with this name; if there are none, those with the same name in another form."""
    return _same([(server.name, server.origin) for server in servers], name)[:MAX_PLACES]


def tools_named(servers: Iterable[ToolboxServer], name: str) -> list[ToolPlace]:
    """Return the known tools with this name; if there are none, those with the same name in another form."""
    return _same([(place[-1], place) for place in _known_tools(servers)], name)[:MAX_PLACES]


def tools_like(servers: Iterable[ToolboxServer], name: str) -> list[ToolPlace]:
    """Return the known tools with this name, else those with similar names."""
    servers = list(servers)
    if named := tools_named(servers, name):
        return named
    places = _known_tools(servers)[:MAX_COMPARED_NAMES]
    near = similar_names(name, dict.fromkeys(place[-1] for place in places))
    return [place for similar in near for place in places if place[-1] == similar][:MAX_PLACES]


def tool_not_found(view: ClientView, origin: Origin, tool: str, similar: Sequence[str]) -> ToolNotFound:
    """Return the error for a tool that a server does not have, with where else in the view it may be."""
    toolbox, server = origin
    others = [each for each in view.all_servers() if each.origin != origin]
    elsewhere = (tools_named if similar else tools_like)(others, tool)
    return ToolNotFound(tool, server, toolbox, similar, elsewhere)


def _known_tools(servers: Iterable[ToolboxServer]) -> list[ToolPlace]:
    return [
        (*server.origin, tool)
        for server in servers
        if (known := server.known()) is not None
        for tool in known.index
    ]


def _same(named: list[tuple[str, T]], name: str) -> list[T]:
    exact = [found for candidate, found in named if candidate == name]
    folded = fold_name(name)
    return exact or [found for candidate, found in named if fold_name(candidate) == folded]
