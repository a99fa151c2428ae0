"""What waits for clients that do not read, or that left: how much there may be, and that it is let go."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import struct
import weakref
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.surface.http import backlog
from mcp_workbench.surface.http.backlog import Backlog
from mcp_workbench.workbench.principal import ANYONE
from tests.grid.benches import conversing_server
from tests.serve.http.inside import serving
from tests.serve.http.raw_clients import JSON
from tests.support.configs import toolboxes
from tests.support.http import Wire
from tests.support.journal import Journal
from tests.support.sessions import result_of
from tests.support.talking import using
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.serve.http.inside import Inside
    from tests.serve.http.raw_clients import Legacy
    from tests.support.client import Json

CLIENTS = 8
SIZE = 8_000_000
"""More than the system buffers for a connection."""
LIMIT = 3 * SIZE
TALKING: list[Json] = [{"progress": {"steps": 1}}]


@pytest.fixture
async def inside(tmp_path: Path) -> AsyncIterator[Inside]:
    config = toolboxes(dev={"legacy": conversing_server("legacy", Journal(tmp_path / "journal"))})
    async with serving(tmp_path, config, backlog=Backlog(2 * LIMIT, LIMIT)) as inside:
        yield inside


@pytest.fixture
def uncollected() -> Iterator[None]:
    """No garbage collection: what is in a cycle of references stays."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


async def ask_deaf(url: str, headers: dict[str, str], message: Json) -> Wire:
    """Send a request on a connection that does not read."""
    wire = await Wire.open(url)
    transport = wire.writer.transport
    assert isinstance(transport, asyncio.Transport)
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
    transport.pause_reading()
    await wire.send("POST", {**JSON, **headers}, json.dumps(message).encode())
    return wire


def large(steps: list[Json], request_id: int) -> Json:
    result = {"content": [{"type": "text", "text": "x" * SIZE}]}
    params = {
        **using("legacy", {"steps": [*steps, {"result": result}]}),
        "_meta": {"progressToken": request_id},
    }
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


async def deaf(inside: Inside, kind: str, number: int) -> Wire:
    if kind == "modern":
        client = await inside.modern()
        message = large([], number)
        return await ask_deaf(inside.url, *reversed(client.dressed("tools/call", message["params"], number)))
    legacy = await inside.legacy()
    return await ask_deaf(inside.url, legacy.headers, large(TALKING if kind == "events" else [], number))


def is_quiet(inside: Inside) -> bool:
    """Whether no call is in flight."""
    client_connections = [
        *inside.clients._client_connections,
        *(it.client_connection for it in inside.clients._sessions.values()),
    ]
    return not any(client_connection._requests.ids for client_connection in client_connections)


async def error_in(wire: Wire) -> str | None:
    """What the answer says that took the place of the large one; None if that one comes."""
    transport = wire.writer.transport
    assert isinstance(transport, asyncio.Transport)
    transport.resume_reading()
    response = await wire.response()
    messages = await response.messages()
    error: str | None = messages[-1].get("error", {}).get("message")
    return error


@pytest.mark.parametrize("kind", ["json", "events", "modern"])
async def test_clients_that_do_not_read_hold_no_more_than_the_limit_and_are_told(
    inside: Inside, kind: str
) -> None:
    wires = [await deaf(inside, kind, number) for number in range(CLIENTS)]
    await poll(lambda: is_quiet(inside))
    assert inside.clients.backlog.bytes <= LIMIT + 100_000
    other = await inside.legacy()
    assert result_of((await (await other.call({"result": {"content": []}})).messages())[-1])
    errors = [await error_in(wire) for wire in wires]
    assert errors.count(None) in (2, 3)
    assert all("were not read yet" in it for it in errors if it)
    for wire in wires:
        wire.cut()
    await poll(lambda: inside.clients.backlog.bytes < 100_000)


@pytest.mark.parametrize("kind", ["json", "events", "modern"])
async def test_a_slow_reader_that_is_disconnected_frees_its_memory_at_once(
    inside: Inside, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "GRACE_SECONDS", -1.0)
    async with await deaf(inside, kind, 1):
        await poll(lambda: inside.clients.backlog.bytes > SIZE)
        await poll(lambda: is_quiet(inside))
        assert inside.clients.backlog.account(ANYONE.name).disconnect_slow(SIZE) > SIZE
        assert inside.clients.backlog.bytes < 100_000
        await poll(lambda: inside.kept["responses"] == 0)


async def leave_in_mid_answer(inside: Inside, client: Legacy) -> str:
    """Have a large answer kept for a client that left, and return the position that it may come back to."""
    wire = await client.wire()
    # Else the whole answer could be in the buffers of the system before the client is gone.
    wire.writer.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
    await wire.send("POST", {**JSON, **client.headers}, json.dumps(large(TALKING, 7)).encode())
    position = (await (await wire.response()).next_event()).id
    assert position is not None
    wire.cut()
    await poll(lambda: is_quiet(inside) and inside.kept["responses"] == 0)
    return position


