"""The bare relay that everything is measured against: plain asyncio streams and orjson.

It parses each line, puts another id in, writes it out again, and does nothing else: no checks, no time-outs,
no care for servers that die. It starts its servers, all at once, when it is first asked for its tools.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, NamedTuple

import orjson

LINE_LIMIT = 128 * 1024 * 1024
LEGACY = "2025-11-25"
INFO = {"name": "relay", "version": "1.0"}

Message = dict[str, Any]


class Server(NamedTuple):
    """A server's process, and the requests it still has to answer: by our id, the client's."""

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    waiting: dict[int, Any]


class Relay:
    """One client in front, the servers behind."""

    def __init__(
        self, commands: list[list[str]], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._commands = commands
        self._reader = reader
        self._writer = writer
        self._last_id = 0
        self._tools: list[Any] = []
        self._routes: dict[str, Server] = {}
        self._returns: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Relays until the client's input ends."""
        while line := await self._reader.readline():
            message = orjson.loads(line)
            method = message.get("method")
            if method == "tools/call":
                await self._forward(message)
            elif method == "tools/list":
                await self._answer(message, {"tools": await self._list_tools()})
            elif method == "initialize":
                about = {"protocolVersion": LEGACY, "capabilities": {"tools": {}}, "serverInfo": INFO}
                await self._answer(message, about)

    async def _forward(self, message: Message) -> None:
        server = self._routes[message["params"]["name"]]
        self._last_id += 1
        server.waiting[self._last_id] = message["id"]
        message["id"] = self._last_id
        await _send(server.stdin, message)

    async def _return_answers(self, server: Server) -> None:
        while line := await server.stdout.readline():
            message = orjson.loads(line)
            message["id"] = server.waiting.pop(message["id"])
            await _send(self._writer, message)

    async def _answer(self, request: Message, result: Message) -> None:
        await _send(self._writer, {"jsonrpc": "2.0", "id": request["id"], "result": result})

    async def _list_tools(self) -> list[Any]:
        if not self._routes:
            for server, tools in await asyncio.gather(*map(_open, self._commands)):
                self._tools += tools
                self._routes.update((tool["name"], server) for tool in tools)
                self._returns.append(asyncio.create_task(self._return_answers(server)))
        return self._tools


async def _open(command: list[str]) -> tuple[Server, list[Any]]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=LINE_LIMIT)
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise RuntimeError("a process was started without its pipes")
    hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": INFO}
    await _send(stdin, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
    await stdout.readline()
    await _send(stdin, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    await _send(stdin, {"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": {}})
    listed = orjson.loads(await stdout.readline())
    return Server(stdin, stdout, {}), listed["result"]["tools"]


async def _send(writer: asyncio.StreamWriter, message: Message) -> None:
    writer.write(orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE))
    await writer.drain()


async def main(commands: list[list[str]]) -> None:
    """Relays between our own stdin and stdout and the servers."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_LIMIT)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    await Relay(commands, reader, asyncio.StreamWriter(transport, protocol, None, loop)).run()


if __name__ == "__main__":
    asyncio.run(main(orjson.loads(sys.argv[1])))
