"""What a client may ask of us in bytes and in time, and that no client pays for another."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.serve import connections
from mcp_workbench.surface.http import clients, endpoint, exchange, session
from tests.grid.benches import conversing_server
from tests.serve.http.inside import serving
from tests.serve.http.raw_clients import JSON
from tests.support.configs import server, toolboxes
from tests.support.journal import Journal
from tests.support.sessions import result_of
from tests.support.talking import using
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.serve.http.inside import Inside
    from tests.support.client import Json

SHORT = 0.2
PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
CHUNKED = {**JSON, "Transfer-Encoding": "chunked"}


@pytest.fixture
async def inside(tmp_path: Path) -> AsyncIterator[Inside]:
    async with serving(tmp_path, toolboxes(dev={"files": server()})) as inside:
        yield inside


async def test_a_message_that_says_it_is_too_long_is_refused_unread(inside: Inside) -> None:
    client = await inside.modern()
    wire = await client.wire()
    await wire.send("POST", {**JSON, "Content-Length": str(64 * 1024 * 1024 + 1)})
    response = await wire.response()
    assert response.status == 413
    assert "64 MiB" in (await response.json())["error"]["message"]


async def test_a_message_that_was_refused_unread_may_still_come_but_not_for_ever(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEADERS_TIMEOUT_SECONDS", SHORT)
    wire = await (await inside.modern()).wire()
    await wire.send("POST", {**JSON, "Content-Length": str(10**9)})
    assert (await wire.response()).status == 413
    assert await wire.flood(b" " * 100_000) < 10**9
    await inside.wait_until_kept()


async def test_a_message_that_turns_out_too_long_is_refused(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "MAX_BODY_BYTES", 100_000)
    client = await inside.modern()
    wire = await client.wire()
    await wire.send("POST", CHUNKED)
    for _ in range(11):
        await wire.send_raw(b"%x\r\n%b\r\n" % (10_000, b" " * 10_000))
    assert (await wire.response()).status == 413


async def test_long_messages_that_come_at_once_do_not_fill_the_memory(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "MAX_INCOMPLETE_BYTES", 1_000_000)
    client = await inside.modern()
    slow = [await client.wire() for _ in range(3)]
    for wire in slow:
        await wire.send("POST", {**JSON, "Content-Length": "600000"})
        await wire.send_raw(b" " * 300_000)
    one = await client.wire()
    await one.send("POST", {**JSON, "Content-Length": "600000"})
    await one.send_raw(b" " * 300_000)
    refused = await one.response()
    assert (refused.status, refused.headers["retry-after"]) == (503, "5")
    assert "Send this again later" in (await refused.json())["error"]["message"]
    assert result_of((await (await client.send("tools/list")).messages())[-1])["tools"]
    for wire in slow:
        wire.cut()
    await inside.wait_until_kept(connections=2)
    await one.send_raw(b" " * 300_000)
    params = using("files", {"x": "x" * 600_000}, tool="echo")
    assert result_of((await (await client.send("tools/call", params)).messages())[-1])


async def test_a_chunked_message_within_the_limit_is_taken(inside: Inside) -> None:
    client = await inside.legacy()
    wire = await client.wire()
    await wire.send("POST", {**CHUNKED, **client.headers})
    for byte in PING:
        await wire.send_raw(b"1\r\n%c\r\n" % byte)
    await wire.send_raw(b"0\r\n\r\n")
    assert (await wire.response()).status == 200


@pytest.mark.parametrize("beginning", [b"", PING[:10]], ids=["nothing of it", "some of it"])
async def test_a_message_that_does_not_come_is_not_waited_for(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, beginning: bytes
) -> None:
    monkeypatch.setattr(exchange, "BODY_TIMEOUT_SECONDS", SHORT)
    client = await inside.modern()
    wire = await client.wire()
    await wire.send("POST", {**JSON, "Content-Length": str(len(PING))})
    await wire.send_raw(beginning)
    assert (await wire.response()).status == 408
    assert b"408" not in await wire.end()
    await inside.wait_until_kept()


async def test_a_client_that_does_not_read_is_cut_off_and_others_are_served(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SLOW_READER_SECONDS", 1.0)
    client = await inside.legacy()
    deaf = await client.wire()
    deaf.writer.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    assert isinstance(deaf.writer.transport, asyncio.Transport)
    deaf.writer.transport.pause_reading()
    params = using("files", {"x": "x" * 20_000_000}, tool="echo")
    call = json.dumps({"jsonrpc": "2.0", "id": "deaf", "method": "tools/call", "params": params})
    await deaf.send("POST", {**JSON, **client.headers}, call.encode())
    await poll(lambda: any(it.transport.get_write_buffer_size() > 10**6 for it in inside.connections))
    for number in range(20):
        params = using("files", {"x": number}, tool="echo")
        assert result_of((await (await client.send("tools/call", params)).messages())[-1])
    await poll(lambda: inside.kept["responses"] == 0)


@pytest.mark.parametrize(("taken", "is_disconnected"), [(1, True), (connections.SLOW_READER_BYTES, False)])
async def test_a_client_that_reads_by_drops_is_cut_off_too(
    inside: Inside, taken: int, is_disconnected: bool
) -> None:
    client = await inside.legacy()
    slow = await client.wire()
    assert isinstance(slow.writer.transport, asyncio.Transport)
    slow.writer.transport.pause_reading()
    params = using("files", {"x": "x" * 20_000_000}, tool="echo")
    call = json.dumps({"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": params})
    await slow.send("POST", {**JSON, **client.headers}, call.encode())
    await poll(lambda: any(it.transport.get_write_buffer_size() > 10**6 for it in inside.connections))
    (behind,) = [it for it in inside.connections if it.transport.get_write_buffer_size() > 10**6]
    assert isinstance(behind, connections.LimitedConnection)
    behind._check_reader(behind.transport.get_write_buffer_size() + taken)
    assert behind.transport.is_closing() is is_disconnected


async def test_a_client_that_was_cut_off_has_what_it_missed_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SLOW_READER_SECONDS", 0.5)
    said = [{"level": "info", "data": {"number": number, "x": "x" * 30_000}} for number in range(300)]
    config = toolboxes(dev={"legacy": conversing_server("legacy", Journal(tmp_path / "journal"))})
    async with serving(tmp_path, config) as inside:
        client = await inside.legacy()
        response = await client.call({"progress": {"steps": 1}}, {"log": said}, meta={"progressToken": 1})
        assert isinstance(response.wire.writer.transport, asyncio.Transport)
        position = (await response.next_event()).id
        response.wire.writer.transport.pause_reading()
        (session,) = inside.clients._sessions.values()
        await poll(lambda: inside.kept["responses"] == 0)
        await poll(lambda: not session._open)
        messages = await (await client.listen(position)).messages()
    # Not all is kept for so long, but of what is there the order is right, and the answer is the last.
    numbers = [
        message["params"]["data"]["number"] for message in messages[:-1] if "data" in message["params"]
    ]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == 299
    assert "result" in messages[-1]


async def test_answers_for_a_client_that_is_away_do_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "MAX_ENDED_BYTES", 1_000_000)
    ready = tmp_path / "ready"
    steps: list[Json] = [{"progress": {"steps": 1}}, {"wait": str(ready)}]
    steps.append({"result": {"content": [], "x": "x" * 300_000}})
    config = toolboxes(dev={"legacy": conversing_server("legacy", Journal(tmp_path / "journal"))})
    async with serving(tmp_path, config) as inside:
        client = await inside.legacy()
        positions = []
        for _ in range(10):
            response = await client.call(*steps, meta={"progressToken": 1})
            positions.append((await response.next_event()).id)
        client.leave_all()
        await poll(lambda: inside.kept["responses"] == 0)
        ready.touch()
        (kept,) = inside.clients._sessions.values()
        await poll(lambda: not kept._open)
        statuses = [(await client.listen(position)).status for position in positions]
    assert sorted(statuses) == [200] * 3 + [400] * 7


async def test_no_more_sessions_of_one_than_there_may_be_and_the_oldest_idle_one_goes(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "MAX_SESSIONS", 3)
    busy = await inside.legacy()
    stream = await busy.listen()
    others = [await inside.legacy() for _ in range(4)]
    statuses = [(await client.send("ping")).status for client in (busy, *others)]
    assert statuses == [200, 404, 404, 200, 200]
    assert not stream.wire.reader.at_eof()


async def test_a_session_that_is_not_used_is_ended_and_one_that_is_listened_to_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "SWEEP_EVERY_SECONDS", 0.05)
    async with serving(tmp_path, toolboxes(dev={"files": server()})) as inside:
        idle, listening = await inside.legacy(), await inside.legacy()
        await listening.listen()
        monkeypatch.setattr(clients, "IDLE_SECONDS", SHORT)
        await poll(lambda: inside.kept["sessions"] == 1)
        assert (await idle.send("ping")).status == 404
        assert (await listening.send("ping")).status == 200


async def test_a_silent_stream_shows_signs_of_life(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "KEEP_ALIVE_SECONDS", 0.05)
    monkeypatch.setattr(endpoint, "KEEP_ALIVE_SECONDS", 0.05)
    monkeypatch.setattr(session, "EVENTS_AFTER_SECONDS", 0.05)
    client = await inside.legacy()
    stream = (await client.listen()).all_events()
    modern = (await (await inside.modern()).listen(toolsListChanged=True)).all_events()
    for events in (stream, modern):
        assert [(await anext(events)).is_comment for _ in range(3)] == [True] * 3
