"""A client's view of the workbench: the toolboxes that it may use, and its own servers.

Owns the servers with `"isolation": "client"`, from their first use until the client disconnects. All other
servers belong to the workbench, and are shared.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config import is_same_program
from mcp_workbench.config.model.results import BUILTIN
from mcp_workbench.downstream.conversation.listeners import Listeners
from mcp_workbench.errors import ToolboxNotFound
from mcp_workbench.workbench.configured_server import ConfiguredServer
from mcp_workbench.workbench.emitted_uris import EmittedUris
from mcp_workbench.workbench.principal import ANYONE
from mcp_workbench.workbench.toolbox_server import NO_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeGuard

    from mcp_workbench.config import Origin
    from mcp_workbench.downstream.conversation.listeners import Listener
    from mcp_workbench.downstream.conversation.offer import Capability
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.errors import ConfigUnusable
    from mcp_workbench.fairness import FairSemaphore
    from mcp_workbench.workbench.kept.client_results import ClientResults
    from mcp_workbench.workbench.principal import Principal
    from mcp_workbench.workbench.registry import ToolboxRegistry
    from mcp_workbench.workbench.toolbox import Opening, Toolbox, ToolboxSummary
    from mcp_workbench.workbench.toolbox_server import KnownTools, ToolboxServer
    from mcp_workbench.workbench.whereabouts import ToolPlace


class FoundTool(msgspec.Struct, frozen=True):
    """A tool that a server lists, or listed when it was last asked."""

    origin: Origin
    name: str
    definition: msgspec.Raw
    listed_at: float | None
    """When the server was last asked, if it is not connected now, see `KnownTools`."""


class SearchFindings(msgspec.Struct, frozen=True):
    """The results of a search for tools."""

    found: list[list[FoundTool]]
    """The best tools for each query, best first."""
    unknown: list[Origin]
    """The servers that have never listed their tools."""


class ClientView:
    """The toolboxes and servers that one client may use. All others do not exist for the client."""

    def __init__(
        self,
        workbench: ToolboxRegistry,
        principal: Principal = ANYONE,
        emitted: EmittedUris | None = None,
        *,
        has_own_servers: bool = False,
        takes_whole_results: bool = False,
        is_shared: bool = False,
    ) -> None:
        self._workbench = workbench
        self._has_own_servers = has_own_servers
        self._takes_whole_results = takes_whole_results
        """Whether nothing is kept of large results, because the client is a program and takes them whole."""
        self._listeners = Listeners()
        """The listeners of the client's own servers: only the client itself."""
        self._own: dict[Origin, ConfiguredServer] = {}
        self.is_shared = is_shared
        """Whether this is the view of all clients of the principal that have no session, and not of one."""
        self.principal = principal
        self.door = workbench.door
        """The deciders and observers that every call passes at its beginning and end."""
        self.emitted = emitted or EmittedUris()
        """Which server has sent the client which resource URIs."""
        self.listing_turn = asyncio.Lock()
        """Held while servers are asked which of them has a resource: one search at a time for each client."""
        self.used_at = 0.0
        """When the client last sent a request, if it has its own servers."""
        self.toolboxes: Mapping[str, Toolbox] = {}
        self.toolbox_servers: Mapping[Origin, ToolboxServer] = {}
        self.keeps_results = False
        """Whether large results are kept for the client, because a server in this view wants that."""
        self._client_results: ClientResults | None = None
        self.refresh()

    @property
    def unusable(self) -> ConfigUnusable | None:
        """The error that answers every call while the configuration file cannot be used."""
        return self._workbench.unusable

    @property
    def mistakes(self) -> int:
        """The number of mistakes in the configuration, which is used in spite of them."""
        return self._workbench.mistakes

    @property
    def has_read_only_tool(self) -> bool:
        """Whether the client sees the tool that calls only what is pinned as read-only."""
        return self._workbench.has_read_only_tool and self.unusable is None

    @property
    def rendering(self) -> FairSemaphore:
        """Limits the rendering of long tool lists over all clients."""
        return self._workbench.rendering

    @property
    def joint_lists(self) -> FairSemaphore:
        """Limits the lists of all open servers' resources or prompts over all clients."""
        return self._workbench.joint_lists

    def refresh(self, principal: Principal | None = None) -> None:
        """Take the current toolboxes of the workbench, for a principal whose rights may have changed."""
        self.principal = principal or self.principal
        workbench = self._workbench
        before, self._own = self._own, {}
        self.toolboxes = {
            name: self._without_hidden_tools(self._with_own_servers(toolbox, before))
            for name, toolbox in workbench.toolboxes.items()
            if self.principal.may_use(name)
        }
        if self.toolboxes == workbench.toolboxes:
            # Share one dictionary among all clients, however many there are.
            self.toolboxes, self.toolbox_servers = workbench.toolboxes, workbench.toolbox_servers
        else:
            self.toolbox_servers = _servers_of(self.toolboxes.values())
        self.keeps_results = not self._takes_whole_results and any(
            toolbox_server.inline_limit < NO_LIMIT for toolbox_server in self.toolbox_servers.values()
        )
        for origin, toolbox_server in before.items():
            if self._own.get(origin) is not toolbox_server:
                workbench.end_when_unused(toolbox_server.server)

    @property
    def client_results(self) -> ClientResults | None:
        """The results that are kept for the client; None if none are to be kept."""
        if not self.keeps_results:
            return None
        if self._client_results is None:
            self._client_results = self._workbench.store.client_results(self.principal.name)
        return self._client_results

    @property
    def has_kept_results(self) -> bool:
        """Whether a result is kept for the client at this moment."""
        return bool(self._client_results)

    def _with_own_servers(self, toolbox: Toolbox, before: dict[Origin, ConfiguredServer]) -> Toolbox:
        shared = toolbox.toolbox_servers.values()
        if not (self._has_own_servers and any(map(_is_for_one_client, shared))):
            return toolbox
        return toolbox.with_toolbox_servers(
            [self._own_or_shared(toolbox_server, before) for toolbox_server in shared]
        )

    def _own_or_shared(self, shared: ToolboxServer, before: dict[Origin, ConfiguredServer]) -> ToolboxServer:
        if not _is_for_one_client(shared):
            return shared
        server = shared.server
        own = before.get(shared.origin)
        if own is not None and is_same_program(own.server.config, server.config):
            own.adopt(server.config, server.secrets)
        else:
            another = server.another(self._listeners)
            if own is not None:
                # Subscriptions stay valid: the client does not know that the program has changed.
                another.watches = own.server.watches
            own = ConfiguredServer(shared.origin[0], another, shared.trusts)
            self._workbench.own_servers.add(another, self)
        self._own[shared.origin] = own
        return own

    def _without_hidden_tools(self, toolbox: Toolbox) -> Toolbox:
        """Return a toolbox as the principal sees it: some of its tools may be hidden by the policy."""
        policy = self.door.policy
        if policy is None:
            return toolbox
        whole = list(toolbox.toolbox_servers.values())
        shown = [policy.shown(toolbox_server, self.principal) for toolbox_server in whole]
        return toolbox if shown == whole else toolbox.with_toolbox_servers(shown)

    @property
    def sessions(self) -> list[Session]:
        """The open MCP sessions with the servers of this view."""
        return [session for server in self.toolbox_servers.values() for session in server.sessions]

    def add_listener(self, listener: Listener) -> None:
        """Tell this listener what servers announce, log and ask outside of calls."""
        self._workbench.listeners.add(listener)
        self._listeners.add(listener)

    def remove_listener(self, listener: Listener) -> None:
        """Stop telling this listener what servers announce, log and ask."""
        self._workbench.listeners.remove(listener)
        self._listeners.remove(listener)

    async def open(self, toolbox: str, *, modern: bool, names: Sequence[str] = ()) -> Opening:
        """Connect the servers of a toolbox, or those with the named tools, for a modern or a legacy client.

        Raises CallError.
        """
        return await self._find(toolbox).open(modern=modern, names=names)

    async def find(self, queries: Sequence[str], limit: int, toolbox: str | None) -> SearchFindings:
        """Search the known tools of one toolbox, or of all. Starts nothing. Raises CallError."""
        known = self._known(toolbox)
        listed = {origin: tools for origin, tools in known.items() if tools is not None}
        more = 0
        if self.door.policy is not None:
            # Hidden tools are found too, and dropped: look for as many more.
            more = self._workbench.count_tools(listed) - sum(len(tools.index) for tools in listed.values())
        found = [
            [
                FoundTool(origin, name, listed[origin].index[name], listed[origin].listed_at)
                for origin, name in matches
                # Tools may be hidden from the client, or its own server lists fewer than the shared one.
                if name in listed[origin].index
            ][:limit]
            for matches in await self._workbench.find(
                queries, limit + max(more, 0), listed, self.principal.name
            )
        ]
        return SearchFindings(found, [origin for origin, tools in known.items() if tools is None])

    def known_tools(self) -> list[FoundTool]:
        """Return all known tools, without starting a server."""
        return [
            FoundTool(origin, name, definition, known.listed_at)
            for origin, known in self._known(None).items()
            if known is not None
            for name, definition in known.index.items()
        ]

    def summaries(self, toolboxes: Iterable[Toolbox] | None = None) -> list[ToolboxSummary]:
        """Return the summaries of the client's toolboxes, or of these.

        The built-in toolbox is not among them: a result that was kept says how to call it.
        """
        shown = self.toolboxes.values() if toolboxes is None else toolboxes
        return [toolbox.summary for toolbox in shown]

    def all_servers(self) -> list[ToolboxServer]:
        """Return all servers that the client may use, the built-in one included."""
        builtin = [self._workbench.builtin] if self.keeps_results else []
        toolboxes = (*self.toolboxes.values(), *builtin)
        return [server for toolbox in toolboxes for server in toolbox.toolbox_servers.values()]

    def listing_budget(self, toolbox: str | None) -> int:
        """Return how many tokens a list of tools may take, of one toolbox or of all. Raises CallError."""
        return self._workbench.listing_budget if toolbox is None else self._find(toolbox).listing_budget

    def _known(self, toolbox: str | None) -> dict[Origin, KnownTools | None]:
        """Return the known tools of each server of a toolbox, or of all. Raises CallError."""
        servers = self.toolbox_servers if toolbox is None else self._find(toolbox).toolbox_servers
        return {toolbox_server.origin: toolbox_server.known() for toolbox_server in servers.values()}

    def toolbox_server(self, toolbox: str, server: str) -> ToolboxServer:
        """Return a server of a toolbox. Raises CallError."""
        if (found := self.toolbox_servers.get((toolbox, server))) is not None:
            return found
        if (toolbox, server) == BUILTIN and self.keeps_results:
            # A configured toolbox may have the same name.
            return self._workbench.builtin.toolbox_server(server)
        return self._find(toolbox).toolbox_server(server, self._servers_named(server))

    def offering(self, capability: Capability) -> list[ToolboxServer]:
        """Return the connected servers with this capability, in the order of the configuration."""
        return [server for server in self.toolbox_servers.values() if server.offers(capability)]

    def close(self) -> None:
        """End the client's own servers and drop its kept results: the client has disconnected."""
        if self._client_results is not None:
            self._client_results.close()
        own, self._own = self._own, {}
        for toolbox_server in own.values():
            self._workbench.end_when_unused(toolbox_server.server)

    def tools_outside(self, toolbox: str, names: Sequence[str]) -> list[ToolPlace]:
        """Return where known tools with these names are in other toolboxes, without starting a server."""
        from mcp_workbench.workbench.whereabouts import MAX_PLACES, tools_named  # noqa: PLC0415 - only for a mistaken call

        servers = [server for server in self.all_servers() if server.origin[0] != toolbox]
        places = [place for name in names[:MAX_PLACES] for place in tools_named(servers, name)]
        return places[:MAX_PLACES]

    def _servers_named(self, name: str) -> list[Origin]:
        from mcp_workbench.workbench.whereabouts import servers_named  # noqa: PLC0415 - only for a mistaken call

        return servers_named(self.all_servers(), name)

    def _find(self, toolbox: str) -> Toolbox:
        """Return a toolbox that can be used. Raises CallError."""
        found = self.toolboxes.get(toolbox)
        if found is None and toolbox == BUILTIN[0] and self.keeps_results:
            return self._workbench.builtin
        if (fault := self.unusable if found is None else found.fault) is not None:
            # The same error every time: it would keep the frames of every call that it has answered.
            raise fault.with_traceback(None)
        if found is None:
            from mcp_workbench.workbench.text.similar_names import similar_names  # noqa: PLC0415 - only for a mistaken call

            names, servers = list(self.toolboxes), self._servers_named(toolbox)
            is_server = any(name == toolbox for _, name in servers)
            raise ToolboxNotFound(
                toolbox, names, servers, similar=() if is_server else similar_names(toolbox, names)
            )
        return found


def _is_for_one_client(toolbox_server: ToolboxServer) -> TypeGuard[ConfiguredServer]:
    if not isinstance(toolbox_server, ConfiguredServer):
        return False
    return toolbox_server.server.config.isolation == "client"


def _servers_of(toolboxes: Iterable[Toolbox]) -> dict[Origin, ToolboxServer]:
    return {server.origin: server for toolbox in toolboxes for server in toolbox.toolbox_servers.values()}
