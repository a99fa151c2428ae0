"""A relay with little work per call: uvloop, protocols in place of streams, and bodies passed on unparsed.

msgspec reads the envelope of a line and leaves what is in it alone, so only ids are made anew. Like the
bare relay it checks nothing, and starts its servers, all at once, when it is first asked for its tools.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import uvloop

if TYPE_CHECKING:
    from collections.abc import Callable

LEGACY = b"2025-11-25"
INFO = b'{"name":"lean-relay","version":"1.0"}'
ABOUT = b'{"protocolVersion":"%b","capabilities":{"tools":{}},"serverInfo":%b}' % (LEGACY, INFO)
HELLO = b'{"protocolVersion":"%b","capabilities":{},"clientInfo":%b}' % (LEGACY, INFO)
SMALL = 64 * 1024
"""Up to this size a message is cheaper joined than written in pieces."""


class Envelope(msgspec.Struct):
    """A line, with what it carries left as bytes."""

    id: msgspec.Raw = msgspec.Raw()
    method: str = ""
    params: msgspec.Raw = msgspec.Raw()
    result: msgspec.Raw = msgspec.Raw()


class Params(msgspec.Struct):
    """Of a call: where it goes."""

    name: str


class ToolName(msgspec.Struct):
    """Of a tool in a list: what it is called."""

    name: str


decode = msgspec.json.Decoder(Envelope).decode
decode_params = msgspec.json.Decoder(Params).decode
decode_tools = msgspec.json.Decoder(dict[str, list[msgspec.Raw]]).decode
decode_name = msgspec.json.Decoder(ToolName).decode


class Lines(asyncio.Protocol):
    """Calls `on_line` for each line; what is not a whole line yet waits in pieces, and is joined once."""

    def __init__(self, on_line: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_line = on_line
        self._on_end = on_end
        self._pieces: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        """Takes the next piece of the stream."""
        first = data.find(b"\n")
        if first == -1:
            self._pieces.append(data)
        elif first == len(data) - 1:
            # One line, whole at last: its line break may stay, and so a large one is copied only here.
            self._on_line(b"".join((*self._pieces, data)) if self._pieces else data)
            self._pieces.clear()
        else:
            *lines, rest = b"".join((*self._pieces, data)).split(b"\n")
            self._pieces = [rest] if rest else []
            for line in lines:
                self._on_line(line)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """The stream has ended."""
        self._on_end()


class Server:
    """One server: its process, and the requests it still has to answer."""

    def __init__(
        self, command: list[str], answer: Callable[[bytes | msgspec.Raw, msgspec.Raw], None]
    ) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self._answer = answer
        self._waiting: dict[bytes, bytes | msgspec.Raw | asyncio.Future[msgspec.Raw]] = {}
        self._last_id = 0
        self._stdin: asyncio.WriteTransport

    async def open(self) -> list[msgspec.Raw]:
        """Connects the pipes, greets the server, and returns its tools."""
        loop = asyncio.get_running_loop()
        self._stdin, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, self._process.stdin)
        await loop.connect_read_pipe(lambda: Lines(self._receive, lambda: None), self._process.stdout)
        await self._ask("initialize", HELLO)
        self._stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return decode_tools(await self._ask("tools/list", b"{}"))["tools"]

    def call(self, caller: bytes | msgspec.Raw, params: bytes | msgspec.Raw) -> None:
        """Passes a call on; its answer goes to `caller`."""
        self._request(caller, b"tools/call", params)

    def _ask(self, method: str, params: bytes) -> asyncio.Future[msgspec.Raw]:
        answer: asyncio.Future[msgspec.Raw] = asyncio.get_running_loop().create_future()
        self._request(answer, method.encode(), params)
        return answer

    def _request(self, caller: Any, method: bytes, params: bytes | msgspec.Raw) -> None:
        self._last_id += 1
        own_id = b"%d" % self._last_id
        self._waiting[own_id] = caller
        write_parts(
            self._stdin,
            b'{"jsonrpc":"2.0","id":%b,"method":"%b","params":' % (own_id, method),
            params,
        )

    def _receive(self, line: bytes) -> None:
        message = decode(line)
        caller = self._waiting.pop(bytes(message.id))
        if isinstance(caller, asyncio.Future):
            # A copy, for this one outlives its line.
            caller.set_result(message.result.copy())
        else:
            self._answer(caller, message.result)


class Relay:
    """One client in front, the servers behind."""

    def __init__(self, commands: list[list[str]], stdout: asyncio.WriteTransport) -> None:
        self._commands = commands
        self._stdout = stdout
        self._routes: dict[str, Server] = {}
        self._listed: asyncio.Task[bytes] | None = None

    def receive(self, line: bytes) -> None:
        """Takes one line of the client's."""
        message = decode(line)
        if message.method == "tools/call":
            self._routes[decode_params(message.params).name].call(message.id, message.params)
        elif message.method == "tools/list":
            if self._listed is None:
                self._listed = asyncio.create_task(self._open())
            caller = message.id.copy()
            self._listed.add_done_callback(lambda listed: self._answer(caller, listed.result()))
        elif message.method == "initialize":
            self._answer(message.id, ABOUT)

    def _answer(self, caller: bytes | msgspec.Raw, result: bytes | msgspec.Raw) -> None:
        write_parts(self._stdout, b'{"jsonrpc":"2.0","id":%b,"result":' % caller, result)

    async def _open(self) -> bytes:
        servers = [Server(command, self._answer) for command in self._commands]
        lists = await asyncio.gather(*(server.open() for server in servers))
        for server, tools in zip(servers, lists, strict=True):
            self._routes.update((decode_name(tool).name, server) for tool in tools)
        return b'{"tools":[%b]}' % b",".join(bytes(tool) for tools in lists for tool in tools)


def write_parts(transport: asyncio.WriteTransport, head: bytes, body: bytes | msgspec.Raw) -> None:
    """Writes a message; a large body is not copied for it."""
    if len(memoryview(body)) <= SMALL:
        transport.write(b"%b%b}\n" % (head, body))
    else:
        transport.writelines((head, memoryview(body), b"}\n"))


async def main(commands: list[list[str]]) -> None:
    """Relays between our own stdin and stdout and the servers."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    transport, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, sys.stdout)
    relay = Relay(commands, transport)
    await loop.connect_read_pipe(lambda: Lines(relay.receive, ended.set), sys.stdin)
    await ended.wait()


if __name__ == "__main__":
    uvloop.run(main(msgspec.json.decode(sys.argv[1], type=list[list[str]])))
