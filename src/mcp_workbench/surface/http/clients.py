"""All HTTP clients: modern clients by their principal, legacy clients by their session.

Owns what is kept for a client between two requests, and for how long.
"""

from __future__ import annotations

import asyncio
import logging
import os
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, Final

from mcp_workbench.surface.client_session import ClientSession
from mcp_workbench.surface.http.backlog import Backlog
from mcp_workbench.surface.http.limits import PrincipalRequests
from mcp_workbench.surface.http.session import HttpSession
from mcp_workbench.surface.questions.parking import ParkedCalls
from mcp_workbench.surface.questions.sealing import Seal, UsedStates
from mcp_workbench.workbench.client_view import ClientView
from mcp_workbench.workbench.emitted_uris import EmittedUris

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcp_workbench.surface.client_connection import ClientConnection
    from mcp_workbench.workbench.principal import Principal
    from mcp_workbench.workbench.registry import ToolboxRegistry

IDLE_SECONDS: Final = 1800.0
"""A client that sends nothing for this time counts as gone."""
SWEEP_EVERY_SECONDS: Final = 60.0
"""Time between two searches for idle clients."""
MAX_SESSIONS: Final = 1000
"""Sessions of one principal. One more ends the session that was unused for longest."""
MAX_REMEMBERED_PRINCIPALS: Final = 1000
"""Principals for whose modern clients the origins of resource URIs are remembered."""
SESSION_ID_BYTES: Final = 32
"""Random bytes in the id of a session."""

log = logging.getLogger(__name__)


class NoBackpressure:
    """Backpressure over HTTP: none here, because each client has connections of its own."""

    async def wait(self) -> None:
        """Return at once: each HTTP connection waits for its own client."""


BACKPRESSURE: Final = NoBackpressure()


