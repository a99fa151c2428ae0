"""All toolboxes and servers of one workbench. What a client sees of them is its `client_view`.

Owns which servers there are, and how they change with the configuration. What a server does is its own.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING

from mcp_workbench.config import is_same_program
from mcp_workbench.config.model.workbench import LISTING_BUDGET
from mcp_workbench.downstream.conversation.listeners import Listeners
from mcp_workbench.downstream.limits.flow_control import FlowControl
from mcp_workbench.downstream.server import Server
from mcp_workbench.downstream.supervisor import ServerContext
from mcp_workbench.fairness import FairSemaphore
from mcp_workbench.storage.catalogue import Catalogue
from mcp_workbench.storage.protocol_versions import VersionMemory
from mcp_workbench.wire.processes.guard import Guard
from mcp_workbench.workbench.configured_server import ConfiguredServer
from mcp_workbench.workbench.door import Door
from mcp_workbench.workbench.own_servers import OwnServers
from mcp_workbench.workbench.toolbox import Toolbox
from mcp_workbench.workbench.toolbox_server import NO_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from mcp_workbench.config import LoadedConfig, Origin, ResultsConfig, Secrets, ServerConfig
    from mcp_workbench.downstream.conversation.watches import ResourceWatches
    from mcp_workbench.errors import StrPath
    from mcp_workbench.workbench.kept.store import ResultStore
    from mcp_workbench.workbench.searching.finder import Finder

LINGER = 0.1
"""Seconds between two looks whether a server that is no longer configured is still in use."""

MOST_JOINT_LISTS = 1000
SHARE_OF_JOINT_LISTS = 4
"""Of one principal at once. More wait."""

log = logging.getLogger(__name__)


class ToolboxRegistry:
    """The toolboxes and servers that are configured. State is the process's, never a session's."""

    def __init__(
        self,
        toolboxes: Sequence[Toolbox],
        context: ServerContext,
        cache: StrPath = os.devnull,
        door: Door | None = None,
    ) -> None:
        self._context = context
        self.door = door or Door()
        """Where all calls begin and end."""
        self._cache = cache
        """Where files may be kept."""
        self._retiring: dict[Server, asyncio.Task[None]] = {}
        """Servers that are no longer configured, and what ends them when they are not in use any more."""
        self._is_closed = False
        self._watches: dict[Origin, ResourceWatches] = {}
        """What clients want to hear about, by the place that the names of the resources tell."""
        self.store: ResultStore | None = None
        """The results that are kept, once the configuration has asked for that."""
        self.builtin: dict[str, Toolbox] = {}
        """The toolbox that reads kept results, by its name, once there are any to read."""
        self.flow_control = context.flow_control
        self.listeners = context.listeners
        self.catalogue = context.catalogue
        self.shares = context.shares
        self.own_servers = OwnServers(self.shares)
        self.rendering = FairSemaphore(1, lambda: 1)
        """For lists of many tools: each takes the interpreter for long."""
        self.joint_lists = FairSemaphore(MOST_JOINT_LISTS, lambda: SHARE_OF_JOINT_LISTS)
        """For lists of what all open servers have together: each asks every one of them."""
        self._finder: Finder | None = None
        self.listing_budget = LISTING_BUDGET
        """Tokens that tools may take which were found in several toolboxes."""
        self._hold(toolboxes)

    @property
    def waiting(self) -> int:
        """How many bytes of calls wait for servers."""
        return self.flow_control.waiting + sum(server.waiting_room.bytes for server in self._servers)

    def warm_up(self) -> None:
        """Loads, without holding anything up, what some of the servers need and nothing else does."""
        if any(server.config.url is not None for server in self._servers):
            from mcp_workbench.downstream.remote import loading  # noqa: PLC0415 - few have such servers

            loading.warm_up()

    def reconfigure(self, loaded: LoadedConfig) -> None:
        """Becomes what a configuration describes. Starts nothing.

        A server goes on, with what has changed about it, if its program is the same. Any other is not found
        from now on, and ends when its calls have.
        """
        before = self.toolbox_servers

        def keep_or_create(toolbox: str, name: str, config: ServerConfig) -> ConfiguredServer:
            toolbox_server = before.get((toolbox, name))
            if toolbox_server is not None and is_same_program(toolbox_server.server.config, config):
                toolbox_server.adopt(config, loaded.secrets)
                return toolbox_server
            server = Server(toolbox, name, config, loaded.secrets, self._context)
            # Whoever wants to hear of its resources has not been told that it is another program, or was
            # away for a while.
            server.watches = self._watches.setdefault((toolbox, name), server.watches)
            return ConfiguredServer(toolbox, server)

        toolboxes = []
        for name, toolbox in loaded.config.toolboxes.items():
            enabled = {server: config for server, config in toolbox.servers.items() if not config.disabled}
            toolbox_servers = [keep_or_create(name, server, config) for server, config in enabled.items()]
            disabled = [server for server in toolbox.servers if server not in enabled]
            toolboxes.append(
                Toolbox(
                    name,
                    toolbox.description,
                    toolbox_servers,
                    disabled,
                    open_deadline=toolbox.open_deadline,
                    listing_budget=toolbox.listing_budget,
                )
            )
        self.listing_budget = loaded.config.listing_budget
        self.shares.adopt(loaded.config.http.shares)
        self._hold(toolboxes)
        self._prepare_to_keep(loaded.config.results)
        for place, toolbox_server in before.items():
            if self.toolbox_servers.get(place) is not toolbox_server:
                what = (
                    "has changed; its next use starts it anew"
                    if place in self.toolbox_servers
                    else "is removed"
                )
                label = {"server": "/".join(place)}
                log.info("%s, and what runs of it ends when its calls have", what, extra=label)
                self.retire(toolbox_server.server)

    async def find(
        self, queries: Sequence[str], limit: int, among: Container[Origin], principal: str
    ) -> list[list[tuple[Origin, str]]]:
        """The best tools for each query, by their places and names, among what is known of some servers."""
        from mcp_workbench.workbench.searching.finder import Finder  # noqa: PLC0415 - few search at all

        if self._finder is None:
            self._finder = Finder(self._cache)
        sources = {
            toolbox_server.origin: known.index
            for toolboxes in (self.toolboxes, self.builtin)
            for toolbox in toolboxes.values()
            for toolbox_server in toolbox.toolbox_servers.values()
            if (known := toolbox_server.known()) is not None
        }
        return [await self._finder.find(query, limit, sources, among, principal) for query in queries]

    def _prepare_to_keep(self, config: ResultsConfig) -> None:
        if self.store is None and any(
            toolbox_server.inline_limit < NO_LIMIT for toolbox_server in self.toolbox_servers.values()
        ):
            # Most configurations do not want it.
            from mcp_workbench.storage.kept_files import KeptFiles  # noqa: PLC0415 - see above
            from mcp_workbench.workbench.builtin_server import builtin_toolbox  # noqa: PLC0415 - see above
            from mcp_workbench.workbench.kept.store import ResultStore  # noqa: PLC0415 - see above

            self.store = ResultStore(KeptFiles(self._cache), self.shares)
            toolbox = builtin_toolbox()
            self.builtin[toolbox.name] = toolbox
        if self.store is not None:
            self.store.adopt(config)

    async def close(self) -> None:
        """Ends everything downstream, in parallel."""
        self._is_closed = True
        if self.store is not None:
            self.store.close()
        for task in self._retiring.values():
            task.cancel()
        await asyncio.gather(*(server.close() for server in self._servers))
        await self._context.guard.close()

    def kill(self) -> None:
        """Ends all processes this instant. It remains to be closed, which takes no time after this."""
        for server in self._servers:
            server.kill()

    @property
    def _servers(self) -> list[Server]:
        """Those included that are some client's own, or no longer configured but still in use."""
        shared = (toolbox_server.server for toolbox_server in self.toolbox_servers.values())
        return list(dict.fromkeys([*shared, *self.own_servers, *self._retiring]))

    def _hold(self, toolboxes: Sequence[Toolbox]) -> None:
        self.toolboxes = {toolbox.name: toolbox for toolbox in toolboxes}
        self.toolbox_servers = {
            toolbox_server.origin: toolbox_server
            for toolbox in toolboxes
            for toolbox_server in toolbox.toolbox_servers.values()
            if isinstance(toolbox_server, ConfiguredServer)
        }

    def retire(self, server: Server) -> None:
        """It is not found any more, and ends when its calls have."""
        self.own_servers.release(server)
        server.leave()
        if self._is_closed:
            return
        self._retiring[server] = asyncio.create_task(self._end_when_unused(server))

    async def _end_when_unused(self, server: Server) -> None:
        # Not at once: whoever has just found it has yet to say that it is in use.
        await asyncio.sleep(LINGER)
        while server.in_use:  # noqa: ASYNC110 - an event would cost every call something
            await asyncio.sleep(LINGER)
        await server.close()
        del self._retiring[server]
        self.own_servers.remove(server)


def build(
    loaded: LoadedConfig,
    *,
    environ: Mapping[str, str],
    cache: StrPath,
    hide: Callable[[Secrets], None] = lambda _: None,
    door: Door | None = None,
) -> ToolboxRegistry:
    """The workbench that a configuration describes. Starts nothing.

    What is worth remembering is kept in the directory `cache`. `hide` gets what no log may hold. Calls pass
    the `door`, with its deciders and observers.
    """
    context = ServerContext(
        environ, VersionMemory(cache), Catalogue(cache), Guard(environ), FlowControl(), Listeners(), hide
    )
    workbench = ToolboxRegistry([], context, cache, door)
    workbench.reconfigure(loaded)
    return workbench
