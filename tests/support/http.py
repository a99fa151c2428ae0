"""HTTP by hand: one connection whose every byte is the test's, and what comes back on it.

It knows HTTP/1.1 and server-sent events as far as the workbench speaks them, and nothing of MCP. Every wait
is bounded.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import TracebackType
    from typing import Self

    Json = dict[str, Any]

BOTH = "application/json, text/event-stream"
LONGEST_HEAD = 1024 * 1024


@dataclass(frozen=True)
class Event:
    """One server-sent event, or a comment between two of them."""

    data: str
    id: str | None = None
    kind: str | None = None
    is_comment: bool = False

    @property
    def message(self) -> Json:
        message: Json = json.loads(self.data)
        return message


class Response:
    """An answer whose body may still be under way."""

    def __init__(self, status: int, headers: list[tuple[str, str]], wire: Wire) -> None:
        self.status = status
        self.pairs = headers
        self.headers = dict(headers)
        self.wire = wire
        self._reader = wire.reader
        self._events = self._read_events()

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        if self.headers.get("transfer-encoding") == "chunked":
            while size := int(await self._reader.readline(), 16):
                yield (await self._reader.readexactly(size + 2))[:-2]
            await self._reader.readline()
        elif self.status not in (204, 304):
            yield await self._reader.readexactly(int(self.headers["content-length"]))

    async def body(self) -> bytes:
        async with asyncio.timeout(PATIENCE):
            return b"".join([piece async for piece in self.pieces()])

    async def json(self) -> Json:
        """The one message that the body is."""
        assert self.headers["content-type"] == "application/json", self.headers
        message: Json = json.loads(await self.body())
        return message

    async def next_event(self) -> Event:
        """The next one that says something."""
        async with asyncio.timeout(PATIENCE):
            while (event := await anext(self._events)).is_comment:
                pass
            return event

    async def next_message(self) -> Json:
        while not (event := await self.next_event()).data:
            pass
        return event.message

    async def messages(self) -> list[Json]:
        """All that are still to come until the end, or the one that the body is."""
        if not self.is_stream:
            return [await self.json()]
        return [event.message for event in await self.events() if event.data]

    async def events(self) -> list[Event]:
        """The rest of them, comments left out, until the end of the body."""
        async with asyncio.timeout(PATIENCE):
            return [event async for event in self._events if not event.is_comment]

    def all_events(self) -> AsyncIterator[Event]:
        """Comments too."""
        return self._events

    async def _read_events(self) -> AsyncIterator[Event]:
        assert self.is_stream, self.headers
        rest = b""
        async for piece in self.pieces():
            rest += piece
            # Any of the three ends a line, as the standard has it: a stray one must show.
            *whole, rest = rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n")
            for event in whole:
                yield _read_event(event.decode())


def _read_event(text: str) -> Event:
    fields: dict[str, str] = {}
    lines = text.split("\n")
    for line in lines:
        name, _, value = line.partition(":")
        assert name in ("", "id", "event", "data", "retry"), f"no field of an event: {line!r}"
        assert name not in fields, f"twice in one event: {text!r}"
        fields[name] = value.removeprefix(" ")
    return Event(fields.get("data", ""), fields.get("id"), fields.get("event"), is_comment="" in fields)


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self.reader = reader
        self.writer = writer
        self.host = host

    @classmethod
    async def open(cls, url: str) -> Self:
        place = urlsplit(url)
        async with asyncio.timeout(PATIENCE):
            both = await asyncio.open_connection(place.hostname, place.port, limit=LONGEST_HEAD)
        return cls(*both, place.netloc)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut()

    def cut(self) -> None:
        """Ends it without a word, whatever is still under way."""
        self.writer.transport.abort()

    async def send_raw(self, data: bytes) -> None:
        self.writer.write(data)
        async with asyncio.timeout(PATIENCE):
            await self.writer.drain()

    async def send(
        self,
        method: str,
        headers: dict[str, str] | list[tuple[str, str]] | None = None,
        body: bytes | None = None,
        path: str = "/mcp",
    ) -> None:
        """One request, with the length of its body."""
        pairs: list[tuple[str, str]] = list(headers.items() if isinstance(headers, dict) else headers or [])
        if body is not None:
            pairs.append(("Content-Length", str(len(body))))
        await self.send_raw(head(method, path, [("Host", self.host), *pairs]) + (body or b""))

    async def response(self, within: float = PATIENCE) -> Response:
        """The next one that begins."""
        async with asyncio.timeout(within):
            status_line, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = [(name.lower(), value.strip()) for name, _, value in (it.partition(":") for it in lines[:-2])]
        return Response(int(status_line.split()[1]), pairs, self)

    async def ask(
        self,
        method: str,
        headers: dict[str, str] | list[tuple[str, str]] | None = None,
        body: bytes | None = None,
        path: str = "/mcp",
    ) -> Response:
        await self.send(method, headers, body, path)
        return await self.response()

    async def end(self, within: float = PATIENCE) -> bytes:
        """What else comes before the other side ends the connection, which it has to do."""
        async with asyncio.timeout(within):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""


def head(method: str, path: str, pairs: list[tuple[str, str]]) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in pairs), "", ""]
    return "\r\n".join(lines).encode("latin-1")
