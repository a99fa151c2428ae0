"""The MCP endpoint: serves every HTTP request to it, by method and protocol version."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, Protocol

from mcp_workbench.errors import Denied, Undecodable
from mcp_workbench.protocol.names import (
    BATCHING_VERSION,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    PARSE_ERROR,
)
from mcp_workbench.surface.client_connection import ClientConnection
from mcp_workbench.surface.http import headers
from mcp_workbench.surface.http.clients import BACKPRESSURE
from mcp_workbench.surface.http.exchange import (
    CLOSE,
    KEEP_ALIVE_SECONDS,
    RETRY_LATER,
    HttpExchange,
    IncompleteBodies,
    Rejected,
)
from mcp_workbench.surface.http.limits import PerTurnLimit
from mcp_workbench.surface.http.posted import read, request_id_of
from mcp_workbench.surface.http.stream import ResponseStream
from mcp_workbench.surface.relay.in_flight import OUR_FAULT
from mcp_workbench.wire.message import decode, decode_batch, is_json
from mcp_workbench.workbench.principal import Principal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from starlette.types import Receive, Scope, Send

    from mcp_workbench.surface.http.backlog import PrincipalBacklog
    from mcp_workbench.surface.http.clients import Clients
    from mcp_workbench.surface.http.exchange import Header
    from mcp_workbench.surface.http.posted import PostedMessage
    from mcp_workbench.surface.http.session import HttpSession
    from mcp_workbench.surface.output import Write
    from mcp_workbench.wire.message import Id

ALLOWED: Final = (b"allow", b"GET, POST, DELETE")
ONLY_POST: Final = (b"allow", b"POST")
NO_SESSION: Final = (
    "Bad Request: a request without the modern metadata needs the Mcp-Session-Id header, which the answer to "
    "`initialize` has"
)
UNKNOWN_SESSION: Final = (
    "Not Found: this session does not exist, or has ended. Send `initialize` for a new one"
)

log = logging.getLogger(__name__)


class Authenticator(Protocol):
    """Decides which principal a request comes from."""

    def admit(self, headers: Sequence[Header], peer: str) -> Principal | Awaitable[Principal]:
        """Return the principal of a request from this address. Raises Denied, now or when awaited."""


class Endpoint:
    """The ASGI application for the path of the MCP endpoint."""

    def __init__(self, clients: Clients, authenticator: Authenticator) -> None:
        self._clients = clients
        self._authenticator = authenticator
        self._incoming = IncompleteBodies()
        self._turn_limit = PerTurnLimit()
        self.is_closing = False
        """Whether new requests are refused; requests in flight may still be answered or cancelled."""
        self.is_closed = False
        """Whether everything is refused, because it could start servers that would not be stopped."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request, and turn refusals and faults into responses."""
        exchange = HttpExchange(scope, receive, send)
        try:
            await self._serve(exchange)
        except Denied as denied:
            await exchange.refuse(denied)
        except Exception:
            log.exception("an HTTP request failed inside the workbench")
            await exchange.refuse(Rejected(500, INTERNAL_ERROR, OUR_FAULT, CLOSE))

    async def _serve(self, exchange: HttpExchange) -> None:
        admitted = self._authenticator.admit(exchange.pairs, exchange.peer)
        principal = admitted if isinstance(admitted, Principal) else await admitted
        exchange.connection.trust()
        if principal.name and not self._turn_limit.may_begin(principal.name):
            await self._turn_limit.wait(principal.name)
        if self.is_closed:
            raise _ending()
        if exchange.method == "POST":
            await self._post(exchange, principal)
        elif exchange.method in ("GET", "DELETE"):
            await self._serve_session(exchange, principal)
        else:
            raise Rejected(405, INVALID_REQUEST, "Method Not Allowed", ALLOWED)

    async def _post(self, exchange: HttpExchange, principal: Principal) -> None:
        headers.require_json(exchange)
        line = _in_one_line(await exchange.body(self._incoming))
        try:
            posted = read(line)
        except Undecodable as problem:
            await self._post_batch(exchange, principal, line, problem)
            return
        request_id = posted.request_id
        if self.is_closing and request_id is not None:
            raise _ending(request_id)
        if headers.is_modern(exchange, posted):
            await self._serve_modern(exchange, principal, posted)
        elif posted.method == "initialize" and request_id is not None:
            await self._initialize(exchange, principal, line, request_id)
        else:
            session = self._session(exchange, principal, request_id)
            await session.receive(exchange, line, [] if request_id is None else [request_id], posted.plain)

    async def _serve_modern(
        self, exchange: HttpExchange, principal: Principal, posted: PostedMessage
    ) -> None:
        if posted.method is None:
            raise Rejected(400, INVALID_REQUEST, "Invalid Request: modern clients send no responses")
        if posted.request_id is None:
            # The modern protocol has no client notification that matters over HTTP.
            await exchange.answer(202)
            return
        headers.require_match(exchange, posted)
        client_session = self._clients.client_session(principal)
        account = self._clients.backlog.account(principal.name)
        in_flight = self._clients.in_flight(principal)
        in_flight.add(1, posted.request_id)
        output = _ModernOutput(account, posted.request_id)
        client_connection = ClientConnection(client_session, output, BACKPRESSURE)
        self._clients.add_request(client_connection, client_session)
        try:
            client_connection.take(posted.line, posted.plain)
            await exchange.respond_from(output.stream, patience=KEEP_ALIVE_SECONDS, is_modern=True)
        finally:
            # An unanswered request was cancelled: modern clients close the stream to cancel.
            self._clients.remove_request(client_connection)
            output.stream.close()
            in_flight.remove(1)

    async def _initialize(
        self, exchange: HttpExchange, principal: Principal, line: bytes, request_id: Id
    ) -> None:
        session = self._clients.new_session(principal)
        is_initialized = False
        try:
            is_initialized = await session.initialize(exchange, line, request_id)
        finally:
            if is_initialized:
                self._clients.add_session(session)
            else:
                session.close()

    async def _post_batch(
        self, exchange: HttpExchange, principal: Principal, line: bytes, problem: Undecodable
    ) -> None:
        parts = decode_batch(line)
        if not parts:
            if problem.is_json:
                reason = f"Invalid Request: {problem}"
                raise Rejected(400, INVALID_REQUEST, reason, request_id=problem.request_id)
            raise Rejected(400, PARSE_ERROR, f"Parse error: {problem}")
        session = self._session(exchange, principal, None)
        if session.client_connection.version != BATCHING_VERSION:
            only = f"Invalid Request: only in version {BATCHING_VERSION} several messages can come at once"
            raise Rejected(400, INVALID_REQUEST, only)
        request_ids = [request_id for request_id in map(_request_id_in, parts) if request_id is not None]
        if self.is_closing and request_ids:
            raise _ending()
        await session.receive(exchange, line, request_ids)

    async def _serve_session(self, exchange: HttpExchange, principal: Principal) -> None:
        """Serve what only legacy clients send: GET for the standalone stream, DELETE to end the session."""
        if exchange.text(headers.VERSION) in MODERN_VERSIONS:
            raise Rejected(405, INVALID_REQUEST, "Method Not Allowed: send requests by POST", ONLY_POST)
        session = self._session(exchange, principal, None)
        if exchange.method == "DELETE":
            self._clients.end_session(session)
            await exchange.answer(204)
            return
        if self.is_closing:
            raise _ending()
        headers.require_events(exchange)
        await session.listen(exchange, exchange.text(headers.LAST_EVENT))

    def _session(self, exchange: HttpExchange, principal: Principal, request_id: Id | None) -> HttpSession:
        version = exchange.text(headers.VERSION)
        if version is not None and version not in LEGACY_VERSIONS:
            supported = ", ".join((*MODERN_VERSIONS, *LEGACY_VERSIONS))
            unknown = f"Bad Request: unsupported protocol version {version!r}; supported: {supported}"
            raise Rejected(400, INVALID_REQUEST, unknown, request_id=request_id)
        session_id = exchange.text(headers.SESSION)
        if session_id is None:
            raise Rejected(400, INVALID_REQUEST, NO_SESSION, request_id=request_id)
        session = self._clients.session(session_id, principal)
        if session is None:
            raise Rejected(404, INVALID_REQUEST, UNKNOWN_SESSION, request_id=request_id)
        return session


