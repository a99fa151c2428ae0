"""A tool named by one text: `toolbox/server/tool`, or only its own name. Resolved, or refused with the call.

Names may contain slashes, so a text is never split by itself: it is compared with the toolboxes, servers and
known tools that the client may use. If it can be read in two ways, the error names both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_workbench.errors import InvalidCall, call_form
from mcp_workbench.workbench.text.shortening import shorten
from mcp_workbench.workbench.whereabouts import tools_like, tools_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.toolbox_server import ToolboxServer
    from mcp_workbench.workbench.whereabouts import ToolPlace

MAX_SHOWN_CHARACTERS: Final = 200
"""Characters of a text that its error quotes."""
MAX_SHOWN_WAYS: Final = 5
"""Ways to read a text that its error names."""
MAX_REPEATED_BYTES: Final = 2000
"""Bytes of the longest arguments that the call to make repeats."""


def place_of(text: str, servers: Sequence[ToolboxServer]) -> ToolPlace:
    """Return the tool that the text `toolbox/server/tool` names among these servers. Raises InvalidCall."""
    ways = _ways(text, servers)
    if len(ways) == 1:
        return ways[0]
    shown = shorten(text, MAX_SHOWN_CHARACTERS)
    if ways:
        calls = "; ".join(call_form(*way) for way in ways[:MAX_SHOWN_WAYS])
        raise InvalidCall(
            f"Invalid tool identifier: '{shown}' can be read in {len(ways)} ways. No tool was called. "
            f"Call the one that is meant: {calls}"
        )
    names = dict.fromkeys((text, text.rpartition("/")[2]))
    meant = next(filter(None, (tools_like(servers, name) for name in names)), [])
    form = "; ".join(call_form(*place) for place in meant) or call_form("…", "…", "…")
    raise InvalidCall(
        f"Invalid tool identifier: '{shown}' does not begin with the names of a toolbox and its server, as "
        f"'toolbox/server/tool' does. No tool was called. {'Did you mean' if meant else 'Write'}: {form}"
    )


def refuse_direct_call(name: str, arguments: Body, servers: Sequence[ToolboxServer]) -> None:
    """Refuse a call of a server's tool as if it were ours, with the call to make instead.

    Does nothing if no tool is known by this name. Raises InvalidCall.
    """
    if places := tools_named(servers, name) or _ways(name, servers):
        given = bytes(arguments or b"{}") if len(arguments) <= MAX_REPEATED_BYTES else "{…}".encode()
        calls = "; ".join(call_form(*place, given.decode()) for place in places)
        raise InvalidCall(
            f"'{shorten(name, MAX_SHOWN_CHARACTERS)}' is a tool of a server behind this one, and was not "
            f"called. Call it through use_tool: {calls}"
        )


def _ways(text: str, servers: Sequence[ToolboxServer]) -> list[ToolPlace]:
    """Return the tools that a text may name. Several only if it is not known which of them exist."""
    ways: list[tuple[ToolPlace, bool]] = []
    for server in servers:
        toolbox, name = server.origin
        tool = text.removeprefix(f"{toolbox}/{name}/")
        if tool and tool != text:
            known = server.known()
            ways.append(((toolbox, name, tool), known is None or tool in known.index))
    possible = [way for way, may_exist in ways if may_exist]
    return possible or [way for way, _ in ways]
