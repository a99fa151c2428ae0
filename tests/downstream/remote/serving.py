"""An HTTP server that does what a test says, down to the byte, and remembers all that it was asked."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable

    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.downstream.server import Server
    from tests.support.client import Json

    Handler = Callable[["Asked", "Reply"], Awaitable[None]]

MODERN: Final = "2026-07-28"
ECHO: Final[Json] = {"name": "echo", "inputSchema": {"type": "object"}}
SESSION: Final = "session-1"


@dataclass(frozen=True)
class Asked:
    """One HTTP request that the server got."""

    connection: int
    """The number of the connection that it came on."""
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> Json:
        message: Json = json.loads(self.body)
        return message

    @property
    def id(self) -> object:
        return self.message.get("id")

    @property
    def calls(self) -> str:
        """The method of the message in it."""
        return str(self.message.get("method", "")) if self.body else ""


@dataclass
class Reply:
    """What the server says to it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    is_closing: bool = False

    async def raw(self, *parts: bytes) -> None:
        for part in parts:
            self.writer.write(part)
            await self.writer.drain()

    async def status(self, status: int, body: bytes = b"", **headers: str) -> None:
        """A whole answer; in the names of headers, underscores stand for hyphens."""
        given = {"content_length": str(len(body)), **headers}
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in given.items())
        await self.raw(f"HTTP/1.1 {status} Said\r\n{lines}\r\n".encode() + body)

    async def json(self, text: str | bytes | Json, status: int = 200, **headers: str) -> None:
        text = json.dumps(text) if isinstance(text, dict) else text
        body = text.encode() if isinstance(text, str) else text
        await self.status(status, body, **{"content_type": "application/json", **headers})

    async def result(self, asked: Asked, result: Json, session: str = "") -> None:
        answer = {"jsonrpc": "2.0", "id": asked.id, "result": result}
        await (self.json(answer, mcp_session_id=session) if session else self.json(answer))

    async def events(self, *events: str, status: int = 200, ends: bool = True, **headers: str) -> None:
        """A stream of events, each given as its lines; it goes on unless it ends here."""
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {status} Said\r\nContent-Type: text/event-stream\r\n{lines}"
        await self.raw(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        for event in events:
            await self.event(event)
        if ends:
            await self.raw(b"0\r\n\r\n")

    async def event(self, event: str) -> None:
        data = f"{event}\n\n".encode()
        await self.raw(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def gone(self) -> None:
        """Wait until the client has closed its connection."""
        await self.reader.read()
        self.is_closing = True

    def hang_up(self) -> None:
        """Closes the connection, in good order as far as TCP goes."""
        self.is_closing = True


@dataclass
class HttpServer:
    """Answers each request by `handler`."""

    handler: Handler
    tls: ssl.SSLContext | None = None
    asked: list[Asked] = field(default_factory=list)
    port: int = 0
    before_reading: Callable[[], Awaitable[object]] | None = None
    """Awaited before the body of a request is read."""
    _listener: asyncio.Server | None = None
    _talks: set[asyncio.Task[None]] = field(default_factory=set)
    _connections: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _open: dict[int, asyncio.StreamWriter] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    @property
    def open_connections(self) -> int:
        return len(self._open)

    def drop_connections(self) -> None:
        """Closes all of them, as a server does with those that are idle for long."""
        for writer in self._open.values():
            writer.close()

    def is_connected(self, connection: int) -> bool:
        return connection in self._open

    def calls(self, method: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.calls == method]

    async def wait_for(self, condition: Callable[[HttpServer], object]) -> None:
        """Until what was asked, or who is connected, is so."""
        async with asyncio.timeout(PATIENCE):
            while not condition(self):
                self._news.clear()
                await self._news.wait()

    async def come_back(self) -> None:
        """Listens, where it did before if it did."""

        def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._talks.add(asyncio.create_task(self.converse(reader, writer)))

        self._listener = await asyncio.start_server(
            on_connection, "127.0.0.1", self.port, ssl=self.tls, reuse_address=True, limit=2**20
        )
        self.port = self._listener.sockets[0].getsockname()[1]

    async def go_away(self) -> None:
        """Listens no more, and closes all connections."""
        if self._listener is not None:
            self._listener.close()
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)
        for writer in self._open.values():
            writer.close()
        self._open.clear()

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        number = self._connections
        self._open[number] = writer
        reply = Reply(reader, writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while not reply.is_closing and (line := await reader.readline()):
                asked = await self._read(number, line, reader)
                self.asked.append(asked)
                self._news.set()
                await self.handler(asked, reply)
        self._open.pop(number, None)
        self._news.set()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def _read(self, number: int, line: bytes, reader: asyncio.StreamReader) -> Asked:
        method, path, _ = line.decode().split(" ")
        headers = {}
        while (line := await reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        if self.before_reading is not None:
            await self.before_reading()
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        return Asked(number, method, path, headers, body)


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[HttpServer]:
    """Run a server on this machine for the length of the block."""
    it = HttpServer(handler, tls)
    await it.come_back()
    try:
        yield it
    finally:
        await it.go_away()


async def discovered(asked: Asked, reply: Reply, tools: list[Json] | None = None, **has: Any) -> bool:
    """Answers as a modern server what it takes to be up; whether there was anything of the kind to answer."""
    if asked.method != "POST":
        await reply.status(405)
    elif asked.calls == "server/discover":
        capabilities = {"tools": {}, **has}
        versions = {"supportedVersions": [MODERN], "resultType": "complete"}
        await reply.result(asked, {"capabilities": capabilities, **versions})
    elif asked.calls == "tools/list":
        await reply.result(asked, {"tools": [ECHO] if tools is None else tools, "resultType": "complete"})
    else:
        return False
    return True


async def initialized(asked: Asked, reply: Reply, session: str = SESSION, **has: Any) -> bool:
    """Answer like a legacy server with sessions that sends nothing on its own stream."""
    if asked.method == "DELETE":
        await reply.status(200)
    elif asked.method != "POST":
        await reply.status(405)
    elif asked.calls == "server/discover":
        await reply.status(400)
    elif asked.calls == "initialize":
        agreed = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, **has}}
        await reply.result(asked, {**agreed, "serverInfo": {"name": "x", "version": "1"}}, session)
    elif asked.calls == "tools/list":
        await reply.result(asked, {"tools": [ECHO]})
    elif asked.calls == "ping":
        await reply.result(asked, {})
    elif asked.calls.startswith("notifications/") or "result" in asked.message:
        await reply.status(202)
    else:
        return False
    return True


def text(said: str) -> Json:
    """Return the text in the result of a call."""
    return {"content": [{"type": "text", "text": said}]}


async def ready(it: Server) -> Session:
    """The conversation with a server, once it is up."""
    await it.connect(modern=True)
    assert it.up
    return it.up[0].session
