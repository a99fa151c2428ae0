"""The servers that single clients have for themselves: how many may run, and which one ends for another.

Owns the limits on processes under `"isolation": "client"`. The client view owns which client has which
server.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import TYPE_CHECKING, Final

from mcp_workbench.errors import StartError
from mcp_workbench.fairness import RETRY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from mcp_workbench.downstream.server import Server
    from mcp_workbench.fairness import Shares
    from mcp_workbench.workbench.client_view import ClientView

IDLE_SECONDS: Final = 60.0
"""A server may be ended for another if its client has sent nothing for this time and it waits for nothing."""

log = logging.getLogger(__name__)


class OwnServers:
    """The servers of single clients, until their processes have ended."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._views: dict[Server, ClientView] = {}
        self._ending: set[Server] = set()
        """Servers whose client is gone, until their processes have ended."""

    def __iter__(self) -> Iterator[Server]:
        return iter(self._views)

    def add(self, server: Server, view: ClientView) -> None:
        """Count a server of a client from now on. It calls us before it starts."""
        self._views[server] = view
        server.before_start = self._admit

    def release(self, server: Server) -> None:
        """Take a server from its client, which is gone."""
        if self._views.pop(server, None) is not None:
            self._ending.add(server)

    def remove(self, server: Server) -> None:
        """Remove a server whose process has ended."""
        self._ending.discard(server)

    def _admit(self, server: Server) -> None:
        """Make space for a server that is about to start. Raises StartError."""
        view = self._views.get(server)
        if view is None:
            return  # its client is gone, and the server is about to end
        principal = view.principal.name
        limits = self._shares.limits
        running = [other for other in self._views if other.runs]
        own = [other for other in running if self._principal(other) == principal]
        if principal and len(own) >= limits.processes:
            self._make_space(server, own, f"{len(own)} servers of your own run already", "processes")
        elif len(running) + len(self._ending) >= limits.total_processes:
            counts = Counter(map(self._principal, running))
            most = max(counts.values(), default=0)
            largest = [other for other in running if counts[self._principal(other)] == most]
            what = f"{len(running)} servers of single clients run already"
            self._make_space(server, largest, what, "totalProcesses")

    def _make_space(self, server: Server, among: Collection[Server], taken: str, key: str) -> None:
        """End the server among some whose client was inactive for longest. Raises StartError."""
        now = asyncio.get_running_loop().time()
        idle = [other for other in among if not other.in_use and other.up]
        oldest = min(idle, key=lambda other: self._views[other].used_at, default=None)
        wait = RETRY_SECONDS if oldest is None else self._views[oldest].used_at + IDLE_SECONDS - now
        if oldest is None or wait > 0:
            limit = f'{taken}, and no more are allowed ("http.shares.{key}")'
            remedy = f"End a session that you do not need, or try again in {max(wait, 1):.0f} s"
            raise StartError(server.name, f"{limit}. {remedy}")
        log.info(
            "ends, to make room: its client sent nothing for %d s",
            now - self._views[oldest].used_at,
            extra={"server": oldest.label},
        )
        oldest.begin_to_close()

    def _principal(self, server: Server) -> str:
        return self._views[server].principal.name
