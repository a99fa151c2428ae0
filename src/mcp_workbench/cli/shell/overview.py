"""The overview of all toolboxes: their servers, and how many tools of each are known since when."""

from __future__ import annotations

import shlex
import time
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.cli.shell.page import BOLD
from mcp_workbench.surface.listing.found import age
from mcp_workbench.workbench.text.counting import count
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_workbench.cli.shell.page import Page
    from mcp_workbench.workbench.toolbox import Toolbox

NOT_KNOWN: Final = "not known yet"
NO_SERVERS: Final = "no servers"
HOW_TO_ADD: Final = (
    "To get some from your MCP clients: mcp-workbench import. "
    "To add a server: mcp-workbench add time -- uvx mcp-server-time"
)
"""What a person can do whose configuration has no toolboxes."""
MAX_SERVERS_NAMED: Final = 5


class ServerOverview(msgspec.Struct, frozen=True):
    """A server, and how many of its tools are known."""

    server: str
    tools: int | None
    """How many tools it has; None if they are not known yet."""
    listed_at: float | None
    """When it listed them, in seconds since 1970; None if it is connected now, or not known yet."""


class ToolboxOverview(msgspec.Struct, frozen=True):
    """A toolbox with its servers, in the order of the configuration."""

    toolbox: str
    description: str
    servers: list[ServerOverview]


def overview(toolboxes: Iterable[Toolbox]) -> list[ToolboxOverview]:
    """Return what is known of these toolboxes, without starting anything."""
    boxes = []
    for toolbox in toolboxes:
        servers = []
        for name, toolbox_server in toolbox.toolbox_servers.items():
            known = toolbox_server.known()
            tools, listed_at = (None, None) if known is None else (len(known.index), known.listed_at)
            servers.append(ServerOverview(name, tools, listed_at))
        boxes.append(ToolboxOverview(toolbox.name, toolbox.description, servers))
    return boxes


def without_toolboxes(title: str, *, is_elsewhere: bool) -> str:
    """Return what is said of a file, or of a workbench elsewhere, that has no toolboxes."""
    if is_elsewhere:
        return f"the workbench at {show_name(title)} has no toolboxes"
    return f"there are no toolboxes in {show_name(title)}. {HOW_TO_ADD}"


def show_overview(
    page: Page, title: str, boxes: Sequence[ToolboxOverview], *, is_elsewhere: bool = False
) -> None:
    """Print the overview: a heading, and for each toolbox a line and its servers.

    The title is the path of the configuration, or the URL of a workbench elsewhere. Of that, only the names
    of the toolboxes may be known.
    """
    servers = [server for box in boxes for server in box.servers]
    tools = sum(server.tools or 0 for server in servers)
    now = time.time()
    if not page.is_terminal:
        nothing = NOT_KNOWN if is_elsewhere else NO_SERVERS
        for box in boxes:
            rows = [_row(server, now, f"{box.toolbox}/{server.server}") for server in box.servers]
            page.rows(rows or [(box.toolbox, nothing)])
        return
    counts = [count(len(boxes), "toolbox", "toolboxes")]
    if servers or not is_elsewhere:
        counts += [count(len(servers), "server", "servers"), count(tools, "known tool", "known tools")]
    page.paragraph(f"{show_name(title)}: {', '.join(counts)}")
    for box in boxes:
        page.line()
        page.line(f"{box.toolbox}: {box.description}" if box.description else box.toolbox, BOLD)
        if box.servers:
            page.rows([_row(server, now, server.server) for server in box.servers], "  ")
        elif not is_elsewhere:
            page.line(f"  {NO_SERVERS}")
    page.line()
    if unknown := [
        f"{box.toolbox}/{each.server}" for box in boxes for each in box.servers if each.tools is None
    ]:
        named = unknown if len(unknown) <= MAX_SERVERS_NAMED else ()
        page.paragraph(f"To list the tools of all servers: {shlex.join(['mcp-workbench', 'index', *named])}")
    elif boxes:
        where = ["--url", title] if is_elsewhere else []
        example = shlex.join(["mcp-workbench", "tools", *where, boxes[0].toolbox])
        page.paragraph(f"To see the tools of a toolbox: {example}")


def _row(server: ServerOverview, now: float, name: str) -> tuple[str, str, str]:
    if server.tools is None:
        return name, NOT_KNOWN, ""
    since = "connected" if server.listed_at is None else f"listed {age(now - server.listed_at)}"
    return name, count(server.tools, "tool", "tools"), since
