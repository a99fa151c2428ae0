"""A workbench between a client and a server that are both in the test's hands, without process or pipe."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_workbench.config import Secrets, ServerConfig
from mcp_workbench.config.model.results import OFF
from mcp_workbench.downstream.connection import Connection
from mcp_workbench.downstream.conversation.listeners import Listeners
from mcp_workbench.downstream.conversation.offer import Offer
from mcp_workbench.downstream.limits.flow_control import FlowControl
from mcp_workbench.downstream.server import Server
from mcp_workbench.downstream.supervisor import ServerContext
from mcp_workbench.serve.backpressure import StdioBackpressure
from mcp_workbench.storage.catalogue import Catalogue
from mcp_workbench.storage.protocol_versions import VersionMemory
from mcp_workbench.surface.client_connection import ClientConnection
from mcp_workbench.surface.client_session import ClientSession
from mcp_workbench.surface.output import SingleOutput
from mcp_workbench.surface.questions.parking import ParkedCalls
from mcp_workbench.surface.questions.sealing import Seal
from mcp_workbench.wire.lines import LONG_BYTES, LineSplitter
from mcp_workbench.wire.processes.guard import Guard
from mcp_workbench.workbench.client_view import ClientView
from mcp_workbench.workbench.configured_server import ConfiguredServer
from mcp_workbench.workbench.registry import ToolboxRegistry
from mcp_workbench.workbench.toolbox import Toolbox

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcp_workbench.config import InlineConfig
    from mcp_workbench.wire.lines import Line
    from mcp_workbench.wire.message import Outgoing
    from mcp_workbench.workbench.door import Door

MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class _Channel:
    """Keeps what is written to the server, and never has too much of it."""

    waiting = 0

    def __init__(self, written: list[Outgoing]) -> None:
        self.write = written.append

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def give_up(self, reason: str) -> None:
        raise AssertionError(f"no server of these tests is given up, but one was: {reason}")


class Behind:
    """One server with one tool, and the workbench in front of it."""

    def __init__(
        self,
        directory: Path,
        *,
        modern: bool,
        results: InlineConfig = OFF,
        door: Door | None = None,
        keys: dict[str, Any] | None = None,
    ) -> None:
        self.to_server: list[Outgoing] = []
        self._is_modern = modern
        config = ServerConfig(command="x", results=results, **(keys or {}))
        listeners = Listeners()
        self._connection = Connection(("dev", "files"), _Channel(self.to_server), str, config, listeners)
        self._connection.listed = (msgspec.Raw(b'{"name":"read"}'),)
        if modern:
            self._connection.session.speak_modern(Offer())
        context = ServerContext(
            {}, VersionMemory(directory), Catalogue(directory), Guard({}), FlowControl(), listeners
        )
        self._server = Server("dev", "files", config, Secrets({}), context)
        self._server.connections = [self._connection, self._connection]
        toolbox_server = ConfiguredServer("dev", self._server)
        toolbox = Toolbox("dev", "Files", [toolbox_server], [], open_deadline=15, listing_budget=8000)
        self.workbench = ToolboxRegistry([toolbox], context, door=door)

    def disconnect(self) -> None:
        """Lets the server be one that has yet to be started."""
        self._server.connections = [None, None]

    @property
    def latest_id(self) -> int:
        """The id of the last request that the server got."""
        return self._connection.session.peer.next_id - 1

    @property
    def calls(self) -> list[Any]:
        """Those that the server works on."""
        return list(self._connection.session.calls)

    def server_says(self, line: Line) -> None:
        """Lets the server send a line."""
        self._connection.session.peer.receive(line)

    def answer(self, size: int) -> Callable[[], None]:
        """Lets the server answer the latest request with a result of that size."""
        result: dict[str, Any] = {"content": [{"type": "text", "text": "~" * size}]}
        if self._is_modern:
            stamp = {"io.modelcontextprotocol/serverInfo": {"name": "x", "version": "1"}}
            result = {"resultType": "complete", **result, "_meta": stamp}
        answer = {"jsonrpc": "2.0", "id": self.latest_id, "result": result}
        line = arrived(json.dumps(answer).encode())
        receive = self._connection.session.peer.receive
        return lambda: receive(line)


class Relayed(Behind):
    """A scripted server, and one client over stdio."""

    def __init__(
        self,
        directory: Path,
        *,
        modern: bool,
        modern_server: bool | None = None,
        handshake: bool = True,
        results: InlineConfig = OFF,
        door: Door | None = None,
        keys: dict[str, Any] | None = None,
    ) -> None:
        is_modern = modern if modern_server is None else modern_server
        super().__init__(directory, modern=is_modern, results=results, door=door, keys=keys)
        self.to_client: list[Outgoing] = []
        self.modern = modern
        self.view = ClientView(self.workbench)
        client_session = ClientSession(self.view, ParkedCalls(), Seal({}))
        self._client_connection = ClientConnection(
            client_session, SingleOutput(self.to_client.append), StdioBackpressure(self.workbench)
        )
        if handshake:
            self.client_says(
                b'{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25"}}'
            )
        self._last_id = 0

    def request(self, size: int = 0) -> Callable[[], None]:
        """Lets the client call the tool with arguments of that size."""
        self._last_id += 1
        line = arrived(call(self._last_id, size, modern=self.modern))
        return lambda: self._client_connection.receive(line)

    def client_says(self, line: bytes) -> None:
        """Lets the client send a line."""
        self._client_connection.receive(line)


def call(request_id: int, size: int, *, modern: bool) -> bytes:
    """A call of the tool with arguments of that size."""
    tool = {"toolbox": "dev", "server": "files", "tool": "read"}
    params: dict[str, Any] = {
        "name": "use_tool",
        "arguments": {"tool": tool, "arguments": {"text": "~" * size}},
    }
    if modern:
        params["_meta"] = MODERN_META
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}).encode()


def arrived(text: bytes) -> Line:
    """A line as it comes out of a pipe."""
    splitter = LineSplitter(lambda *_, **__: None)
    rest = memoryview(text + b"\n")
    lines: list[Line] = []
    while not lines:
        if splitter.held < LONG_BYTES:
            lines = splitter.feed(bytes(rest[:LONG_BYTES]))
            rest = rest[LONG_BYTES:]
        else:
            room = splitter.space()
            count = min(len(room), len(rest))
            room[:count] = rest[:count]
            del room
            lines = splitter.filled(count)
            rest = rest[count:]
    return lines[0]


def written(line: Outgoing) -> bytes:
    return line if isinstance(line, bytes) else b"".join(line)