async def test_a_large_answer_is_kept_for_a_client_that_leaves_while_it_is_sent(inside: Inside) -> None:
    client = await inside.legacy()
    wire = await client.wire()
    wire.writer.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
    await wire.send("POST", {**JSON, **client.headers}, json.dumps(large(TALKING, 7)).encode())
    position = (await (await wire.response()).next_event()).id
    transport = wire.writer.transport
    assert isinstance(transport, asyncio.Transport)
    transport.pause_reading()
    (session,) = inside.clients._sessions.values()
    (stream, _) = session._streams[(position or "").rpartition("-")[0]]
    await poll(lambda: stream.position != position and stream.is_over)  # the answer is on its way
    wire.cut()
    await poll(lambda: inside.kept["responses"] == 0)
    again = await client.listen(position)
    assert len(result_of((await again.messages())[-1])["content"][0]["text"]) == SIZE


async def test_what_is_kept_for_clients_that_left_is_limited_over_all_their_sessions(inside: Inside) -> None:
    clients = [await inside.legacy() for _ in range(CLIENTS)]
    positions = [await leave_in_mid_answer(inside, client) for client in clients]
    assert inside.clients.backlog.bytes <= LIMIT
    statuses = [
        (await client.listen(position)).status for client, position in zip(clients, positions, strict=True)
    ]
    kept = statuses.count(200)
    assert kept >= 1
    assert statuses == [400] * (CLIENTS - kept) + [200] * kept  # the oldest went first


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("kind", ["unread", "left", "read"])
async def test_a_session_that_is_ended_leaves_nothing_to_the_garbage_collector(
    inside: Inside, kind: str
) -> None:
    client = await inside.legacy()
    (session,) = inside.clients._sessions.values()
    gone = [weakref.ref(it) for it in (session, session.client_connection, session._standalone)]
    del session
    if kind == "unread":
        wire = await ask_deaf(inside.url, client.headers, large(TALKING, 1))
        await poll(lambda: inside.clients.backlog.bytes > SIZE)
        wire.cut()
    elif kind == "left":
        await leave_in_mid_answer(inside, client)
        assert inside.clients.backlog.bytes > SIZE
    else:
        wire = await client.wire()
        await wire.send("POST", {**JSON, **client.headers}, json.dumps(large(TALKING, 1)).encode())
        assert len(result_of((await (await wire.response()).messages())[-1])["content"][0]["text"]) == SIZE
    assert (await client.ask("DELETE")).status == 204
    await poll(lambda: not any(it() for it in gone))
    assert inside.clients.backlog.bytes == 0


async def test_a_client_that_left_before_its_answer_began_has_nothing_kept(
    inside: Inside, tmp_path: Path
) -> None:
    client = await inside.legacy()
    flag = tmp_path / "flag"
    wire = await client.wire()
    # It leaves by a reset: the end of its side alone could mean that it still wants the answer.
    wire.writer.transport.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
    )
    message = large([{"wait": str(flag)}], 1)
    await wire.send("POST", {**JSON, **client.headers}, json.dumps(message).encode())
    (session,) = inside.clients._sessions.values()
    await poll(lambda: session._open)
    wire.cut()
    await poll(lambda: inside.kept["responses"] == 0)
    flag.touch()
    await poll(lambda: is_quiet(inside))
    assert (inside.clients.backlog.bytes < 1000, session._streams) == (True, {})


async def test_a_listener_that_left_without_a_word_may_listen_again(inside: Inside) -> None:
    client = await inside.legacy()
    first = await client.listen()
    first.wire.cut()
    await poll(lambda: inside.kept["responses"] == 0)
    (session,) = inside.clients._sessions.values()
    session.client_connection.tell_tools_changed()
    again = await client.listen()
    assert (await again.next_message())["method"] == "notifications/tools/list_changed"


def large_garbage() -> list[str]:
    """The types of what only the garbage collector could free, and that holds something large."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return [
            type(it).__name__
            for it in gc.garbage
            if any(isinstance(held, bytes | str) and len(held) >= SIZE for held in gc.get_referents(it))
        ]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


LONG = "x" * SIZE
REFUSED: dict[str, object] = {
    "no JSON": LONG.encode(),
    "half of it": b'{"x":"' + LONG.encode(),
    "a batch": [{"jsonrpc": "2.0", "id": 1, "method": "ping", "x": LONG}],
    "unknown method": {"jsonrpc": "2.0", "id": 1, "method": "nonsense", "params": {"x": LONG}},
    "unknown server": {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": using("nobody", {"x": LONG}),
    },
}


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("kind", REFUSED)
async def test_a_request_that_is_refused_leaves_nothing_large_to_the_garbage_collector(
    inside: Inside, kind: str
) -> None:
    client = await inside.legacy()
    body = REFUSED[kind]
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = await client.post(raw)
    assert "error" in (text := (await response.body()).decode()) or "isError" in text
    del raw, response
    client.leave_all()
    await poll(lambda: not inside.connections)
    assert large_garbage() == []