class Clients:
    """All HTTP clients with a session, or with a recent modern request."""

    def __init__(self, workbench: ToolboxRegistry, environ: Mapping[str, str]) -> None:
        self._workbench = workbench
        self._environ = environ
        self._parking = ParkedCalls(workbench.shares)
        self._used_states = UsedStates()
        self.backlog = Backlog()
        self._in_flight: dict[str, PrincipalRequests] = {}
        """The requests in flight, by the names of their principals."""
        self._client_sessions: dict[str, tuple[ClientSession, float]] = {}
        """The sessions of modern clients by the names of their principals, and when they were last used."""
        self._emitted: dict[str, EmittedUris] = {}
        """The resource URIs given to modern clients, by the names of their principals. They outlive the
        client session, because the client still has the links."""
        self._sessions: dict[str, HttpSession] = {}
        self._client_connections: dict[ClientConnection, ClientSession] = {}
        """The connection and client session of each modern request in flight."""
        self._sweep = asyncio.get_running_loop().call_later(SWEEP_EVERY_SECONDS, self._end_idle)

    def client_session(self, principal: Principal) -> ClientSession:
        """Return the client session that all modern clients of a principal share."""
        client_session, _ = self._client_sessions.get(principal.name, (None, 0.0))
        if client_session is None:
            client_session = self._new_client_session(principal, self._emitted_to(principal), is_shared=True)
        elif client_session.view.principal != principal:
            self._refresh(client_session, principal)
        client_session.view.used_at = asyncio.get_running_loop().time()
        self._client_sessions[principal.name] = client_session, client_session.view.used_at
        return client_session

    def in_flight(self, principal: Principal) -> PrincipalRequests:
        """Return the requests of a principal that are in flight."""
        in_flight = self._in_flight.get(principal.name)
        if in_flight is None:
            in_flight = PrincipalRequests(principal.name, self._workbench.shares)
            self._in_flight[principal.name] = in_flight
        return in_flight

    def add_request(self, client_connection: ClientConnection, client_session: ClientSession) -> None:
        """Add a modern request that is in flight."""
        self._client_connections[client_connection] = client_session

    def remove_request(self, client_connection: ClientConnection) -> None:
        """Remove a modern request, and cancel what it still waits for."""
        del self._client_connections[client_connection]
        client_connection.close()

    def new_session(self, principal: Principal) -> HttpSession:
        """Make a session for a legacy client. `add_session` adds it after the handshake."""
        session_id = urlsafe_b64encode(os.urandom(SESSION_ID_BYTES)).rstrip(b"=").decode()
        account, in_flight = self.backlog.account(principal.name), self.in_flight(principal)
        return HttpSession(session_id, self._new_client_session(principal), BACKPRESSURE, account, in_flight)

    def add_session(self, session: HttpSession) -> None:
        """Add a legacy session whose handshake is complete."""
        principal = session.client_session.view.principal
        others = [
            other
            for other in self._sessions.values()
            if other.client_session.view.principal.name == principal.name
        ]
        if len(others) >= MAX_SESSIONS:
            self.end_session(min(others, key=lambda other: (not other.is_idle, other.used_at)))
        self._sessions[session.id] = session

    def session(self, session_id: str, principal: Principal) -> HttpSession | None:
        """Return the session with this id, if it belongs to this principal."""
        session = self._sessions.get(session_id)
        if session is None or session.client_session.view.principal.name != principal.name:
            return None
        if session.client_session.view.principal != principal:
            self._refresh(session.client_session, principal)
        return session

    def end_session(self, session: HttpSession) -> None:
        """End the session of a legacy client."""
        if self._sessions.pop(session.id, None) is not None:
            session.close()

    def disconnect(self, is_over: Callable[[Principal], bool]) -> None:
        """End the sessions and streams of principals that are no longer admitted, but not calls in flight."""
        for session in list(self._sessions.values()):
            if is_over(session.client_session.view.principal):
                self.end_session(session)
        self.end_streams(is_over)
        for name, (client_session, _) in list(self._client_sessions.items()):
            if is_over(client_session.view.principal):
                self._close_client_session(name)

    def refresh(self) -> None:
        """Apply a changed configuration to what all clients see."""
        for client_session in self._all_client_sessions():
            self._refresh(client_session, client_session.view.principal)

    def end_streams(self, is_over: Callable[[Principal], bool] = lambda _: True) -> None:
        """End the streams that have no end of their own, so that only calls are in flight."""
        for client_connection, client_session in list(self._client_connections.items()):
            if is_over(client_session.view.principal):
                client_connection.end_streams()
        for session in self._sessions.values():
            if is_over(session.client_session.view.principal):
                session.end_streams()

    async def drain(self, seconds: float) -> None:
        """Wait for the calls in flight, up to a time limit."""
        client_connections = [
            *self._client_connections,
            *(session.client_connection for session in self._sessions.values()),
        ]
        if client_connections:
            await asyncio.gather(
                *(client_connection.drain(seconds) for client_connection in client_connections)
            )

    def close(self) -> None:
        """End all sessions and stop the search for idle clients."""
        self._sweep.cancel()
        for session in list(self._sessions.values()):
            self.end_session(session)
        self._parking.close()
        for name in list(self._client_sessions):
            self._close_client_session(name)

    def _emitted_to(self, principal: Principal) -> EmittedUris:
        emitted = self._emitted.pop(principal.name, None) or EmittedUris()
        self._emitted[principal.name] = emitted
        if len(self._emitted) > MAX_REMEMBERED_PRINCIPALS:
            del self._emitted[next(iter(self._emitted))]
        return emitted

    def _new_client_session(
        self, principal: Principal, emitted: EmittedUris | None = None, *, is_shared: bool = False
    ) -> ClientSession:
        view = ClientView(self._workbench, principal, emitted, has_own_servers=True, is_shared=is_shared)
        return ClientSession(view, self._parking, Seal(self._environ, principal.name, self._used_states))

    def _refresh(self, client_session: ClientSession, principal: Principal) -> None:
        client_session.view.refresh(principal)
        if client_session.refresh():
            for client_connection in self._connections_of(client_session):
                client_connection.tell_tools_changed()

    def _all_client_sessions(self) -> list[ClientSession]:
        legacy = (session.client_session for session in self._sessions.values())
        return [*(client_session for client_session, _ in self._client_sessions.values()), *legacy]

    def _connections_of(self, client_session: ClientSession) -> Iterator[ClientConnection]:
        yield from (
            client_connection
            for client_connection, its_session in list(self._client_connections.items())
            if its_session is client_session
        )
        yield from (
            session.client_connection
            for session in list(self._sessions.values())
            if session.client_session is client_session
        )

    def _close_client_session(self, name: str) -> None:
        client_session, _ = self._client_sessions.pop(name)
        client_session.view.close()

    def _end_idle(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweep = loop.call_later(SWEEP_EVERY_SECONDS, self._end_idle)
        now = loop.time()
        for session in list(self._sessions.values()):
            session.forget_old(now)
            if session.is_idle and now - session.used_at > IDLE_SECONDS:
                log.info("ended a session: its client sent nothing for %d minutes", IDLE_SECONDS / 60)
                self.end_session(session)
        busy = {id(client_session) for client_session in self._client_connections.values()}
        for name, (client_session, used_at) in list(self._client_sessions.items()):
            # Kept results have a lifetime of their own.
            if (
                now - used_at > IDLE_SECONDS
                and id(client_session) not in busy
                and not client_session.view.has_kept_results
            ):
                self._close_client_session(name)
