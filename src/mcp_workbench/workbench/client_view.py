"""A client's view of the workbench: the toolboxes that it may use, and the servers that are its own.

Owns the servers that the configuration gives to each client by itself, from their first use to the client's
end. All others are the workbench's, and shared.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config import is_same_program
from mcp_workbench.downstream.conversation.listeners import Listeners
from mcp_workbench.errors import ToolboxNotFound
from mcp_workbench.workbench.configured_server import ConfiguredServer
from mcp_workbench.workbench.emitted_uris import EmittedUris
from mcp_workbench.workbench.principal import ANYONE
from mcp_workbench.workbench.toolbox_server import NO_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcp_workbench.config import Origin
    from mcp_workbench.downstream.conversation.listeners import Listener
    from mcp_workbench.downstream.conversation.offer import Capability
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.fairness import FairSemaphore
    from mcp_workbench.workbench.kept.client_results import ClientResults
    from mcp_workbench.workbench.principal import Principal
    from mcp_workbench.workbench.registry import ToolboxRegistry
    from mcp_workbench.workbench.toolbox import Opening, Toolbox, ToolboxSummary
    from mcp_workbench.workbench.toolbox_server import KnownTools, ToolboxServer


class FoundTool(msgspec.Struct, frozen=True):
    """A tool of which it is known that it is there, or was."""

    origin: Origin
    name: str
    definition: msgspec.Raw
    listed_at: float | None
    """See `Known`."""


class SearchFindings(msgspec.Struct, frozen=True):
    """What a search came to."""

    found: list[list[FoundTool]]
    """The best tools for each query, best first."""
    unknown: list[Origin]
    """The servers of which it is not known what they have."""


class ClientView:
    """Where one client works. Whoever may not use a toolbox finds nothing of it here."""

    def __init__(
        self,
        workbench: ToolboxRegistry,
        principal: Principal = ANYONE,
        emitted: EmittedUris | None = None,
        *,
        has_own_servers: bool = False,
        takes_whole_results: bool = False,
    ) -> None:
        self._workbench = workbench
        self._has_own_servers = has_own_servers
        self._takes_whole_results = takes_whole_results
        """Whether nothing is kept of large results, because the client is a program and takes them whole."""
        self._listeners = Listeners()
        """Whom the client's own servers talk to: nobody but the client."""
        self._own: dict[Origin, ConfiguredServer] = {}
        self.principal = principal
        self.door = workbench.door
        """Where the client's calls begin and end."""
        self.emitted = emitted or EmittedUris()
        """Which server has sent the client which resource URIs."""
        self.listing_turn = asyncio.Lock()
        """Held while servers are asked which of them has a resource: one search at a time for each client."""
        self.used_at = 0.0
        """When the client was last heard of, if it has servers of its own."""
        self.toolboxes: Mapping[str, Toolbox] = {}
        self.toolbox_servers: Mapping[Origin, ToolboxServer] = {}
        self.client_results: ClientResults | None = None
        """What is kept for the client of results, if that is done for any server here."""
        self._client_results: ClientResults | None = None
        self.refresh()

    @property
    def rendering(self) -> FairSemaphore:
        """Where the writing of long lists waits for its turn."""
        return self._workbench.rendering

    @property
    def joint_lists(self) -> FairSemaphore:
        """Where lists of all open servers together wait for their turn."""
        return self._workbench.joint_lists

    @property
    def keeps_results(self) -> bool:
        """Whether large results of some server here are kept, to be read in parts."""
        return self.client_results is not None

    def refresh(self, principal: Principal | None = None) -> None:
        """Look at the workbench anew, with what the client may use by now if that has changed."""
        self.principal = principal or self.principal
        workbench = self._workbench
        before, self._own = self._own, {}
        self.toolboxes = {
            name: self._with_own_servers(toolbox, before)
            for name, toolbox in workbench.toolboxes.items()
            if self.principal.may_use(name)
        }
        if self.toolboxes == workbench.toolboxes:
            # One dictionary for all, however many clients there are.
            self.toolboxes, self.toolbox_servers = workbench.toolboxes, workbench.toolbox_servers
        else:
            self.toolbox_servers = _servers_of(self.toolboxes.values())
        self._review_client_results()
        if self.client_results is not None:
            self.toolboxes = {**self.toolboxes, **workbench.builtin}
            self.toolbox_servers = {**self.toolbox_servers, **_servers_of(workbench.builtin.values())}
        for place, toolbox_server in before.items():
            if self._own.get(place) is not toolbox_server:
                workbench.retire(toolbox_server.server)

    def _review_client_results(self) -> None:
        store = self._workbench.store
        if store is None or self._takes_whole_results:
            return
        if self._client_results is None:
            self._client_results = store.client_results(self.principal.name)
        is_used = any(
            toolbox_server.inline_limit < NO_LIMIT for toolbox_server in self.toolbox_servers.values()
        )
        self.client_results = self._client_results if is_used else None

    def _with_own_servers(self, toolbox: Toolbox, before: dict[Origin, ConfiguredServer]) -> Toolbox:
        configured = self._workbench.toolbox_servers
        shared = [configured[toolbox.name, name] for name in toolbox.toolbox_servers]
        if not (
            self._has_own_servers
            and any(toolbox_server.server.config.isolation == "client" for toolbox_server in shared)
        ):
            return toolbox
        return toolbox.with_toolbox_servers(
            [self._own_or_shared(toolbox_server, before) for toolbox_server in shared]
        )

    def _own_or_shared(
        self, shared: ConfiguredServer, before: dict[Origin, ConfiguredServer]
    ) -> ConfiguredServer:
        server = shared.server
        if server.config.isolation != "client":
            return shared
        own = before.get(shared.origin)
        if own is not None and is_same_program(own.server.config, server.config):
            own.adopt(server.config, server.secrets)
        else:
            another = server.another(self._listeners)
            if own is not None:
                # Whoever wants to hear of its resources has not been told that it is another program.
                another.watches = own.server.watches
            own = ConfiguredServer(shared.origin[0], another)
            self._workbench.own_servers.add(another, self)
        self._own[shared.origin] = own
        return own

    @property
    def sessions(self) -> list[Session]:
        """The conversations with the servers that are up."""
        return [session for it in self.toolbox_servers.values() for session in it.sessions]

    def join(self, listener: Listener) -> None:
        """Somebody works here, who is told what servers say that belongs to no call."""
        self._workbench.listeners.add(listener)
        self._listeners.add(listener)

    def part(self, listener: Listener) -> None:
        """Not any more."""
        self._workbench.listeners.remove(listener)
        self._listeners.remove(listener)

    async def open(self, toolbox: str, *, modern: bool) -> Opening:
        """Connects a toolbox for a modern client or a legacy one, and returns its tools. Raises CallError."""
        return await self._find(toolbox).open(modern=modern)

    async def find(self, queries: Sequence[str], limit: int, toolbox: str | None) -> SearchFindings:
        """Searches what is known of the tools of one toolbox, or of all. Starts nothing. Raises CallError."""
        known = self._known(toolbox)
        listed = {origin: tools for origin, tools in known.items() if tools is not None}
        found = [
            [
                FoundTool(origin, name, listed[origin].index[name], listed[origin].listed_at)
                for origin, name in places
                # One that is a client's own may have fewer than another of the kind.
                if name in listed[origin].index
            ]
            for places in await self._workbench.find(queries, limit, listed, self.principal.name)
        ]
        return SearchFindings(found, [origin for origin, tools in known.items() if tools is None])

    def known_tools(self) -> list[FoundTool]:
        """All tools that are known, without starting a server."""
        return [
            FoundTool(origin, name, definition, known.listed_at)
            for origin, known in self._known(None).items()
            if known is not None
            for name, definition in known.index.items()
        ]

    def boxes(self, toolboxes: Iterable[Toolbox] | None = None) -> list[ToolboxSummary]:
        """What the client is told of its toolboxes; or of some, and of the built-in one if it has that."""
        if toolboxes is None:
            return [toolbox.box for toolbox in self.toolboxes.values()]
        builtin = self._workbench.builtin.values() if self.client_results is not None else ()
        return [toolbox.box for toolbox in (*toolboxes, *builtin)]

    def listing_budget(self, toolbox: str | None) -> int:
        """Tokens that a list of tools may take, of one toolbox or of all. Raises CallError."""
        return self._workbench.listing_budget if toolbox is None else self._find(toolbox).listing_budget

    def _known(self, toolbox: str | None) -> dict[Origin, KnownTools | None]:
        """What is known of the servers of a toolbox, or of all. Raises CallError."""
        servers = self.toolbox_servers if toolbox is None else self._find(toolbox).toolbox_servers
        return {toolbox_server.origin: toolbox_server.known() for toolbox_server in servers.values()}

    def toolbox_server(self, toolbox: str, server: str) -> ToolboxServer:
        """The place of one server. Raises CallError."""
        return self.toolbox_servers.get((toolbox, server)) or self._find(toolbox).toolbox_server(server)

    def offering(self, capability: Capability) -> list[ToolboxServer]:
        """The servers that are open and have this capability, in the order of the configuration."""
        return [it for it in self.toolbox_servers.values() if it.offers(capability)]

    def close(self) -> None:
        """The client is gone, and with it go the servers that were its own, and what was kept for it."""
        if self._client_results is not None:
            self._client_results.close()
        own, self._own = self._own, {}
        for toolbox_server in own.values():
            self._workbench.retire(toolbox_server.server)

    def _find(self, toolbox: str) -> Toolbox:
        try:
            return self.toolboxes[toolbox]
        except KeyError:
            raise ToolboxNotFound(toolbox, [box.name for box in self.boxes()]) from None


def _servers_of(toolboxes: Iterable[Toolbox]) -> dict[Origin, ToolboxServer]:
    return {it.origin: it for toolbox in toolboxes for it in toolbox.toolbox_servers.values()}
