"""Finds what a person names as TOOLBOX, TOOLBOX/SERVER or TOOLBOX/SERVER/TOOL.

Names may contain slashes, so that nothing is split: a text is compared with what exists. If it can be read in
several ways, the person is told the ways, and can name the tool as models do, with a JSON object.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from mcp_workbench.errors import ToolHeld
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.text.sanitise import show_name
from mcp_workbench.workbench.text.similar_names import similar_names
from mcp_workbench.workbench.trust.judging.approved import why_held

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcp_workbench.workbench.toolbox import Toolbox
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

MAX_NAMES_SHOWN: Final = 12


class WrongAddress(Exception):
    """A name leads to nothing, or to several things. The message says what there is instead."""


class ToolAddress(msgspec.Struct, frozen=True, eq=False):
    """A toolbox, a server of it, or a tool of the server."""

    toolbox: Toolbox
    server: ToolboxServer | None = None
    tool: str | None = None

    @property
    def names(self) -> list[str]:
        """The names of the toolbox, the server and the tool, as far as there are any."""
        server = [] if self.server is None else [self.server.name]
        return [self.toolbox.name, *server, *([] if self.tool is None else [self.tool])]

    def __str__(self) -> str:
        return "/".join(self.names)

    @property
    def identifier(self) -> str:
        """The JSON object that names this and nothing else, also where names contain slashes."""
        return encode(dict(zip(("toolbox", "server", "tool"), self.names, strict=False))).decode()

    @property
    def definition(self) -> msgspec.Raw | None:
        """The definition of the tool, if there is one and it is known."""
        known = None if self.server is None else self.server.known()
        return None if known is None or self.tool is None else known.index.get(self.tool)


class _Identifier(msgspec.Struct, forbid_unknown_fields=True):
    toolbox: str
    server: str | None = None
    tool: str | None = None


def resolve(text: str, toolboxes: Mapping[str, Toolbox]) -> ToolAddress:
    """Return what a text names. A tool of a server whose tools are not known yet may exist or not.

    A tool may also be named without its toolbox or its server, if no other known tool is meant by that.
    Raises WrongAddress.
    """
    if text.startswith("{"):
        return _identified(text, toolboxes)
    for named in dict.fromkeys((text, text.removesuffix("/"))):
        found = list(_readings(named, toolboxes))
        short = () if found else tuple(_short_readings(named, toolboxes))
        possible: list[ToolAddress] = [*found, *_guesses(named, toolboxes), *short]
        if len(possible) == 1:
            return possible[0]
        if possible:
            ways = "".join(
                f"\n  {show_name(str(each))}, as '{show_name(each.identifier)}'" for each in possible
            )
            raise WrongAddress(f"'{show_name(text)}' can mean several things. Name one of them:{ways}")
    raise WrongAddress(_explain(text, toolboxes))


def _readings(text: str, toolboxes: Mapping[str, Toolbox]) -> Iterator[ToolAddress]:
    """Yield everything that exists under a full name."""
    for name, toolbox in toolboxes.items():
        if text == name:
            yield ToolAddress(toolbox)
        for server, rest in _servers(text, toolbox):
            if not rest:
                yield ToolAddress(toolbox, server)
            elif _has_tool(server, rest[1:]):
                yield ToolAddress(toolbox, server, rest[1:])


def _guesses(text: str, toolboxes: Mapping[str, Toolbox]) -> Iterator[ToolAddress]:
    """Yield the tools that a full name may stand for, of servers whose tools are not known."""
    for toolbox in toolboxes.values():
        for server, rest in _servers(text, toolbox):
            if len(rest) > 1 and server.known() is None:
                yield ToolAddress(toolbox, server, rest[1:])


def _short_readings(text: str, toolboxes: Mapping[str, Toolbox]) -> Iterator[ToolAddress]:
    """Yield the known tools that a text names without the toolbox or the server."""
    for address in _known_tools(toolboxes):
        toolbox, server, tool = address.names
        if text in (tool, f"{toolbox}/{tool}", f"{server}/{tool}"):
            yield address


def _has_tool(server: ToolboxServer, tool: str) -> bool:
    """Whether a server is known to have a tool. A held one counts: it may be released by now."""
    known = server.known()
    return known is not None and (tool in known.index or tool in server.held())


def _servers(text: str, toolbox: Toolbox) -> Iterator[tuple[ToolboxServer, str]]:
    """Yield the servers that a text may begin with, and what follows: nothing, or a slash and more."""
    for name, server in toolbox.toolbox_servers.items():
        prefix = f"{toolbox.name}/{name}"
        if text == prefix or text.startswith(f"{prefix}/"):
            yield server, text[len(prefix) :]


def _known_tools(toolboxes: Mapping[str, Toolbox]) -> Iterator[ToolAddress]:
    for toolbox in toolboxes.values():
        for server in toolbox.toolbox_servers.values():
            known = server.known()
            for tool in () if known is None else (*known.index, *server.held()):
                yield ToolAddress(toolbox, server, tool)


def _identified(text: str, toolboxes: Mapping[str, Toolbox]) -> ToolAddress:
    """Return what a JSON object names, in the form that models use."""
    try:
        named = msgspec.json.decode(text, type=_Identifier)
    except msgspec.MsgspecError as error:
        form = '{"toolbox": "…", "server": "…", "tool": "…"}'
        raise WrongAddress(f"this is not an object such as {form}: {error}") from None
    toolbox = toolboxes.get(named.toolbox)
    server = None if toolbox is None or named.server is None else toolbox.toolbox_servers.get(named.server)
    if toolbox is None or (server is None and named.server is not None):
        raise WrongAddress(_explain("/".join(filter(None, (named.toolbox, named.server))), toolboxes))
    is_known = server is not None and server.known() is not None
    if server is not None and named.tool is not None and is_known and not _has_tool(server, named.tool):
        raise WrongAddress(_explain(str(ToolAddress(toolbox, server, named.tool)), toolboxes))
    return ToolAddress(toolbox, server, named.tool)


def _explain(text: str, toolboxes: Mapping[str, Toolbox]) -> str:
    """Say what there is that is most like a name that does not exist."""
    shown = f"'{show_name(text)}'"
    for toolbox in toolboxes.values():
        for name in toolbox.disabled if toolbox.fault is None else ():
            server_name = f"{toolbox.name}/{name}"
            if text == server_name or text.startswith(f"{server_name}/"):
                enable = shlex.join(["mcp-workbench", "enable", show_name(server_name)])
                return f"the server {show_name(server_name)} is disabled. To use it: {enable}"
        for server, rest in _servers(text, toolbox):
            if rest and (known := server.known()) is not None:
                return _explain_missing(ToolAddress(toolbox, server, rest[1:]), known.index)
    for name, toolbox in toolboxes.items():
        if text.startswith(f"{name}/"):
            rest = text[len(name) + 1 :]
            servers = list(toolbox.toolbox_servers)
            near = similar_names(rest.partition("/")[0], servers)
            tools = _near_tools(text, {name: toolbox})
            names = [*(f"{name}/{server}" for server in near), *tools] or [
                f"{name}/{each}" for each in servers
            ]
            return f"there is no server or tool {shown}. {_offer(names, [*near, *tools])}"
    names = [*similar_names(text.partition("/")[0], toolboxes), *_near_tools(text, toolboxes)]
    offer = _offer(names or list(toolboxes), names)
    every = [each for toolbox in toolboxes.values() for each in toolbox.toolbox_servers.values()]
    if names or all(each.known() is not None for each in every):
        return f"there is no toolbox or tool {shown}. {offer}"
    unknown = "Not all tools are known: mcp-workbench index lists them"
    return f"there is no toolbox or known tool {shown}. {offer}. {unknown}"


def refuse_missing(address: ToolAddress, index: Iterable[str]) -> NoReturn:
    """Raise ToolHeld if the tool is held, else WrongAddress with the tools that the server has."""
    server, tool = address.server, address.tool or ""
    held = None if server is None else server.held().get(tool)
    if server is not None and held is not None:
        raise ToolHeld(show_name(tool), server.name, address.toolbox.name, why_held(held))
    raise WrongAddress(_explain_missing(address, index))


def _explain_missing(address: ToolAddress, index: Iterable[str]) -> str:
    """Say which tools a server has that are most like one that it does not have."""
    *origin, tool = address.names
    near = similar_names(tool, index)
    names = ["/".join([*origin, name]) for name in near or index]
    return f"{show_name('/'.join(origin))} has no tool '{show_name(tool)}'. {_offer(names, near)}"


def _near_tools(text: str, toolboxes: Mapping[str, Toolbox]) -> list[str]:
    """Return the full names of known tools whose names are like the last part of a text."""
    by_name: dict[str, list[str]] = {}
    for address in _known_tools(toolboxes):
        by_name.setdefault(address.names[2], []).append(str(address))
    return [full for near in similar_names(text.rpartition("/")[2], by_name) for full in by_name[near]]


def _offer(names: Sequence[str], near: Sequence[str]) -> str:
    if not names:
        return "There is none"
    listed = ", ".join(map(show_name, names[:MAX_NAMES_SHOWN]))
    more = f" and {len(names) - MAX_NAMES_SHOWN:,} more" if len(names) > MAX_NAMES_SHOWN else ""
    return f"Did you mean: {listed}{more}?" if near else f"There are: {listed}{more}"
