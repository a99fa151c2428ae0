"""The MCP endpoint: every HTTP request to it, sorted by method and era."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, Protocol

from mcp_workbench.protocol import (
    BATCHING_VERSION,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    PARSE_ERROR,
)
from mcp_workbench.surface.calls import OUR_FAULT
from mcp_workbench.surface.denied import Denied
from mcp_workbench.surface.face import Face
from mcp_workbench.surface.http import headers
from mcp_workbench.surface.http.clients import ROOM
from mcp_workbench.surface.http.intake import Intake
from mcp_workbench.surface.http.posted import read, request_id_of
from mcp_workbench.surface.http.stream import Stream
from mcp_workbench.surface.http.visit import CLOSE, KEEP_ALIVE, LATER, Incoming, Rejected, Visit
from mcp_workbench.wire.message import Undecodable, answered_id, decode, decode_batch, encode, is_json
from mcp_workbench.workbench.principal import Principal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from starlette.types import Receive, Scope, Send

    from mcp_workbench.surface.http.backlog import Account
    from mcp_workbench.surface.http.clients import Clients
    from mcp_workbench.surface.http.posted import Posted
    from mcp_workbench.surface.http.session import Session
    from mcp_workbench.surface.http.visit import Header
    from mcp_workbench.surface.outlet import Write
    from mcp_workbench.wire.message import Id, Outgoing

ALLOWED: Final = (b"allow", b"GET, POST, DELETE")
ONLY_POST: Final = (b"allow", b"POST")
NO_SESSION: Final = (
    "Bad Request: a request without the modern metadata needs the Mcp-Session-Id header, which the answer to "
    "`initialize` has"
)
UNKNOWN_SESSION: Final = "Not Found: there is no such session any more. Send `initialize` for a new one"

log = logging.getLogger(__name__)


class Gate(Protocol):
    """Who may come in."""

    def admit(self, headers: Sequence[Header], peer: str) -> Principal | Awaitable[Principal]:
        """Who it is that has come, from this address. Raises Denied, now or when awaited."""


class Endpoint:
    """An ASGI application for one path."""

    def __init__(self, clients: Clients, gate: Gate) -> None:
        self._clients = clients
        self._gate = gate
        self._incoming = Incoming()
        self._intake = Intake()
        self.is_closing = False
        """Whether no more requests are taken: those in flight may still be answered or cancelled."""
        self.is_closed = False
        """Whether nothing is taken any more: it could have servers start that nobody would end."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one HTTP request."""
        visit = Visit(scope, receive, send)
        try:
            await self._serve(visit)
        except Denied as denied:
            await visit.refuse(denied)
        except Exception:
            log.exception("an HTTP request failed inside the workbench")
            await visit.refuse(Rejected(500, INTERNAL_ERROR, OUR_FAULT, CLOSE))

    async def _serve(self, visit: Visit) -> None:
        admitted = self._gate.admit(visit.pairs, visit.peer)
        principal = admitted if isinstance(admitted, Principal) else await admitted
        visit.connection.trust()
        if principal.name and not self._intake.takes(principal.name):
            await self._intake.wait(principal.name)
        if self.is_closed:
            raise _ending()
        if visit.method == "POST":
            await self._post(visit, principal)
        elif visit.method in ("GET", "DELETE"):
            await self._of_session(visit, principal)
        else:
            raise Rejected(405, INVALID_REQUEST, "Method Not Allowed", ALLOWED)

    async def _post(self, visit: Visit, principal: Principal) -> None:
        headers.require_json(visit)
        line = _in_one_line(await visit.body(self._incoming))
        try:
            posted = read(line)
        except Undecodable as problem:
            await self._post_batch(visit, principal, line, problem)
            return
        request_id = posted.request_id
        if self.is_closing and request_id is not None:
            raise _ending(request_id)
        if headers.is_modern(visit, posted):
            await self._take_modern(visit, principal, posted)
        elif posted.method == "initialize" and request_id is not None:
            await self._greet(visit, principal, line, request_id)
        else:
            session = self._session(visit, principal, request_id)
            await session.take(visit, line, [] if request_id is None else [request_id], posted.plain)

    async def _take_modern(self, visit: Visit, principal: Principal, posted: Posted) -> None:
        if posted.method is None:
            raise Rejected(400, INVALID_REQUEST, "Invalid Request: clients of this era send no answers")
        if posted.request_id is None:
            # The modern era has no notification of a client's that would mean anything over HTTP.
            await visit.answer(202)
            return
        headers.require_match(visit, posted)
        seat = self._clients.seat(principal)
        account = self._clients.backlog.account(principal.name)
        in_flight = self._clients.in_flight(principal)
        in_flight.add(1, posted.request_id)
        exchange = _Exchange(account, encode(posted.request_id))
        face = Face(seat, exchange, ROOM)
        self._clients.come(face, seat)
        try:
            face.take(posted.line, posted.plain)
            await visit.answer_from(exchange.stream, patience=KEEP_ALIVE, is_modern=True)
        finally:
            # What is not answered by now was given up by the client, which is the way to cancel it.
            self._clients.go(face)
            exchange.stream.close()
            in_flight.remove(1)

    async def _greet(self, visit: Visit, principal: Principal, line: bytes, request_id: Id) -> None:
        session = self._clients.new_session(principal)
        is_greeted = False
        try:
            is_greeted = await session.greet(visit, line, request_id)
        finally:
            if is_greeted:
                self._clients.keep(session)
            else:
                session.close()

    async def _post_batch(
        self, visit: Visit, principal: Principal, line: bytes, problem: Undecodable
    ) -> None:
        parts = decode_batch(line)
        if not parts:
            if problem.is_json:
                reason = f"Invalid Request: {problem}"
                raise Rejected(400, INVALID_REQUEST, reason, request_id=problem.request_id)
            raise Rejected(400, PARSE_ERROR, f"Parse error: {problem}")
        session = self._session(visit, principal, None)
        if session.face.version != BATCHING_VERSION:
            only = f"Invalid Request: only in version {BATCHING_VERSION} several messages can come at once"
            raise Rejected(400, INVALID_REQUEST, only)
        request_ids = [it for it in map(_request_id_in, parts) if it is not None]
        if self.is_closing and request_ids:
            raise _ending()
        await session.take(visit, line, request_ids)

    async def _of_session(self, visit: Visit, principal: Principal) -> None:
        """What only legacy clients do: listening to what belongs to no request, and saying goodbye."""
        if visit.text(headers.VERSION) in MODERN_VERSIONS:
            raise Rejected(405, INVALID_REQUEST, "Method Not Allowed: send requests by POST", ONLY_POST)
        session = self._session(visit, principal, None)
        if visit.method == "DELETE":
            self._clients.end(session)
            await visit.answer(204)
            return
        if self.is_closing:
            raise _ending()
        headers.require_events(visit)
        await session.listen(visit, visit.text(headers.LAST_EVENT))

    def _session(self, visit: Visit, principal: Principal, request_id: Id | None) -> Session:
        version = visit.text(headers.VERSION)
        if version is not None and version not in LEGACY_VERSIONS:
            supported = ", ".join((*MODERN_VERSIONS, *LEGACY_VERSIONS))
            unknown = f"Bad Request: unsupported protocol version {version!r}; supported: {supported}"
            raise Rejected(400, INVALID_REQUEST, unknown, request_id=request_id)
        session_id = visit.text(headers.SESSION)
        if session_id is None:
            raise Rejected(400, INVALID_REQUEST, NO_SESSION, request_id=request_id)
        session = self._clients.session(session_id, principal)
        if session is None:
            raise Rejected(404, INVALID_REQUEST, UNKNOWN_SESSION, request_id=request_id)
        return session


