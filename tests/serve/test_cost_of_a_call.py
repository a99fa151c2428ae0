"""What it costs to relay a call, counted in decodings, steps, tasks, timers and copies. No clock."""

from __future__ import annotations

import asyncio
import json
import sys
import tracemalloc
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mcp_workbench.config import Secrets, ServerConfig
from mcp_workbench.downstream.connection import Connection
from mcp_workbench.downstream.era_memory import EraMemory
from mcp_workbench.downstream.server import Server
from mcp_workbench.surface.face import Face
from mcp_workbench.wire.lines import LONG, STEP, LineSplitter
from mcp_workbench.wire.message import CHECKED
from mcp_workbench.workbench.shelf import Shelf
from mcp_workbench.workbench.toolbox import Toolbox
from mcp_workbench.workbench.workbench import Workbench

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

    from mcp_workbench.wire.lines import Line
    from mcp_workbench.wire.message import Outgoing

MEGABYTE = 1_000_000
SIZES = [100, 10_000, MEGABYTE]

MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Relayed:
    """A workbench between a client and a server that are both in the test's hands."""

    def __init__(self, directory: Path, *, modern: bool) -> None:
        self.to_client: list[Outgoing] = []
        self.to_server: list[Outgoing] = []
        self.modern = modern
        self._connection = Connection("dev/files", self.to_server.append, str, 60)
        self._connection.listed = (msgspec.Raw(b'{"name":"read"}'),)
        if modern:
            self._connection.session.speak_modern(announces_changes=False)
        server = Server(
            "dev",
            "files",
            ServerConfig(command="x"),
            environ={},
            secrets=Secrets({}),
            memory=EraMemory(directory),
        )
        server.connection = self._connection
        toolbox = Toolbox("dev", "Files", [Shelf("dev", server)], [])
        self._face = Face(Workbench([toolbox]), self.to_client.append)
        self._face.peer.receive(
            b'{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25"}}'
        )
        self._last_id = 0

    def request(self, size: int = 0) -> Callable[[], None]:
        """Lets the client call the tool with arguments of that size."""
        self._last_id += 1
        tool = {"toolbox": "dev", "server": "files", "tool": "read"}
        params: dict[str, Any] = {
            "name": "use_tool",
            "arguments": {"tool": tool, "arguments": {"text": "~" * size}},
        }
        if self.modern:
            params["_meta"] = MODERN_META
        return self._line(
            self._face.peer.receive, {"id": self._last_id, "method": "tools/call", "params": params}
        )

    def answer(self, size: int) -> Callable[[], None]:
        """Lets the server answer the latest request with a result of that size."""
        result: dict[str, Any] = {"content": [{"type": "text", "text": "~" * size}]}
        if self.modern:
            stamp = {"io.modelcontextprotocol/serverInfo": {"name": "x", "version": "1"}}
            result = {"resultType": "complete", **result, "_meta": stamp}
        peer = self._connection.session.peer
        return self._line(peer.receive, {"id": peer.next_id - 1, "result": result})

    def _line(self, receive: Callable[[Line], None], message: dict[str, Any]) -> Callable[[], None]:
        line = arrived(json.dumps({"jsonrpc": "2.0", **message}).encode())
        return lambda: receive(line)


def arrived(text: bytes) -> Line:
    """A line as it comes out of a pipe."""
    splitter = LineSplitter(lambda _: None)
    rest = memoryview(text + b"\n")
    lines: list[Line] = []
    while not lines:
        if splitter.held < LONG:
            lines = splitter.feed(bytes(rest[:LONG]))
            rest = rest[LONG:]
        else:
            room = splitter.room()
            count = min(len(room), len(rest))
            room[:count] = rest[:count]
            del room
            lines = splitter.filled(count)
            rest = rest[count:]
    return lines[0]


@pytest.fixture(params=["legacy", "modern"])
async def relayed(request: pytest.FixtureRequest, tmp_path: Path) -> Relayed:
    it = Relayed(tmp_path, modern=request.param == "modern")
    it.request()()  # the first call of all reads the list of tools
    it.answer(1)()
    return it


class Steps:
    """What happened while something was done: calls of Python functions, and decodings of JSON."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.calls: list[str] = []
        self.decodings = 0
        sys.setprofile(self._note)
        try:
            work()
        finally:
            sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            self.calls.append(frame.f_code.co_qualname)
        elif event == "c_call":
            is_decoder = isinstance(getattr(argument, "__self__", None), msgspec.json.Decoder)
            self.decodings += is_decoder or argument is msgspec.json.decode


def written(line: Outgoing) -> bytes:
    return line if isinstance(line, bytes) else b"".join(line)


@pytest.mark.parametrize("size", SIZES)
async def test_only_envelopes_are_decoded_whatever_they_carry(relayed: Relayed, size: int) -> None:
    request = Steps(relayed.request(size))
    answer = Steps(relayed.answer(size))
    # The line and its parameters; the line. A modern request also has a version and capabilities, and a
    # modern result says what it is, to the one side, and who has made it, to the other.
    expected = (4, 4) if relayed.modern else (2, 1)
    assert (request.decodings, answer.decodings) == expected
    assert written(relayed.to_client[-1]).count(b"~") == size


async def test_a_call_takes_few_steps(relayed: Relayed) -> None:
    request = Steps(relayed.request())
    answer = Steps(relayed.answer(100))
    allowed = (30, 25) if relayed.modern else (22, 13)
    assert len(request.calls) <= allowed[0], request.calls
    assert len(answer.calls) <= allowed[1], answer.calls


async def test_a_call_has_no_task_and_no_timer_of_its_own(
    relayed: Relayed, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    timers: list[float] = []
    monkeypatch.setattr(loop, "call_at", lambda when, *_: timers.append(when))
    before = asyncio.all_tasks()
    for _ in range(100):
        relayed.request()()
    assert asyncio.all_tasks() == before
    assert len(timers) <= 1


async def test_a_long_result_is_written_from_where_it_was_read(relayed: Relayed) -> None:
    relayed.request()()
    answer = relayed.answer(MEGABYTE)
    tracemalloc.start()
    try:
        answer()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # What is left is the text of one step of the check that it is text.
    assert peak < CHECKED + 20_000
    assert written(relayed.to_client[-1]).count(b"~") == MEGABYTE


async def test_long_arguments_are_written_from_where_they_were_read(relayed: Relayed) -> None:
    request = relayed.request(MEGABYTE)
    tracemalloc.start()
    try:
        request()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < CHECKED + 20_000
    assert written(relayed.to_server[-1]).count(b"~") == MEGABYTE


def test_a_long_line_takes_its_own_size_of_memory_while_it_arrives() -> None:
    text = b"x" * MEGABYTE
    arrived(text)
    tracemalloc.start()
    try:
        held = tracemalloc.get_traced_memory()[0]
        line = arrived(text)
        peak = tracemalloc.get_traced_memory()[1] - held
    finally:
        tracemalloc.stop()
    assert len(line) == MEGABYTE
    # The line, what the system is given to read it into, and the copy that the test makes of the text.
    assert peak < 2 * MEGABYTE + 2 * STEP
