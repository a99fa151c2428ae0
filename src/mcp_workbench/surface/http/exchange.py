"""One HTTP request while it is served: reads its body and writes its response."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from mcp_workbench.errors import Denied
from mcp_workbench.protocol.names import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
)
from mcp_workbench.surface.http.backlog import SMALL_BYTES
from mcp_workbench.wire.message import MAX_COPIED_BYTES, error_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import Message, Receive, Scope, Send

    from mcp_workbench.surface.http.stream import ResponseStream
    from mcp_workbench.wire.message import Body, Id, Outgoing

    Header = tuple[bytes, bytes]

MAX_BODY_BYTES: Final = 64 * 1024 * 1024
"""Size of the longest message that a client may send."""
MAX_INCOMPLETE_BYTES: Final = 512 * 1024 * 1024
"""Size of all incomplete bodies together: there may be thousands of clients."""
BODY_TIMEOUT_SECONDS: Final = 60.0
"""Time in which the body of a request has to arrive."""
KEEP_ALIVE_SECONDS: Final = 15.0
"""Silence after which a comment is sent, to keep proxies from closing the connection."""
UNWATCHED_SECONDS: Final = 0.05
"""Time in which we do not watch for a disconnect. Most responses are ready by then."""
RECONNECT_MILLISECONDS: Final = 1000
"""Time after which a client that lost a stream should reconnect."""
ONE_PIECE_BYTES: Final = 256 * 1024
"""Up to this size a response is sent in one piece."""
EVENT_PIECE_BYTES: Final = 256 * 1024
"""How much of a long event is sent at once: uvicorn copies each piece, and a whole copy would double the
memory."""
CONNECTION: Final = "mcp_workbench.connection"
"""The key in an ASGI scope of the connection of the request, if it has one."""

JSON: Final = (b"content-type", b"application/json")
CLOSE: Final = (b"connection", b"close")
RETRY_LATER: Final = (b"retry-after", b"5")
EVENTS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
KEEP_ALIVE_COMMENT: Final = b":\n\n"

STATUS_BY_CODE: Final = {
    **dict.fromkeys((PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS), 400),
    **dict.fromkeys((HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION), 400),
    METHOD_NOT_FOUND: 404,
}
"""The HTTP status that the modern protocol requires for a JSON-RPC error that is the whole response."""


class Rejected(Denied):
    """A request that is answered with an HTTP error whose body is a JSON-RPC error that says why."""

    def __init__(
        self,
        status: int,
        code: int,
        message: str,
        *headers: Header,
        request_id: Id | None = None,
        data: object = msgspec.UNSET,
    ) -> None:
        super().__init__(status, message, headers)
        self.line = error_line(request_id, code, message, data)


class ClientSocket(Protocol):
    """The connection on which a request arrived."""

    @property
    def is_half_closed(self) -> bool:
        """Whether the client has closed its sending side; it may still wait for a response."""

    on_half_close: Callable[[], None] | None
    """Called when the client closes its sending side. Sending something then shows whether it still reads."""

    @property
    def is_lost(self) -> bool:
        """Whether the connection is closed, so that what was written last may not have arrived."""

    def trust(self) -> None:
        """Note that a request was authenticated, so that the connection is kept when others are closed."""

    async def drain(self) -> None:
        """Wait until the client has read nearly all that was written."""

    def abort(self) -> None:
        """Close the connection at once, and drop what the client has not read."""


class NoSocket:
    """Replaces the connection for requests that have none, as in tests."""

    is_half_closed = False
    is_lost = False
    on_half_close: Callable[[], None] | None = None

    def trust(self) -> None:
        """Do nothing: there is no connection to keep."""

    async def drain(self) -> None:
        """Return at once: nothing is buffered."""

    def abort(self) -> None:
        """Do nothing: there is no connection to close."""


NO_CONNECTION: Final = NoSocket()


class IncompleteBodies:
    """Counts the bytes of all bodies that are not complete yet, of all clients."""

    def __init__(self) -> None:
        self.bytes = 0

    def add(self, size: int) -> None:
        """Count a part of a body. Raises Rejected if all of them are too much."""
        self.bytes += size
        if self.bytes > MAX_INCOMPLETE_BYTES:
            limit = MAX_INCOMPLETE_BYTES // 2**20
            reason = f"more than {limit} MiB are being sent here at once. Send this again later"
            raise Rejected(503, INTERNAL_ERROR, reason, RETRY_LATER)

    def remove(self, size: int) -> None:
        """Stop counting a body that is complete or given up."""
        self.bytes -= size


class HttpExchange:
    """An HTTP request of a client, and its response."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._has_begun = False
        self._watch: asyncio.Task[None] | None = None
        self.connection: ClientSocket = scope.get(CONNECTION, NO_CONNECTION)
        self.peer: str = (scope.get("client") or ("",))[0]
        """The client's address, as far as it is known."""
        self.method: str = scope["method"]
        self.pairs: list[Header] = scope["headers"]
        self.headers = dict(self.pairs)
        self.is_gone = False
        """Whether the client is known to have disconnected."""

    def text(self, name: bytes) -> str | None:
        """Return the value of a header without the space around it; the HTTP parser leaves that to us."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1").strip(" \t")

    async def body(self, incoming: IncompleteBodies) -> bytes:
        """Read the whole body. Raises Rejected if it is too long or takes too long."""
        length = self.headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > MAX_BODY_BYTES:
            raise _too_large()
        # Nearly always the whole body. Never waits: a first part is ready, perhaps an empty one.
        message = await self._receive()
        if not message.get("more_body", False):
            body: bytes = message.get("body", b"")
            return body
        try:
            async with asyncio.timeout(BODY_TIMEOUT_SECONDS):
                return await self._whole_body(message, incoming)
        except TimeoutError:
            late = f"the request did not arrive in full within {BODY_TIMEOUT_SECONDS:g} s"
            raise Rejected(408, INVALID_REQUEST, late, CLOSE) from None

    async def _whole_body(self, message: Message, incoming: IncompleteBodies) -> bytes:
        parts: list[bytes] = []
        size = 0
        try:
            while message.get("type") == "http.request":
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                incoming.add(len(parts[-1]))
                if size > MAX_BODY_BYTES:
                    raise _too_large()
                if not message.get("more_body", False):
                    return b"".join(parts)
                message = await self._receive()
        finally:
            incoming.remove(size)
        # A part of a request may look like a whole one, but the client did not finish it.
        raise Rejected(400, INVALID_REQUEST, "the connection ended before the request was complete", CLOSE)

    async def answer(self, status: int, *headers: Header, body: Outgoing = b"") -> None:
        """Send a complete response, unless a response has begun."""
        if self._has_begun:
            return
        size = len(body) if isinstance(body, bytes) else sum(map(len, body))
        # A response without content must not say that it is empty.
        length = () if status == 204 else ((b"content-length", b"%d" % size),)
        self._has_begun = True
        await self._send({"type": "http.response.start", "status": status, "headers": [*headers, *length]})
        if isinstance(body, list) and size > ONE_PIECE_BYTES:
            for piece in _pieces(body):
                await self._send({"type": "http.response.body", "body": piece, "more_body": True})
            body = b""
        whole = body if isinstance(body, bytes) else b"".join(body)
        await self._send({"type": "http.response.body", "body": whole})
        if size > SMALL_BYTES:
            # The part that the connection still buffers uses memory, and has to count until it is sent.
            await self.connection.drain()

    async def refuse(self, denied: Denied) -> None:
        """Send an error response with a JSON-RPC error."""
        known = denied.line if isinstance(denied, Rejected) else None
        line = known or error_line(None, INVALID_REQUEST, denied.reason)
        await self.answer(denied.status, JSON, *denied.headers, body=line)

    async def respond_from(
        self, stream: ResponseStream, *headers: Header, patience: float, is_modern: bool, primes: bool = False
    ) -> None:
        """Send a stream: as JSON if a single response is ready soon, else as events."""
        stream.consumer = self
        try:
            if not await stream.wait(UNWATCHED_SECONDS):
                self._start_watching(stream)
                if not self.connection.is_half_closed:
                    await stream.wait(patience)
            if (answer := stream.only_answer) is not None:
                code = stream.error_code if is_modern else None
                status = 200 if code is None else STATUS_BY_CODE.get(code, 200)
                await self.answer(status, JSON, *headers, body=answer)
            elif not self.is_gone:
                await self.send_events(stream, *headers, primes=primes)
        finally:
            self._stop_watching()
            if stream.consumer is self:
                stream.consumer = None

    async def send_events(self, stream: ResponseStream, *headers: Header, primes: bool = False) -> None:
        """Send the messages of a stream as events.

        Returns when the stream ends, the client disconnects, or it resumes the stream with another request.
        """
        stream.wake()  # an earlier exchange that sends this stream
        stream.consumer = self
        self._start_watching(stream)
        try:
            self._has_begun = True
            await self._send({"type": "http.response.start", "status": 200, "headers": [*EVENTS, *headers]})
            if primes:
                stream.has_begun = True
                beginning = (stream.position.encode(), RECONNECT_MILLISECONDS)
                await self._send_part(b"id: %b\nretry: %d\ndata: \n\n" % beginning)
            while stream.consumer is self:
                if (message := stream.next()) is not None:
                    await self._send_event(*message)
                    if self.connection.is_lost:
                        if stream.consumer in (self, None):  # else the client has resumed it already
                            stream.take_back()
                        break
                elif stream.is_over:
                    break
                elif not await stream.wait(KEEP_ALIVE_SECONDS):
                    await self._send_part(KEEP_ALIVE_COMMENT)
            await self._send({"type": "http.response.body", "body": b""})
        finally:
            self._stop_watching()
            if stream.consumer is self:
                stream.consumer = None

    def disconnect(self) -> None:
        """Close the connection, because the client reads too slowly."""
        self.connection.abort()

    async def _send_event(self, position: str, line: Outgoing) -> None:
        """Send a message as a server-sent event. The message's own newline ends the data line."""
        event_id = b"id: %b\n" % position.encode() if position else b""
        head = b"%bevent: message\ndata: " % event_id
        if isinstance(line, bytes):
            await self._send_part(b"".join((head, _without_returns(line), b"\n")))
            return
        await self._send_part(head)
        for part in _pieces(line):
            data = memoryview(_without_returns(part))
            for start in range(0, len(data), EVENT_PIECE_BYTES):
                await self._send_part(data[start : start + EVENT_PIECE_BYTES])
        await self._send_part(b"\n")
        await self.connection.drain()

    async def _send_part(self, part: bytes | memoryview) -> None:
        await self._send({"type": "http.response.body", "body": part, "more_body": True})

    def _start_watching(self, stream: ResponseStream) -> None:
        if self._watch is None:
            self._watch = asyncio.create_task(self._watch_client(stream))
            # Something is sent then; if the client is gone, that resets the connection.
            self.connection.on_half_close = stream.wake

    def _stop_watching(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
            self.connection.on_half_close = None

    async def _watch_client(self, stream: ResponseStream) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.is_gone = True
        stream.detach(self)


def _pieces(parts: list[Body]) -> Iterator[bytes | memoryview]:
    """Return long parts as they are, and the short ones between them joined."""
    short: list[Body] = []
    for part in parts:
        if len(part) <= MAX_COPIED_BYTES:
            short.append(part)
            continue
        if short:
            yield b"".join(short)
            short = []
        yield memoryview(part)
    if short:
        yield b"".join(short)


def _without_returns(data: bytes | memoryview) -> bytes | memoryview:
    """Replace carriage returns by spaces: JSON allows both, but in an event a return would end the line."""
    return bytes(data).replace(b"\r", b" ") if re.search(b"\r", data) else data


def _too_large() -> Rejected:
    # The connection stays open: closing it while the client sends could lose this response.
    return Rejected(413, INVALID_REQUEST, f"the request is larger than {MAX_BODY_BYTES // 2**20} MiB")
