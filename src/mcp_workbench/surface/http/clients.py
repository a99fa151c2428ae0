"""All clients that come over HTTP: those of the modern era by who they are, legacy ones by their sessions.

Owns what stays of a client between two requests, and for how long.
"""

from __future__ import annotations

import asyncio
import logging
import os
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, Final

from mcp_workbench.surface.http.backlog import Backlog
from mcp_workbench.surface.http.in_flight import InFlight
from mcp_workbench.surface.http.session import Session
from mcp_workbench.surface.parking import Parking
from mcp_workbench.surface.sealing import Seal, UsedStates
from mcp_workbench.surface.seat import Seat
from mcp_workbench.workbench.desk import Desk
from mcp_workbench.workbench.emitted import EmittedUris

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcp_workbench.surface.face import Face
    from mcp_workbench.workbench.principal import Principal
    from mcp_workbench.workbench.workbench import Workbench

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


class NoLimit:
    """Room for what is sent: each client has its own connections, which do not hold up those of others."""

    async def wait(self) -> None:
        """There is always some."""


ROOM: Final = NoLimit()


class Clients:
    """Everybody who was here lately."""

    def __init__(self, workbench: Workbench, environ: Mapping[str, str]) -> None:
        self._workbench = workbench
        self._environ = environ
        self._parking = Parking(workbench.shares)
        self._used_states = UsedStates()
        self.backlog = Backlog()
        self._in_flight: dict[str, InFlight] = {}
        """The requests in flight, by the names of their principals."""
        self._seats: dict[str, tuple[Seat, float]] = {}
        """Of modern clients, by the names of their principals, and when they were last used."""
        self._emitted: dict[str, EmittedUris] = {}
        """Of modern clients, by the names of their principals. It outlives their seats: the client does not
        know of these, and still has the links."""
        self._sessions: dict[str, Session] = {}
        self._faces: dict[Face, Seat] = {}
        """Of the modern requests in flight."""
        self._sweep = asyncio.get_running_loop().call_later(SWEEP_EVERY, self._look_for_idle)

    def seat(self, principal: Principal) -> Seat:
        """Where a modern client of a principal sits."""
        seat, _ = self._seats.get(principal.name, (None, 0.0))
        if seat is None:
            seat = self._new_seat(principal, self._emitted_to(principal))
        elif seat.desk.principal != principal:
            self._look_again(seat, principal)
        seat.desk.used_at = asyncio.get_running_loop().time()
        self._seats[principal.name] = seat, seat.desk.used_at
        return seat

    def in_flight(self, principal: Principal) -> InFlight:
        """The requests of a principal that are in flight."""
        in_flight = self._in_flight.get(principal.name)
        if in_flight is None:
            in_flight = InFlight(principal.name, self._workbench.shares)
            self._in_flight[principal.name] = in_flight
        return in_flight

    def come(self, face: Face, seat: Seat) -> None:
        """A modern request is in flight."""
        self._faces[face] = seat

    def go(self, face: Face) -> None:
        """It is over, and what it still waits for is given up."""
        del self._faces[face]
        face.close()

    def new_session(self, principal: Principal) -> Session:
        """A legacy client has come, and is known when its handshake is done."""
        session_id = urlsafe_b64encode(os.urandom(ID_SIZE)).rstrip(b"=").decode()
        account, in_flight = self.backlog.account(principal.name), self.in_flight(principal)
        return Session(session_id, self._new_seat(principal), ROOM, account, in_flight)

    def keep(self, session: Session) -> None:
        """Its handshake is done."""
        principal = session.seat.desk.principal
        others = [it for it in self._sessions.values() if it.seat.desk.principal.name == principal.name]
        if len(others) >= MOST_SESSIONS:
            self.end(min(others, key=lambda it: (not it.is_idle, it.used_at)))
        self._sessions[session.id] = session

    def session(self, session_id: str, principal: Principal) -> Session | None:
        """The session with this id, if it is this principal's."""
        session = self._sessions.get(session_id)
        if session is None or session.seat.desk.principal.name != principal.name:
            return None
        if session.seat.desk.principal != principal:
            self._look_again(session.seat, principal)
        return session

    def end(self, session: Session) -> None:
        """A legacy client is gone."""
        if self._sessions.pop(session.id, None) is not None:
            session.close()

    def dismiss(self, is_over: Callable[[Principal], bool]) -> None:
        """Ends all that there is of those who may not come in any more, but for calls in flight."""
        for session in list(self._sessions.values()):
            if is_over(session.seat.desk.principal):
                self.end(session)
        self.release(is_over)
        for name, (seat, _) in list(self._seats.items()):
            if is_over(seat.desk.principal):
                self._leave_seat(name)

    def look_again(self) -> None:
        """The configuration has changed."""
        for seat in self._all_seats():
            self._look_again(seat, seat.desk.principal)

    def release(self, is_over: Callable[[Principal], bool] = lambda _: True) -> None:
        """Ends what would go on for as long as we do: nothing but calls is to be waited for any more."""
        for face, seat in list(self._faces.items()):
            if is_over(seat.desk.principal):
                face.end_streams()
        for session in self._sessions.values():
            if is_over(session.seat.desk.principal):
                session.release()

    async def drain(self, seconds: float) -> None:
        """Lets the calls in flight finish, within limits."""
        faces = [*self._faces, *(session.face for session in self._sessions.values())]
        if faces:
            await asyncio.gather(*(face.drain(seconds) for face in faces))

    def close(self) -> None:
        """Everybody has to go."""
        self._sweep.cancel()
        for session in list(self._sessions.values()):
            self.end(session)
        self._parking.close()
        for name in list(self._seats):
            self._leave_seat(name)

    def _emitted_to(self, principal: Principal) -> EmittedUris:
        emitted = self._emitted.pop(principal.name, None) or EmittedUris()
        self._emitted[principal.name] = emitted
        if len(self._emitted) > MOST_REMEMBERED:
            del self._emitted[next(iter(self._emitted))]
        return emitted

    def _new_seat(self, principal: Principal, emitted: EmittedUris | None = None) -> Seat:
        desk = Desk(self._workbench, principal, emitted, has_own_servers=True)
        return Seat(desk, self._parking, Seal(self._environ, principal.name, self._used_states))

    def _look_again(self, seat: Seat, principal: Principal) -> None:
        seat.desk.refresh(principal)
        if seat.look_again():
            for face in self._faces_at(seat):
                face.tell_tools_changed()

    def _all_seats(self) -> list[Seat]:
        of_sessions = (session.seat for session in self._sessions.values())
        return [*(seat for seat, _ in self._seats.values()), *of_sessions]

    def _faces_at(self, seat: Seat) -> Iterator[Face]:
        yield from (face for face, its in list(self._faces.items()) if its is seat)
        yield from (session.face for session in list(self._sessions.values()) if session.seat is seat)

    def _leave_seat(self, name: str) -> None:
        seat, _ = self._seats.pop(name)
        seat.desk.close()

    def _look_for_idle(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweep = loop.call_later(SWEEP_EVERY, self._look_for_idle)
        now = loop.time()
        for session in list(self._sessions.values()):
            session.forget_old(now)
            if session.is_idle and now - session.used_at > IDLE:
                log.info("a client was not heard of for %d minutes, and its session is ended", IDLE / 60)
                self.end(session)
        busy = {id(seat) for seat in self._faces.values()}
        for name, (seat, used_at) in list(self._seats.items()):
            # What is kept for it has a lifetime of its own.
            if now - used_at > IDLE and id(seat) not in busy and not seat.desk.drawer:
                self._leave_seat(name)
