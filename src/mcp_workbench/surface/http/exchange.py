"""One HTTP request while it is served: what came with it, and how it is answered."""

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
from mcp_workbench.wire.message import MAX_COPIED_BYTES, error_code, error_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import Message, Receive, Scope, Send

    from mcp_workbench.surface.http.stream import ResponseStream
    from mcp_workbench.wire.message import Body, Id, Outgoing

    Header = tuple[bytes, bytes]

BODY_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of the longest message that is taken from a client."""
BODIES_LIMIT: Final = 512 * 1024 * 1024
"""Bytes of all messages together that have not come whole yet: there may be thousands of clients."""
BODY_TIME: Final = 60.0
"""Seconds in which it has to come."""
KEEP_ALIVE: Final = 15.0
"""Seconds of silence after which a sign of life is sent, for what lies between us and the client."""
UNWATCHED: Final = 0.05
"""Seconds in which it is not watched whether the client is still there. Most answers are there by then."""
COME_BACK_AFTER: Final = 1000
"""Milliseconds after which a client that has lost a stream is to take it up again."""
IN_ONE_PIECE: Final = 256 * 1024
"""Bytes up to which an answer is sent in one."""
EVENT_PIECE_BYTES: Final = 256 * 1024
"""Bytes of a long event that are sent at once: uvicorn copies them, and all of it would be there twice."""
CONNECTION: Final = "mcp_workbench.connection"
"""The key of an ASGI scope under which the connection of the request is, where there is one."""

JSON: Final = (b"content-type", b"application/json")
CLOSE: Final = (b"connection", b"close")
LATER: Final = (b"retry-after", b"5")
EVENTS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
SIGN_OF_LIFE: Final = b":\n\n"

STATUS_OF: Final = {
    **dict.fromkeys((PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS), 400),
    **dict.fromkeys((HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION), 400),
    METHOD_NOT_FOUND: 404,
}
"""As the modern era wants it for an error that is all of the answer."""


class Rejected(Denied):
    """A request that is answered with an HTTP error, and a JSON-RPC error of its own that says why."""

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
    """The connection that a request came on."""

    @property
    def is_half_closed(self) -> bool:
        """Whether the client has ended its side, and may still wait for an answer."""

    on_half_close: Callable[[], None] | None
    """Called when the client ends its side. Sending something then shows whether it is still there."""

    def trust(self) -> None:
        """Note that a request on it was authenticated, so that it is kept when others have to go."""

    async def drain(self) -> None:
        """Wait until the client has read nearly all that was written."""

    def abort(self) -> None:
        """Close it at once, and drop what the client has not read."""


class NoSocket:
    """Stands in for the connection where requests come without one."""

    is_half_closed = False
    on_half_close: Callable[[], None] | None = None

    def trust(self) -> None:
        """Do nothing: there is no connection to keep."""

    async def drain(self) -> None:
        """Return at once: nothing is buffered."""

    def abort(self) -> None:
        """Do nothing: there is no connection to close."""


NO_CONNECTION: Final = NoSocket()


class IncompleteBodies:
    """The messages that have not come whole yet, of all clients."""

    def __init__(self) -> None:
        self.bytes = 0

    def add(self, size: int) -> None:
        """More of one has come. Raises Rejected if it is too much to keep."""
        self.bytes += size
        if self.bytes > BODIES_LIMIT:
            much = f"more than {BODIES_LIMIT // 2**20} MiB are being sent here at once. Send this again later"
            raise Rejected(503, INTERNAL_ERROR, much, LATER)

    def remove(self, size: int) -> None:
        """One is there, or given up."""
        self.bytes -= size


class HttpExchange:
    """A request of a client's, and the way back."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._has_begun = False
        self._watch: asyncio.Task[None] | None = None
        self.connection: ClientSocket = scope.get(CONNECTION, NO_CONNECTION)
        self.peer: str = (scope.get("client") or ("",))[0]
        """The address of the other side, as far as it is known."""
        self.method: str = scope["method"]
        self.pairs: list[Header] = scope["headers"]
        self.headers = dict(self.pairs)
        self.is_gone = False
        """Whether the client is known to have left."""

    def text(self, name: bytes) -> str | None:
        """The value of a header. The space around it is no part of it, and is left to us."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1").strip(" \t")

    async def body(self, incoming: IncompleteBodies) -> bytes:
        """All that came with it. Raises Rejected if that is too much, or takes too long."""
        length = self.headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > BODY_LIMIT:
            raise _too_large()
        # Nearly always all of it. There is never a wait for this: the connection has it ready, be it empty.
        message = await self._receive()
        if not message.get("more_body", False):
            body: bytes = message.get("body", b"")
            return body
        try:
            async with asyncio.timeout(BODY_TIME):
                return await self._whole_body(message, incoming)
        except TimeoutError:
            late = f"the request was not there whole within {BODY_TIME:g} s"
            raise Rejected(408, INVALID_REQUEST, late, CLOSE) from None

    async def _whole_body(self, message: Message, incoming: IncompleteBodies) -> bytes:
        parts: list[bytes] = []
        size = 0
        try:
            while message.get("type") == "http.request":
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                incoming.add(len(parts[-1]))
                if size > BODY_LIMIT:
                    raise _too_large()
                if not message.get("more_body", False):
                    return b"".join(parts)
                message = await self._receive()
        finally:
            incoming.remove(size)
        # A part of a request may look like a whole one, but the client did not finish it.
        raise Rejected(400, INVALID_REQUEST, "the connection ended within the request", CLOSE)

    async def answer(self, status: int, *headers: Header, body: Outgoing = b"") -> None:
        """Answers in one go, unless an answer has begun."""
        if self._has_begun:
            return
        size = len(body) if isinstance(body, bytes) else sum(map(len, body))
        # A response without content must not say that it is empty.
        length = () if status == 204 else ((b"content-length", b"%d" % size),)
        self._has_begun = True
        await self._send({"type": "http.response.start", "status": status, "headers": [*headers, *length]})
        if isinstance(body, list) and size > IN_ONE_PIECE:
            for piece in _pieces(body):
                await self._send({"type": "http.response.body", "body": piece, "more_body": True})
            body = b""
        whole = body if isinstance(body, bytes) else b"".join(body)
        await self._send({"type": "http.response.body", "body": whole})
        if size > SMALL_BYTES:
            # What the connection still has of it is in the memory, and has to count for as long.
            await self.connection.drain()

    async def refuse(self, denied: Denied) -> None:
        """Answers with an error."""
        known = denied.line if isinstance(denied, Rejected) else None
        line = known or error_line(None, INVALID_REQUEST, denied.reason)
        await self.answer(denied.status, JSON, *denied.headers, body=line)

    async def answer_from(
        self, stream: ResponseStream, *headers: Header, patience: float, is_modern: bool, primes: bool = False
    ) -> None:
        """Answers with what is said on a stream: as JSON if that is the answer alone and comes soon, else as
        events while they come.
        """
        stream.follower = self
        try:
            if not await stream.wait(UNWATCHED):
                self._begin_to_watch(stream)
                if not self.connection.is_half_closed:
                    await stream.wait(patience)
            if (answer := stream.only_answer) is not None:
                code = error_code(answer) if is_modern else None
                status = 200 if code is None else STATUS_OF.get(code, 200)
                await self.answer(status, JSON, *headers, body=answer)
            elif not self.is_gone:
                await self.follow(stream, *headers, primes=primes)
        finally:
            self._end_of_watch()
            if stream.follower is self:
                stream.follower = None

    async def follow(self, stream: ResponseStream, *headers: Header, primes: bool = False) -> None:
        """Sends what is said on a stream as events, until all is said, or the client leaves, or it comes back
        to the same stream by another request.
        """
        stream.wake()  # whoever has followed it until now
        stream.follower = self
        self._begin_to_watch(stream)
        try:
            self._has_begun = True
            await self._send({"type": "http.response.start", "status": 200, "headers": [*EVENTS, *headers]})
            if primes:
                stream.has_begun = True
                beginning = (stream.position.encode(), COME_BACK_AFTER)
                await self._send_part(b"id: %b\nretry: %d\ndata: \n\n" % beginning)
            while stream.follower is self:
                if (message := stream.next()) is not None:
                    await self._send_event(*message)
                elif stream.is_over:
                    break
                elif not await stream.wait(KEEP_ALIVE):
                    await self._send_part(SIGN_OF_LIFE)
            await self._send({"type": "http.response.body", "body": b""})
        finally:
            self._end_of_watch()
            if stream.follower is self:
                stream.follower = None

    def cut_off(self) -> None:
        """Close the connection: the client reads too slowly for all that waits."""
        self.connection.abort()

    async def _send_event(self, position: str, line: Outgoing) -> None:
        """Send a message as a server-sent event. Its own newline is the end of the data."""
        known_as = b"id: %b\n" % position.encode() if position else b""
        head = b"%bevent: message\ndata: " % known_as
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

    def _begin_to_watch(self, stream: ResponseStream) -> None:
        if self._watch is None:
            self._watch = asyncio.create_task(self._watch_client(stream))
            # Events begin then, or a sign of life is sent: a client that is gone resets the connection.
            self.connection.on_half_close = stream.wake

    def _end_of_watch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
            self.connection.on_half_close = None

    async def _watch_client(self, stream: ResponseStream) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.is_gone = True
        stream.leave(self)


def _pieces(parts: list[Body]) -> Iterator[bytes | memoryview]:
    """What is long by itself, as it is, and what is short before or after it together."""
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
    """The same without carriage returns: spaces in a JSON text, but in an event each would end the line."""
    return bytes(data).replace(b"\r", b" ") if re.search(b"\r", data) else data


def _too_large() -> Rejected:
    # The connection stays: if it were closed while more is coming, the client would not see why.
    return Rejected(413, INVALID_REQUEST, f"the request is larger than {BODY_LIMIT // 2**20} MiB")
