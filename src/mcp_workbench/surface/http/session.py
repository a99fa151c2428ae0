"""The session of a legacy client over HTTP, from its handshake to its end.

Owns which HTTP response a message is sent on: messages about a request on the response to that request, all
others on the standalone stream that the client opens with GET. The client can resume both and get what it
missed.
"""

from __future__ import annotations

import asyncio
from itertools import accumulate, count
from typing import TYPE_CHECKING, Final

from mcp_workbench.protocol.names import INVALID_REQUEST, LEGACY_VERSIONS
from mcp_workbench.surface.client_connection import ClientConnection
from mcp_workbench.surface.http.exchange import Rejected
from mcp_workbench.surface.http.stream import MAX_KEPT_BYTES, ResponseStream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from mcp_workbench.surface.client_session import ClientSession
    from mcp_workbench.surface.http.backlog import PrincipalBacklog
    from mcp_workbench.surface.http.exchange import HttpExchange
    from mcp_workbench.surface.http.limits import PrincipalRequests
    from mcp_workbench.surface.output import Write
    from mcp_workbench.surface.requests import Backpressure
    from mcp_workbench.surface.use_request import PlainUse
    from mcp_workbench.wire.lines import Line
    from mcp_workbench.wire.message import Id, Outgoing

EVENTS_AFTER_SECONDS: Final = 2.0
"""A response that takes longer is sent as an event, because the client can resume a stream of events."""
MAX_ENDED_STREAMS: Final = 20
"""Ended streams that are kept for a client that resumes them."""
MAX_ENDED_BYTES: Final = 64 * 1024 * 1024
"""Size of the ended streams that are kept together. The latest is kept whatever its size."""
RESUMABLE_SECONDS: Final = 300.0
"""How long an ended stream is kept for a client that resumes it."""
MAX_EVENT_DIGITS: Final = 18
"""Digits of the number in an event id that we parse."""
EVENTS_GONE: Final = (
    "Bad Request: the events after the one that Last-Event-ID names are unknown or no longer kept"
)
FIRST_VERSION_WITH_EMPTY_EVENTS: Final = LEGACY_VERSIONS[0]
"""The first protocol version that allows an event without data. Earlier clients take it for a broken
message."""