class _Exchange:
    """The way back for one request of a modern client."""

    def __init__(self, account: Account, request_id: bytes) -> None:
        self.stream = Stream(account, owed=[request_id])
        self._request_id = request_id

    def write(self, line: Outgoing) -> None:
        """Takes the answer, or what belongs to it."""
        if answered_id(line) is None:
            self.stream.write(line)
        else:
            self.stream.answer(self._request_id, line)

    def about(self, request_id: Id) -> Write:  # noqa: ARG002 - there is only one
        """The same."""
        return self.stream.write

    def drop(self, request_id: Id) -> None:  # noqa: ARG002 - there is only one
        """The request gets no answer."""
        self.stream.end()


def _ending(request_id: Id | None = None) -> Rejected:
    ending = "Service Unavailable: the workbench is ending"
    return Rejected(503, INTERNAL_ERROR, ending, LATER, CLOSE, request_id=request_id)


def _in_one_line(body: bytes) -> bytes:
    """A message may be laid out over several lines here, and is sent on in one."""
    if b"\n" not in body and b"\r" not in body:
        return body
    if not is_json(body.strip()):
        return body
    # Not in the middle of a string, where JSON does not have them.
    return body.replace(b"\n", b" ").replace(b"\r", b" ")


def _request_id_in(line: bytes) -> Id | None:
    try:
        return request_id_of(decode(line))
    except Undecodable as problem:
        return problem.request_id  # which is told what is wrong