class _ModernOutput:
    """The output for one request of a modern client: its response and its notifications."""

    def __init__(self, account: PrincipalBacklog, request_id: Id) -> None:
        self.stream = ResponseStream(account, unanswered=[request_id])
        self.write = self.stream.write
        self.respond = self.stream.answer

    def about(self, request_id: Id) -> Write:  # noqa: ARG002 - there is only one
        """Return a function that writes notifications about the request."""
        return self.stream.write

    def drop(self, request_id: Id) -> None:  # noqa: ARG002 - there is only one
        """End the stream without a response to the request."""
        self.stream.end()


def _ending(request_id: Id | None = None) -> Rejected:
    ending = "Service Unavailable: the workbench is ending"
    return Rejected(503, INTERNAL_ERROR, ending, RETRY_LATER, CLOSE, request_id=request_id)


def _in_one_line(body: bytes) -> bytes:
    """Put a message on one line: over HTTP it may be spread over several."""
    if b"\n" not in body and b"\r" not in body:
        return body
    if not is_json(body.strip()):
        return body
    # A JSON string contains no raw line ends, so that only space between tokens changes.
    return body.replace(b"\n", b" ").replace(b"\r", b" ")


def _request_id_in(line: bytes) -> Id | None:
    try:
        return request_id_of(decode(line))
    except Undecodable as problem:
        return problem.request_id  # its response says what is wrong
