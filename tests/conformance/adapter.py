"""A reverse proxy between the conformance suite and the workbench, which puts use_tool for tools/call.

The suite calls tools by their own names and reads resources by their own addresses; the workbench offers them
through `use_tool` and under names of its own. The adapter changes those names in requests and in lists, and
nothing else: everything else passes as the bytes that came, and at once, so that what is judged is the
workbench. One stream is cut short, as a network does it: the suite wants to see it taken up again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from functools import partial
from typing import TYPE_CHECKING

from tests.conformance.http_messages import Head, Piece, chunk, read_body, read_head
from tests.conformance.renaming import LISTS, request_for_workbench, result_for_suite

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.support.client import Json

LOST = "test_reconnection"
"""The tool whose answer breaks off after its first event, for the client to take up again."""
END_OF_EVENT = re.compile(rb"\r?\n\r?\n")


@contextlib.asynccontextmanager
async def adapter(port: int, tools: list[Json]) -> AsyncIterator[int]:
    """The port on which the workbench, which serves on another, looks like the server behind it."""
    relays: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(_Relay(port, own, tools).serve(reader, writer))
        relays.add(task)
        task.add_done_callback(relays.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    own: int = server.sockets[0].getsockname()[1]
    try:
        yield own
    finally:
        server.close()
        for task in relays:
            task.cancel()
        await asyncio.gather(*relays, return_exceptions=True)


class _Relay:
    """One connection of the suite's, and the one to the workbench that answers it."""

    def __init__(self, port: int, own_port: int, tools: list[Json]) -> None:
        self._port = port
        self._own_port = own_port
        self._tools = tools

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, onward = await asyncio.open_connection("127.0.0.1", self._port)
        # Read ahead all the time: the end of the suite's side is how it cancels a request.
        incoming = asyncio.StreamReader()
        exchanges = asyncio.create_task(self._exchange(incoming, onward, upstream, writer))
        try:
            while (data := await reader.read(65536)) and not exchanges.done():
                incoming.feed_data(data)
        except ConnectionError:
            pass
        finally:
            exchanges.cancel()
            await asyncio.gather(exchanges, return_exceptions=True)
            for end in (writer, onward):
                end.close()

    async def _exchange(
        self,
        incoming: asyncio.StreamReader,
        onward: asyncio.StreamWriter,
        upstream: asyncio.StreamReader,
        back: asyncio.StreamWriter,
    ) -> None:
        while head := await read_head(incoming):
            pieces = [piece async for piece in read_body(incoming, head, is_response=False)]
            message = read_message(pieces)
            onward.write(self._translated(head, pieces, message))
            await onward.drain()
            if not await self._answer(upstream, back, message):
                break
        back.close()

    def _translated(self, head: Head, pieces: list[Piece], message: Json) -> bytes:
        """The request as the workbench gets it."""
        head = head.changed("host", self._ported).changed("origin", self._ported)
        renamed = request_for_workbench(message)
        if renamed is None:
            return bytes(head) + b"".join(piece.framed for piece in pieces)
        if renamed.was is not None and head.get("mcp-name") == renamed.was.encode():
            head = head.changed("mcp-name", partial(_renamed, renamed.was, renamed.becomes or ""))
        body = json.dumps(renamed.message).encode()
        return bytes(head.sized(len(body))) + body

    def _ported(self, line: bytes) -> bytes:
        """With the workbench's port for our own: what names another host goes as it is."""
        own = b":%d" % self._own_port
        return line.removesuffix(own) + b":%d" % self._port if line.endswith(own) else line

    async def _answer(
        self, upstream: asyncio.StreamReader, back: asyncio.StreamWriter, request: Json
    ) -> bool:
        """Passes one answer back; whether the connection can take another request."""
        head = await read_head(upstream)
        if head is None:
            return False
        body = read_body(upstream, head, is_response=True)
        is_stream = (head.get("content-type") or b"").startswith(b"text/event-stream")
        is_list = request.get("method") in LISTS and head.status == 200
        if is_list and not is_stream:
            content = b"".join([piece.content async for piece in body])
            content = self._message(request["method"], content)
            back.write(bytes(head.sized(len(content))) + content)
        else:
            is_lost = is_stream and called(request) == LOST
            # A client that is not told would send its next request into a connection that is being closed.
            back.write(bytes(head.last() if is_lost else head))
            passing = self._relisted(body, request["method"]) if is_list else body
            async for piece in passing:
                back.write(piece.framed)
                await back.drain()
                if is_lost and END_OF_EVENT.search(piece.content):
                    back.write(chunk(b""))
                    return False
        await back.drain()
        return head.has_end and (head.get("connection") or b"").lower() != b"close"

    async def _relisted(self, body: AsyncIterator[Piece], method: str) -> AsyncIterator[Piece]:
        buffered = b""
        async for piece in body:
            *events, buffered = END_OF_EVENT.split(buffered + piece.content)
            for event in events:
                lines = event.splitlines()
                told = [
                    b"data: " + self._message(method, line[5:]) if line.startswith(b"data:") else line
                    for line in lines
                ]
                content = b"\n".join([*told, b"", b""])
                yield Piece(chunk(content), content)
        yield Piece(chunk(b""), b"")

    def _message(self, method: str, content: bytes) -> bytes:
        try:
            message = json.loads(content)
        except ValueError:
            return content
        if "result" not in message:
            return content
        result = result_for_suite(method, message["result"], self._tools)
        return json.dumps({**message, "result": result}).encode()


def read_message(pieces: list[Piece]) -> Json:
    """The message in a body; what is none goes as it is, and says nothing here."""
    try:
        message: object = json.loads(b"".join(piece.content for piece in pieces))
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def called(request: Json) -> str | None:
    """The tool that a request calls."""
    params = request.get("params")
    return params.get("name") if request.get("method") == "tools/call" and isinstance(params, dict) else None


def _renamed(was: str, becomes: str, line: bytes) -> bytes:
    name, colon, value = line.partition(b":")
    return name + colon + value.replace(was.encode(), becomes.encode())
