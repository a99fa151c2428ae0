"""A workbench that serves over HTTP inside of the test's own process, so that its clocks and limits can be
changed, and what it keeps can be counted.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from mcp_workbench.serve.address import Address, listen
from mcp_workbench.serve.admission import Admission
from mcp_workbench.serve.connection_limits import ConnectionLimits
from mcp_workbench.serve.connections import LimitedConnection
from mcp_workbench.serve.http import HttpApplication, _Server, _settings
from mcp_workbench.surface.http.clients import Clients
from mcp_workbench.surface.http.endpoint import Endpoint
from mcp_workbench.workbench.registry import build
from tests.config.loading import load_content
from tests.serve.http.raw_clients import Legacy, Modern
from tests.support.configs import WHOLE
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from mcp_workbench.surface.http.backlog import Backlog
    from mcp_workbench.workbench.registry import ToolboxRegistry
    from tests.support.client import Json


class Inside:
    """A workbench that serves over HTTP in this process, and its clients."""

    def __init__(
        self,
        workbench: ToolboxRegistry,
        clients: Clients,
        server: _Server,
        url: str,
        limits: ConnectionLimits,
    ) -> None:
        self.limits = limits
        self.workbench = workbench
        self.clients = clients
        self.server = server
        self.url = url
        self.stack = contextlib.AsyncExitStack()

    async def legacy(self) -> Legacy:
        client = await self.stack.enter_async_context(Legacy(self.url))
        await client.greet()
        return client

    async def modern(self) -> Modern:
        return await self.stack.enter_async_context(Modern(self.url))

    @property
    def connections(self) -> list[LimitedConnection]:
        return [it for it in self.server.server_state.connections if isinstance(it, LimitedConnection)]

    @property
    def kept(self) -> dict[str, int]:
        """How many requests, sessions, connections and the like there are."""
        return {
            "modern requests": len(self.clients._client_connections),
            "sessions": len(self.clients._sessions),
            "listeners": len(self.workbench.listeners._listeners),
            "connections": len(self.server.server_state.connections),
            "responses": len(self.server.server_state.tasks),
            "parked": len(self.clients._parking._parked),
        }

    async def wait_until_kept(self, **wanted: int) -> None:
        """Wait until there are exactly so many of the named kinds, and none of the others."""
        expected = dict.fromkeys(self.kept, 0) | wanted
        try:
            await poll(lambda: self.kept == expected)
        except TimeoutError:
            raise AssertionError(self.kept) from None


@contextlib.asynccontextmanager
async def serving(
    home: Path, config: Json, limits: ConnectionLimits | None = None, backlog: Backlog | None = None
) -> AsyncIterator[Inside]:
    loaded = load_content(home, {**WHOLE, **config})
    workbench = build(loaded, environ={}, cache=home / "cache")
    clients = Clients(workbench, {})
    if backlog is not None:
        clients.backlog = backlog
    admission = Admission("127.0.0.1", loaded.config.http, None, clients)
    sockets = listen(Address("127.0.0.1", 0))
    limits = ConnectionLimits() if limits is None else limits
    front = HttpApplication(Endpoint(clients, admission), admission)
    server = _Server(_settings(front, limits, admission.refusal_log))
    serving = asyncio.create_task(server.serve(sockets))
    url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}/mcp"
    inside = Inside(workbench, clients, server, url, limits)
    try:
        async with inside.stack:
            yield inside
    finally:
        await workbench.close()
        clients.close()
        server.should_exit = True
        async with asyncio.timeout(PATIENCE):
            await serving
