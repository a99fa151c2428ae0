"""HTTP messages to and from one server, for both transports: backpressure, and delivery to the connection."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.downstream.remote.outcomes import HttpRefusal
from mcp_workbench.errors import TooLong, WireError
from mcp_workbench.wire.lines import LineSplitter
from mcp_workbench.wire.message import encode
from mcp_workbench.wire.writer import FULL_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx2

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.downstream.connection import Connection
    from mcp_workbench.downstream.remote.client import HttpClient, HttpResponse
    from mcp_workbench.downstream.remote.events import Event, EventParser
    from mcp_workbench.downstream.remote.headers import Headers
    from mcp_workbench.wire.lines import Line
    from mcp_workbench.wire.message import Id, Message

EVENTS: Final = "text/event-stream"
ACCEPT: Final = (b"Accept", b"application/json, text/event-stream")
ACCEPT_EVENTS: Final = (b"Accept", EVENTS.encode())
JSON: Final = (b"Content-Type", b"application/json")

DRAIN_SECONDS: Final = 1.0
"""Seconds to read the rest of a body that is not needed."""
ERROR_BODY_BYTES: Final = 64 * 1024
"""Bytes of the body of an error response that are read."""


class HttpFlow:
    """Sends requests and delivers what the server sends, with backpressure in both directions."""

    def __init__(self, client: HttpClient, connection: Connection, config: ServerConfig) -> None:
        self.client = client
        self.connection = connection
        self.limit = config.message_limit
        in_url = "the password in `url`" if client.url.userinfo else ""
        self._credentials = "the token in `headers`" if config.has_authorization else in_url
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._is_full = False
        self.waiting = 0
        """Number of bytes of requests that are not sent yet."""

    def pause(self) -> None:
        """Stop reading responses, so that the server has to wait."""
        self._may_read.clear()

    def resume(self) -> None:
        """Read responses again after a pause."""
        self._may_read.set()

    @asynccontextmanager
    async def post(
        self, headers: Headers, body: bytes, url: httpx2.URL | None = None
    ) -> AsyncIterator[HttpResponse]:
        """Send a body, and yield the response as soon as its headers are there. Raises WireError."""
        unsent = [len(body)]
        self._count(len(body))

        def on_sent() -> None:
            if unsent:
                self._count(-unsent.pop())

        try:
            stream = self.client.stream("POST", [JSON, *headers], body, url=url, on_sent=on_sent)
            async with stream as response:
                on_sent()
                yield response
        finally:
            on_sent()

    def _count(self, size: int) -> None:
        self.waiting += size
        if self._is_full != (self.waiting > (0 if self._is_full else FULL_BYTES)):
            self._is_full = not self._is_full
            self.connection.on_full(self._is_full)

    async def read(self, response: HttpResponse) -> Line:
        """Return a body that is one message, as a line. Raises WireError."""
        # A newline between JSON tokens means the same as a space.
        splitter = LineSplitter(self._on_overlong, self.limit)
        while chunk := await self._chunk(response):
            splitter.feed(chunk.replace(b"\n", b" ").replace(b"\r", b" "))
        return splitter.finish() or b""

    def _on_overlong(self, edges: bytes, *, is_over: bool) -> None:  # noqa: ARG002 - OnOverlong
        raise TooLong(self.limit)

    async def events(self, response: HttpResponse, parser: EventParser) -> list[Event] | None:
        """Return the next events of a body, which may be none yet; None at its end. Raises WireError."""
        chunk = await self._chunk(response)
        return [*parser.feed(chunk)] if chunk else None

    async def _chunk(self, response: HttpResponse) -> bytes:
        if not self._may_read.is_set():
            await self._may_read.wait()
        return await response.chunk()

    async def refusal(
        self, message: Message | None, response: HttpResponse, *, has_session: bool
    ) -> HttpRefusal:
        """Return the details of a response whose status is not a success. Raises WireError."""
        body = b""
        while len(body) < ERROR_BODY_BYTES and (chunk := await response.chunk()):
            body += chunk
        return HttpRefusal(
            response.status,
            response.headers,
            response.content_type,
            body[:ERROR_BODY_BYTES],
            response.redirect,
            b"" if message is None or not is_request(message) else encode(message.id),
            has_session,
            self._credentials,
        )

    def receive(self, line: Line, about: Id | None = None) -> None:
        """Deliver a message that arrived on the stream of the request `about`, or on no request's stream."""
        attribution = self.connection.session.attribution
        attribution.certain = about
        try:
            self.connection.receive(line)
        finally:
            attribution.certain = None

    def is_awaited(self, message: Message) -> bool:
        """Whether the request still waits for its response."""
        return self.connection.session.peer.find(id_of(message)) is not None

    def has_time(self, message: Message, wait: float) -> bool:
        """Whether the request can still be answered after that many seconds."""
        request = self.connection.session.peer.find(id_of(message))
        return request is None or asyncio.get_running_loop().time() + wait < request.end


def is_request(message: Message) -> bool:
    """Whether a message is a request."""
    return message.method is not None and message.id is not msgspec.UNSET


def id_of(message: Message) -> Id | None:
    """Return the id of a message, if it has one."""
    return None if message.id is msgspec.UNSET else message.id


async def drain(response: HttpResponse) -> None:
    """Read the rest of a response that is not needed, so that its connection can be used again."""
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            while await response.chunk():
                pass
    except (TimeoutError, WireError):
        return
