"""All clients that come over HTTP: those of the modern era by who they are, legacy ones by their sessions.

Owns what stays of a client between two requests, and for how long.
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

IDLE: Final = 1800.0
"""Seconds after which a client that was not heard of is taken to be gone."""
SWEEP_EVERY: Final = 60.0
MOST_SESSIONS: Final = 1000
"""Of one principal. With one more, the one is ended that was not used for longest."""
MOST_REMEMBERED: Final = 1000
"""Principals of which it is remembered where the resource URIs come from that their modern clients have."""
ID_SIZE: Final = 32
"""Random bytes in the id of a session."""

log = logging.getLogger(__name__)


class NoBackpressure:
    """Room for what is sent: each client has its own connections, which do not hold up those of others."""

    async def wait(self) -> None:
        """There is always some."""


BACKPRESSURE: Final = NoBackpressure()


class Clients:
    """Everybody who was here lately."""

    def __init__(self, workbench: ToolboxRegistry, environ: Mapping[str, str]) -> None:
        self._workbench = workbench
        self._environ = environ
        self._parking = ParkedCalls(workbench.shares)
        self._used_states = UsedStates()
        self.backlog = Backlog()
        self._in_flight: dict[str, PrincipalRequests] = {}
        """The requests in flight, by the names of their principals."""
        self._client_sessions: dict[str, tuple[ClientSession, float]] = {}
        """Of modern clients, by the names of their principals, and when they were last used."""
        self._emitted: dict[str, EmittedUris] = {}
        """Of modern clients, by the names of their principals. It outlives their seats: the client does not
        know of these, and still has the links."""
        self._sessions: dict[str, HttpSession] = {}
        self._client_connections: dict[ClientConnection, ClientSession] = {}
        """Of the modern requests in flight."""
        self._sweep = asyncio.get_running_loop().call_later(SWEEP_EVERY, self._look_for_idle)

    def client_session(self, principal: Principal) -> ClientSession:
        """Where a modern client of a principal sits."""
        client_session, _ = self._client_sessions.get(principal.name, (None, 0.0))
        if client_session is None:
            client_session = self._new_client_session(principal, self._emitted_to(principal))
        elif client_session.view.principal != principal:
            self._look_again(client_session, principal)
        client_session.view.used_at = asyncio.get_running_loop().time()
        self._client_sessions[principal.name] = client_session, client_session.view.used_at
        return client_session

    def in_flight(self, principal: Principal) -> PrincipalRequests:
        """The requests of a principal that are in flight."""
        in_flight = self._in_flight.get(principal.name)
        if in_flight is None:
            in_flight = PrincipalRequests(principal.name, self._workbench.shares)
            self._in_flight[principal.name] = in_flight
        return in_flight

    def come(self, client_connection: ClientConnection, client_session: ClientSession) -> None:
        """A modern request is in flight."""
        self._client_connections[client_connection] = client_session

    def go(self, client_connection: ClientConnection) -> None:
        """It is over, and what it still waits for is given up."""
        del self._client_connections[client_connection]
        client_connection.close()

    def new_session(self, principal: Principal) -> HttpSession:
        """A legacy client has come, and is known when its handshake is done."""
        session_id = urlsafe_b64encode(os.urandom(ID_SIZE)).rstrip(b"=").decode()
        account, in_flight = self.backlog.account(principal.name), self.in_flight(principal)
        return HttpSession(session_id, self._new_client_session(principal), BACKPRESSURE, account, in_flight)

    def keep(self, session: HttpSession) -> None:
        """Its handshake is done."""
        principal = session.client_session.view.principal
        others = [
            it for it in self._sessions.values() if it.client_session.view.principal.name == principal.name
        ]
        if len(others) >= MOST_SESSIONS:
            self.end(min(others, key=lambda it: (not it.is_idle, it.used_at)))
        self._sessions[session.id] = session

    def session(self, session_id: str, principal: Principal) -> HttpSession | None:
        """The session with this id, if it is this principal's."""
        session = self._sessions.get(session_id)
        if session is None or session.client_session.view.principal.name != principal.name:
            return None
        if session.client_session.view.principal != principal:
            self._look_again(session.client_session, principal)
        return session

    def end(self, session: HttpSession) -> None:
        """A legacy client is gone."""
        if self._sessions.pop(session.id, None) is not None:
            session.close()

    def dismiss(self, is_over: Callable[[Principal], bool]) -> None:
        """Ends all that there is of those who may not come in any more, but for calls in flight."""
        for session in list(self._sessions.values()):
            if is_over(session.client_session.view.principal):
                self.end(session)
        self.release(is_over)
        for name, (client_session, _) in list(self._client_sessions.items()):
            if is_over(client_session.view.principal):
                self._leave_client_session(name)

    def look_again(self) -> None:
        """The configuration has changed."""
        for client_session in self._all_client_sessions():
            self._look_again(client_session, client_session.view.principal)

    def release(self, is_over: Callable[[Principal], bool] = lambda _: True) -> None:
        """Ends what would go on for as long as we do: nothing but calls is to be waited for any more."""
        for client_connection, client_session in list(self._client_connections.items()):
            if is_over(client_session.view.principal):
                client_connection.end_streams()
        for session in self._sessions.values():
            if is_over(session.client_session.view.principal):
                session.release()

    async def drain(self, seconds: float) -> None:
        """Lets the calls in flight finish, within limits."""
        client_connections = [
            *self._client_connections,
            *(session.client_connection for session in self._sessions.values()),
        ]
        if client_connections:
            await asyncio.gather(
                *(client_connection.drain(seconds) for client_connection in client_connections)
            )

    def close(self) -> None:
        """Everybody has to go."""
        self._sweep.cancel()
        for session in list(self._sessions.values()):
            self.end(session)
        self._parking.close()
        for name in list(self._client_sessions):
            self._leave_client_session(name)

    def _emitted_to(self, principal: Principal) -> EmittedUris:
        emitted = self._emitted.pop(principal.name, None) or EmittedUris()
        self._emitted[principal.name] = emitted
        if len(self._emitted) > MOST_REMEMBERED:
            del self._emitted[next(iter(self._emitted))]
        return emitted

    def _new_client_session(self, principal: Principal, emitted: EmittedUris | None = None) -> ClientSession:
        view = ClientView(self._workbench, principal, emitted, has_own_servers=True)
        return ClientSession(view, self._parking, Seal(self._environ, principal.name, self._used_states))

    def _look_again(self, client_session: ClientSession, principal: Principal) -> None:
        client_session.view.refresh(principal)
        if client_session.look_again():
            for client_connection in self._client_connections_at(client_session):
                client_connection.tell_tools_changed()

    def _all_client_sessions(self) -> list[ClientSession]:
        of_sessions = (session.client_session for session in self._sessions.values())
        return [*(client_session for client_session, _ in self._client_sessions.values()), *of_sessions]

    def _client_connections_at(self, client_session: ClientSession) -> Iterator[ClientConnection]:
        yield from (
            client_connection
            for client_connection, its in list(self._client_connections.items())
            if its is client_session
        )
        yield from (
            session.client_connection
            for session in list(self._sessions.values())
            if session.client_session is client_session
        )

    def _leave_client_session(self, name: str) -> None:
        client_session, _ = self._client_sessions.pop(name)
        client_session.view.close()

    def _look_for_idle(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweep = loop.call_later(SWEEP_EVERY, self._look_for_idle)
        now = loop.time()
        for session in list(self._sessions.values()):
            session.forget_old(now)
            if session.is_idle and now - session.used_at > IDLE:
                log.info("a client was not heard of for %d minutes, and its session is ended", IDLE / 60)
                self.end(session)
        busy = {id(client_session) for client_session in self._client_connections.values()}
        for name, (client_session, used_at) in list(self._client_sessions.items()):
            # What is kept for it has a lifetime of its own.
            if (
                now - used_at > IDLE
                and id(client_session) not in busy
                and not client_session.view.client_results
            ):
                self._leave_client_session(name)