class HttpSession:
    """A legacy client over HTTP: its session, its requests in flight and its streams."""

    def __init__(
        self,
        session_id: str,
        client_session: ClientSession,
        backpressure: Backpressure,
        account: PrincipalBacklog,
        in_flight: PrincipalRequests,
    ) -> None:
        self.id = session_id
        self._in_flight = in_flight
        self.client_session = client_session
        self._account = account
        self._is_closed = False
        self.used_at = asyncio.get_running_loop().time()
        self._numbers = count(1)
        self._open: dict[Id, ResponseStream] = {}
        """The streams of the requests in flight, by request id."""
        self._standalone = ResponseStream(account, "0")
        """The stream for messages that belong to no request."""
        self._streams: dict[str, tuple[ResponseStream, float]] = {}
        """The streams that the client can resume, by name, and since when each is unread."""
        self._open_responses = 0
        self.client_connection = ClientConnection(client_session, self, backpressure)

    @property
    def is_idle(self) -> bool:
        """Whether no request is in flight and no stream is open."""
        return not (self._open or self._open_responses)

    def write(self, line: Outgoing) -> None:
        """Write a message that belongs to no request."""
        self._standalone.write(line)

    def respond(self, request_id: Id, line: Outgoing, code: int | None) -> None:
        """Write the response to a request, with the code if it is an error."""
        if (stream := self._open.pop(request_id, None)) is not None:
            self._in_flight.remove(1)
            stream.answer(request_id, line, code)
            if stream.consumer is None:
                # The response waits for a client that is away. There may be many of these.
                self.forget_old(asyncio.get_running_loop().time())

    def about(self, request_id: Id) -> Write:
        """Return a function that writes messages about a request in flight."""
        return self._open.get(request_id, self._standalone).write

    def drop(self, request_id: Id) -> None:
        """End a request without a response."""
        if (stream := self._open.pop(request_id, None)) is not None:
            self._in_flight.remove(1)
            stream.end_request(request_id)

    async def receive(
        self, exchange: HttpExchange, line: Line, request_ids: Sequence[Id], plain: PlainUse | None = None
    ) -> None:
        """Receive a message, or a batch with these requests, and respond. Raises Rejected."""
        self.used_at = self.client_session.view.used_at = asyncio.get_running_loop().time()
        if not request_ids:
            self.client_connection.receive(line)
            await exchange.answer(202)
            return
        stream = self._open_stream(request_ids)
        self.client_connection.take(line, plain)
        primes = (self.client_connection.version or "") >= FIRST_VERSION_WITH_EMPTY_EVENTS
        await self._respond(
            exchange.respond_from(stream, patience=EVENTS_AFTER_SECONDS, is_modern=False, primes=primes),
            stream,
        )

    async def initialize(self, exchange: HttpExchange, line: Line, request_id: Id) -> bool:
        """Perform the handshake and respond. Returns whether the session is initialized."""
        stream = self._open_stream([request_id])
        self.client_connection.receive(line)
        is_initialized = self.client_connection.version is not None
        headers = [(b"mcp-session-id", self.id.encode())] if is_initialized else []
        response = exchange.respond_from(stream, *headers, patience=EVENTS_AFTER_SECONDS, is_modern=False)
        await self._respond(response, stream)
        return is_initialized

    def _open_stream(self, request_ids: Sequence[Id]) -> ResponseStream:
        for request_id in request_ids:
            if request_id in self._open:
                taken = f"Invalid Request: id {request_id!r} is in use by a request in flight"
                raise Rejected(400, INVALID_REQUEST, taken)
        self._in_flight.add(len(set(request_ids)), request_ids[0])
        stream = ResponseStream(self._account, str(next(self._numbers)), request_ids)
        self._open.update(dict.fromkeys(request_ids, stream))
        self._streams[stream.name] = stream, self.used_at
        return stream

    async def listen(self, exchange: HttpExchange, last_event: str | None) -> None:
        """Send the standalone stream, or resume a stream after `last_event`. Raises Rejected."""
        stream = self._standalone if last_event is None else self._resumed_stream(last_event)
        await self._respond(exchange.send_events(stream), stream)

    def _resumed_stream(self, last_event: str) -> ResponseStream:
        name, _, number = last_event.rpartition("-")
        stream = self._standalone if name == self._standalone.name else self._streams.get(name, (None,))[0]
        if stream is None or not (
            number.isascii() and number.isdecimal() and len(number) <= MAX_EVENT_DIGITS
        ):
            # On another stream the client would wait for ever for the messages that it missed.
            raise Rejected(400, INVALID_REQUEST, EVENTS_GONE)
        if stream.has_lost(int(number)):
            raise Rejected(400, INVALID_REQUEST, EVENTS_GONE)
        stream.rewind(int(number))
        return stream

    async def _respond(self, response: Awaitable[None], stream: ResponseStream) -> None:
        self._open_responses += 1
        try:
            await response
        finally:
            self._open_responses -= 1
            self.used_at = self.client_session.view.used_at = asyncio.get_running_loop().time()
            self._keep(stream)

    def _keep(self, stream: ResponseStream) -> None:
        """Keep a stream that the client may resume: one that it knows and may not have read completely."""
        if stream.consumer is not None:
            return  # the client has resumed it already
        self._streams.pop(stream.name, None)
        if self._is_closed:
            stream.close()
        elif stream is self._standalone:
            return  # it lasts as long as the session
        elif not stream.has_begun:
            stream.close()
        else:
            self._streams[stream.name] = stream, self.used_at
            self.forget_old(self.used_at)

    def forget_old(self, now: float) -> None:
        """Drop ended streams that are too old or too many."""
        over = [
            name
            for name, (stream, left_at) in self._streams.items()
            if stream.is_over and (now - left_at > RESUMABLE_SECONDS or stream.bytes_kept > MAX_KEPT_BYTES)
        ]
        ended = [name for name, (stream, _) in self._streams.items() if stream.is_over]
        sizes = accumulate(self._streams[name][0].held_bytes for name in reversed(ended))
        kept = max(1, sum(size <= MAX_ENDED_BYTES for size in sizes))
        for name in {*over, *ended[: -min(kept, MAX_ENDED_STREAMS)]}:
            stream, _ = self._streams.pop(name)
            if stream.consumer is None:
                stream.close()

    def end_streams(self) -> None:
        """End the client's GET request for the standalone stream. The client can resume it."""
        self._standalone.detach()

    def close(self) -> None:
        """End the session. Responses that are being sent get their last messages; nothing else is kept."""
        self._is_closed = True
        self.client_connection.close()
        # It refers to us, and both would stay until the garbage collector finds them.
        del self.client_connection
        streams = {id(stream): stream for stream in [*self._open.values(), self._standalone]}
        for stream in streams.values():
            stream.end()
        self._in_flight.remove(len(self._open))
        streams |= {id(stream): stream for stream, _ in self._streams.values()}
        self._open.clear()
        self._streams.clear()
        for stream in streams.values():
            if stream.consumer is None:
                stream.close()
        self.client_session.view.close()
