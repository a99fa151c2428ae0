"""All toolboxes and servers of a configuration. A client sees them through its `ClientView`.

Owns which servers there are, and how they change when the configuration is reloaded.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING

from mcp_workbench.config import ResultsConfig, is_same_program
from mcp_workbench.config.model.workbench import LISTING_BUDGET_TOKENS
from mcp_workbench.downstream.conversation.listeners import Listeners
from mcp_workbench.downstream.limits.flow_control import FlowControl
from mcp_workbench.downstream.server import Server
from mcp_workbench.downstream.supervisor import ServerContext
from mcp_workbench.errors import ConfigUnusable, ToolboxUnusable
from mcp_workbench.fairness import FairSemaphore
from mcp_workbench.storage.catalogue import Catalogue
from mcp_workbench.storage.directories import data_directory
from mcp_workbench.storage.protocol_versions import VersionMemory
from mcp_workbench.wire.processes.guard import Guard
from mcp_workbench.workbench.configured_server import ConfiguredServer
from mcp_workbench.workbench.door import Door
from mcp_workbench.workbench.own_servers import OwnServers
from mcp_workbench.workbench.toolbox import Toolbox
from mcp_workbench.workbench.trust.trust_context import TrustContext

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from mcp_workbench.config import LoadedConfig, Origin, Secrets, ServerConfig
    from mcp_workbench.downstream.conversation.watches import ResourceWatches
    from mcp_workbench.errors import StrPath
    from mcp_workbench.workbench.kept.store import ResultStore
    from mcp_workbench.workbench.searching.finder import Finder
    from mcp_workbench.workbench.toolbox_server import Index, ToolboxServer

IN_USE_CHECK_SECONDS = 0.1
"""Seconds between two checks whether a server that is no longer configured is still in use."""

MAX_JOINT_LISTS = 1000
"""Lists of the resources or prompts of all servers that are made at once. More wait."""
MAX_JOINT_LISTS_PER_PRINCIPAL = 4
"""Lists of the resources or prompts of all servers that are made at once for one principal. More wait."""

log = logging.getLogger(__name__)


class ToolboxRegistry:
    """The configured toolboxes and servers. There is one per process, shared by all clients."""

    def __init__(
        self,
        toolboxes: Sequence[Toolbox],
        context: ServerContext,
        cache: StrPath = os.devnull,
        door: Door | None = None,
        trusts: TrustContext | None = None,
    ) -> None:
        self._context = context
        self._trusts = trusts
        """What was approved of servers; None if nothing is pinned or held."""
        self.door = door or Door()
        """The deciders and observers that every call passes at its beginning and end."""
        self._cache = cache
        """The directory for files that are kept between runs."""
        self._ending: dict[Server, asyncio.Task[None]] = {}
        """Servers that are no longer configured, and the tasks that end them once they are unused."""
        self._is_closed = False
        self._watches: dict[Origin, ResourceWatches] = {}
        """The resource subscriptions of clients, by toolbox and server. They outlive a server's process."""
        self._results_config = ResultsConfig()
        self._store: ResultStore | None = None
        self._builtin: Toolbox | None = None
        self.flow_control = context.flow_control
        self.listeners = context.listeners
        self.catalogue = context.catalogue
        self.shares = context.shares
        self.own_servers = OwnServers(self.shares)
        self.rendering = FairSemaphore(1, lambda: 1)
        """Limits the rendering of long tool lists, because it blocks the event loop for long."""
        self.joint_lists = FairSemaphore(MAX_JOINT_LISTS, lambda: MAX_JOINT_LISTS_PER_PRINCIPAL)
        """Limits the lists of all open servers' resources or prompts, because each asks every server."""
        self._finder: Finder | None = None
        self.unusable: ConfigUnusable | None = None
        """The error that answers every call while the configuration file cannot be used."""
        self.mistakes = 0
        """The number of mistakes in the configuration, which is used in spite of them."""
        self.has_read_only_tool = False
        """Whether clients see the tool that calls only what is pinned as read-only."""
        self.listing_budget = LISTING_BUDGET_TOKENS
        """Tokens that a list of tools from several toolboxes may take."""
        self._set_toolboxes(toolboxes)

    @property
    def waiting(self) -> int:
        """Bytes of calls that wait for servers."""
        return self.flow_control.waiting + sum(server.waiting_calls.bytes for server in self._servers)

    @property
    def store(self) -> ResultStore:
        """The store of large results. It is created when the first one is kept, which few processes need."""
        if self._store is None:
            from mcp_workbench.storage.kept_files import KeptFiles  # noqa: PLC0415 - see above
            from mcp_workbench.workbench.kept.store import ResultStore  # noqa: PLC0415 - see above

            self._store = ResultStore(KeptFiles(self._cache), self.shares)
            self._store.adopt(self._results_config)
        return self._store

    @property
    def builtin(self) -> Toolbox:
        """The built-in toolbox that reads kept results. It is created when it is first used."""
        if self._builtin is None:
            from mcp_workbench.workbench.kept.builtin_server import builtin_toolbox  # noqa: PLC0415 - see above

            self._builtin = builtin_toolbox()
        return self._builtin

    def warm_up(self) -> None:
        """Import in the background the modules that only remote servers need."""
        if any(server.config.url is not None for server in self._servers):
            from mcp_workbench.downstream.remote import loading  # noqa: PLC0415 - few have such servers

            loading.warm_up()

    def reconfigure(self, loaded: LoadedConfig) -> None:
        """Replace the toolboxes and servers by those of a configuration. Starts nothing.

        A server keeps running if its program is the same, and adopts its new settings. Any other is no
        longer found, and ends after its last call.
        """
        before = self.toolbox_servers
        if self._trusts is not None:
            self._trusts.programs = loaded.programs

        def keep_or_create(toolbox: str, name: str, config: ServerConfig) -> ConfiguredServer:
            toolbox_server = before.get((toolbox, name))
            if toolbox_server is not None and is_same_program(toolbox_server.server.config, config):
                toolbox_server.adopt(config, loaded.secrets)
                return toolbox_server
            server = Server(toolbox, name, config, loaded.secrets, self._context)
            # Subscriptions stay valid: clients do not know that another program serves the resources now.
            server.watches = self._watches.setdefault((toolbox, name), server.watches)
            return ConfiguredServer(toolbox, server, self._trusts)

        faults = loaded.faults

        def server_of(toolbox: str, name: str, config: ServerConfig) -> ToolboxServer:
            if (problems := faults.servers.get((toolbox, name))) is None:
                return keep_or_create(toolbox, name, config)
            from mcp_workbench.workbench.unconnected_server import UnusableServer  # noqa: PLC0415 - rare

            return UnusableServer((toolbox, name), loaded.path, problems, is_required=config.required)

        toolboxes = []
        for name, toolbox in loaded.config.toolboxes.items():
            problems = faults.toolboxes.get(name)
            enabled = {
                server: config
                for server, config in toolbox.servers.items()
                if not config.disabled and problems is None
            }
            toolboxes.append(
                Toolbox(
                    name,
                    toolbox.description,
                    [server_of(name, server, config) for server, config in enabled.items()],
                    [server for server in toolbox.servers if server not in enabled],
                    open_deadline=toolbox.open_deadline,
                    listing_budget=toolbox.listing_budget,
                    fault=None if problems is None else ToolboxUnusable(name, loaded.path, problems),
                )
            )
        self.unusable = ConfigUnusable(loaded.path, faults.file) if faults.file else None
        self.mistakes = len(faults.all)
        self.listing_budget = loaded.config.listing_budget
        self.has_read_only_tool = loaded.config.read_only_tool
        self.shares.adopt(loaded.config.http.shares)
        self._set_toolboxes(toolboxes)
        self._results_config = loaded.config.results
        if self._store is not None:
            self._store.adopt(self._results_config)
        for origin, toolbox_server in before.items():
            if self.toolbox_servers.get(origin) is not toolbox_server:
                if origin in self.toolbox_servers:
                    change = "has changed and starts again at its next use"
                elif origin in faults.servers or origin[0] in faults.toolboxes:
                    change = "has a mistake in its configuration"
                else:
                    change = "is removed"
                label = {"server": "/".join(origin)}
                log.info("%s; its running processes end after their calls", change, extra=label)
                self.end_when_unused(toolbox_server.server)

    async def find(
        self, queries: Sequence[str], limit: int, among: Container[Origin], principal: str
    ) -> list[list[tuple[Origin, str]]]:
        """Return the best known tools of some servers for each query, as pairs of server and tool name."""
        from mcp_workbench.workbench.searching.finder import Finder  # noqa: PLC0415 - few search at all

        if self._finder is None:
            self._finder = Finder(self._cache)
        sources = self._known_tools()
        return [await self._finder.find(query, limit, sources, among, principal) for query in queries]

    def count_tools(self, among: Container[Origin]) -> int:
        """Return how many known tools some servers have, those that are hidden from clients included."""
        return sum(len(index) for origin, index in self._known_tools().items() if origin in among)

    def _known_tools(self) -> dict[Origin, Index]:
        return {
            toolbox_server.origin: known.index
            for toolbox in (*self.toolboxes.values(), *([self._builtin] if self._builtin else []))
            for toolbox_server in toolbox.toolbox_servers.values()
            if (known := toolbox_server.known()) is not None
        }

    async def close(self) -> None:
        """End all servers, in parallel."""
        self._is_closed = True
        if self._store is not None:
            self._store.close()
        for task in self._ending.values():
            task.cancel()
        pinned = [] if self._trusts is None else [self._trusts.close()]
        await asyncio.gather(*pinned, *(server.close() for server in self._servers))
        await self._context.guard.close()

    def kill(self) -> None:
        """Kill all server processes at once. `close` is still needed, and then takes no time."""
        for server in self._servers:
            server.kill()

    @property
    def _servers(self) -> list[Server]:
        """All servers, including clients' own servers and those that are removed but still in use."""
        shared = (toolbox_server.server for toolbox_server in self.toolbox_servers.values())
        return list(dict.fromkeys([*shared, *self.own_servers, *self._ending]))

    def _set_toolboxes(self, toolboxes: Sequence[Toolbox]) -> None:
        self.toolboxes = {toolbox.name: toolbox for toolbox in toolboxes}
        self.toolbox_servers = {
            toolbox_server.origin: toolbox_server
            for toolbox in toolboxes
            for toolbox_server in toolbox.toolbox_servers.values()
            if isinstance(toolbox_server, ConfiguredServer)
        }

    def end_when_unused(self, server: Server) -> None:
        """End a server that is no longer configured, after its last call."""
        self.own_servers.release(server)
        server.leave()
        if self._is_closed:
            return
        self._ending[server] = asyncio.create_task(self._wait_and_end(server))

    async def _wait_and_end(self, server: Server) -> None:
        # Wait first: a call that has just found the server may not have marked it as in use yet.
        await asyncio.sleep(IN_USE_CHECK_SECONDS)
        while server.in_use:  # noqa: ASYNC110 - an event would cost every call something
            await asyncio.sleep(IN_USE_CHECK_SECONDS)
        await server.close()
        del self._ending[server]
        self.own_servers.remove(server)


def build(
    loaded: LoadedConfig,
    *,
    environ: Mapping[str, str],
    cache: StrPath,
    hide: Callable[[Secrets], None] = lambda _: None,
    door: Door | None = None,
    keeps_pins: bool = True,
) -> ToolboxRegistry:
    """Return the toolboxes and servers of a configuration. Starts nothing.

    Files between runs are kept in the directory `cache`. `hide` is called with secrets that no log may
    contain. Every call passes the deciders and observers of `door`. Without `keeps_pins` nothing is pinned,
    and all tools are shown as their servers list them.
    """
    context = ServerContext(
        environ, VersionMemory(cache), Catalogue(cache), Guard(environ), FlowControl(), Listeners(), hide
    )
    trusts = TrustContext(data_directory(environ), loaded) if keeps_pins else None
    workbench = ToolboxRegistry([], context, cache, door, trusts)
    workbench.reconfigure(loaded)
    return workbench
