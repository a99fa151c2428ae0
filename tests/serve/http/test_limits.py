"""What a client may ask of us in bytes and in time, and that no client pays for another."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.serve import connections
from mcp_workbench.surface.http import clients, endpoint, session, visit
from tests.grid.benches import conversing_server
from tests.serve.http.inside import serving
from tests.serve.http.visitors import JSON
from tests.support.configs import server, toolboxes
from tests.support.http import Wire, head
from tests.support.journal import Journal
from tests.support.sessions import result_of
from tests.support.talking import using
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.serve.http.inside import Inside

SHORT = 0.2
PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
CHUNKED = {**JSON, "Transfer-Encoding": "chunked"}


@pytest.fixture
async def inside(tmp_path: Path) -> AsyncIterator[Inside]:
    async with serving(tmp_path, toolboxes(dev={"files": server()})) as inside:
        yield inside


async def flood(wire: Wire, data: bytes) -> int:
    """How many bytes can be sent before the connection is ended."""
    sent = 0
    with contextlib.suppress(ConnectionError):
        while sent < 10**9:
            await wire.send_raw(data)
            sent += len(data)
    return sent


async def test_a_message_that_says_it_is_too_long_is_refused_unread(inside: Inside) -> None:
    visitor = await inside.modern()
    wire = await visitor.wire()
    await wire.send("POST", {**JSON, "Content-Length": str(64 * 1024 * 1024 + 1)})
    response = await wire.response()
    assert response.status == 413
    assert "64 MiB" in (await response.json())["error"]["message"]


async def test_a_message_that_was_refused_unread_may_still_come_but_not_for_ever(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEADERS_TIME", SHORT)
    wire = await (await inside.modern()).wire()
    await wire.send("POST", {**JSON, "Content-Length": str(10**9)})
    assert (await wire.response()).status == 413
    assert await flood(wire, b" " * 100_000) < 10**9
    await inside.wait_until_kept()


async def test_a_message_that_turns_out_too_long_is_refused(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visit, "BODY_LIMIT", 100_000)
    visitor = await inside.modern()
    wire = await visitor.wire()
    await wire.send("POST", CHUNKED)
    for _ in range(11):
        await wire.send_raw(b"%x\r\n%b\r\n" % (10_000, b" " * 10_000))
    assert (await wire.response()).status == 413


async def test_a_chunked_message_within_the_limit_is_taken(inside: Inside) -> None:
    visitor = await inside.legacy()
    wire = await visitor.wire()
    await wire.send("POST", {**CHUNKED, **visitor.headers})
    for byte in PING:
        await wire.send_raw(b"1\r\n%c\r\n" % byte)
    await wire.send_raw(b"0\r\n\r\n")
    assert (await wire.response()).status == 200


@pytest.mark.parametrize("beginning", [b"", PING[:10]], ids=["nothing of it", "some of it"])
async def test_a_message_that_does_not_come_is_not_waited_for(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, beginning: bytes
) -> None:
    monkeypatch.setattr(visit, "BODY_TIME", SHORT)
    visitor = await inside.modern()
    wire = await visitor.wire()
    await wire.send("POST", {**JSON, "Content-Length": str(len(PING))})
    await wire.send_raw(beginning)
    assert (await wire.response()).status == 408
    assert b"408" not in await wire.end()
    await inside.wait_until_kept()


@pytest.mark.parametrize(
    "said",
    [b"", b"\r\n", b"POST", b"POST /mcp HTTP/1.1\r\nHost: x", b"POST /mcp HTTP/1.1\r\nHost: x\r\n"],
    ids=["nothing", "a blank line", "a word", "half of a header", "some headers"],
)
async def test_a_connection_that_says_nothing_is_ended(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(connections, "HEADERS_TIME", SHORT)
    wire = await (await inside.modern()).wire()
    await wire.send_raw(said)
    await wire.end()
    await inside.wait_until_kept()


@pytest.mark.parametrize("said", [b"\r\n", b"P"], ids=["a blank line", "a letter"])
async def test_a_connection_that_says_nothing_more_is_ended(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(connections, "HEADERS_TIME", SHORT)
    wire = await (await inside.modern()).wire()
    assert (await wire.ask("GET", path="/healthz")).status == 200
    await wire.send_raw(said)
    await wire.end()
    await inside.wait_until_kept()


async def test_an_idle_connection_is_ended_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_workbench.serve.http.KEEP_CONNECTION", SHORT)
    async with serving(tmp_path, toolboxes()) as inside:
        wire = await (await inside.modern()).wire()
        assert (await wire.ask("GET", path="/healthz")).status == 200
        await wire.end()


ENDLESS = {
    "headers": (b"POST /mcp HTTP/1.1\r\n", b"X-Header: some value\r\n"),
    "one header": (b"POST /mcp HTTP/1.1\r\nX-Header: ", b"x" * 1000),
    "the name of a header": (b"POST /mcp HTTP/1.1\r\n", b"x" * 1000),
    "the address": (b"POST /mcp?", b"x" * 1000),
    "the method": (b"", b"X" * 1000),
}


@pytest.mark.parametrize("kind", ENDLESS)
async def test_headers_without_end_are_not_listened_to(inside: Inside, kind: str) -> None:
    beginning, more = ENDLESS[kind]
    wire = await (await inside.modern()).wire()
    await wire.send_raw(beginning)
    assert await flood(wire, more * 10) < 5_000_000
    await inside.wait_until_kept()


async def test_headers_of_a_usual_length_are_taken(inside: Inside) -> None:
    visitor = await inside.legacy()
    visitor.headers |= {f"X-{number}": "x" * 1000 for number in range(30)}
    assert (await visitor.send("ping")).status == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost : x\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=["version", "TLS", "negative", "endless", "two lengths", "both", "space", "chunk"],
)
async def test_what_is_no_http_is_refused(inside: Inside, raw: bytes) -> None:
    wire = await (await inside.modern()).wire()
    await wire.send_raw(raw)
    assert b" 400 " in (await wire.end()).split(b"\r\n")[0]
    await inside.wait_until_kept()


async def test_a_client_that_does_not_read_is_cut_off_and_others_are_served(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SLOW", 1.0)
    visitor = await inside.legacy()
    deaf = await visitor.wire()
    deaf.writer.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    assert isinstance(deaf.writer.transport, asyncio.Transport)
    deaf.writer.transport.pause_reading()
    params = using("files", {"x": "x" * 20_000_000}, tool="echo")
    call = json.dumps({"jsonrpc": "2.0", "id": "deaf", "method": "tools/call", "params": params})
    await deaf.send("POST", {**JSON, **visitor.headers}, call.encode())
    await poll(lambda: any(it.transport.get_write_buffer_size() > 10**6 for it in inside.connections))
    for number in range(20):
        params = using("files", {"x": number}, tool="echo")
        assert result_of((await (await visitor.send("tools/call", params)).messages())[-1])
    await poll(lambda: inside.kept["responses"] == 0)


async def test_a_client_that_was_cut_off_has_what_it_missed_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SLOW", 0.5)
    said = [{"level": "info", "data": {"number": number, "x": "x" * 30_000}} for number in range(300)]
    config = toolboxes(dev={"legacy": conversing_server("legacy", Journal(tmp_path / "journal"))})
    async with serving(tmp_path, config) as inside:
        visitor = await inside.legacy()
        response = await visitor.call({"progress": {"steps": 1}}, {"log": said}, meta={"progressToken": 1})
        assert isinstance(response.wire.writer.transport, asyncio.Transport)
        position = (await response.next_event()).id
        response.wire.writer.transport.pause_reading()
        (session,) = inside.clients._sessions.values()
        await poll(lambda: inside.kept["responses"] == 0)
        await poll(lambda: not session._open)
        messages = await (await visitor.listen(position)).messages()
    # Not all is kept for so long, but of what is there the order is right, and the answer is the last.
    numbers = [
        message["params"]["data"]["number"] for message in messages[:-1] if "data" in message["params"]
    ]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == 299
    assert "result" in messages[-1]


async def test_no_more_sessions_of_one_than_there_may_be_and_the_oldest_idle_one_goes(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "MOST_SESSIONS", 3)
    busy = await inside.legacy()
    stream = await busy.listen()
    others = [await inside.legacy() for _ in range(4)]
    statuses = [(await visitor.send("ping")).status for visitor in (busy, *others)]
    assert statuses == [200, 404, 404, 200, 200]
    assert not stream.wire.reader.at_eof()


async def test_a_session_that_is_not_used_is_ended_and_one_that_is_listened_to_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "SWEEP_EVERY", 0.05)
    async with serving(tmp_path, toolboxes(dev={"files": server()})) as inside:
        idle, listening = await inside.legacy(), await inside.legacy()
        await listening.listen()
        monkeypatch.setattr(clients, "IDLE", SHORT)
        await poll(lambda: inside.kept["sessions"] == 1)
        assert (await idle.send("ping")).status == 404
        assert (await listening.send("ping")).status == 200


async def test_a_silent_stream_shows_signs_of_life(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit, "KEEP_ALIVE", 0.05)
    monkeypatch.setattr(endpoint, "KEEP_ALIVE", 0.05)
    monkeypatch.setattr(session, "SOON", 0.05)
    visitor = await inside.legacy()
    stream = (await visitor.listen()).all_events()
    modern = (await (await inside.modern()).listen(toolsListChanged=True)).all_events()
    for events in (stream, modern):
        assert [(await anext(events)).is_comment for _ in range(3)] == [True] * 3


async def test_a_request_behind_a_stream_does_not_keep_the_stream_when_the_client_is_gone(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes next is not read before its time, and with it goes unnoticed who leaves, but for a while."""
    monkeypatch.setattr(visit, "KEEP_ALIVE", 0.05)
    visitor = await inside.modern()
    stream = await visitor.listen(toolsListChanged=True)
    await inside.wait_until_kept(**{"modern requests": 1, "listeners": 1, "connections": 1, "responses": 1})
    host = inside.url.split("/")[2]
    await stream.wire.send_raw(head("GET", "/healthz", [("Host", host)]))
    stream.wire.cut()
    await inside.wait_until_kept()


async def test_a_client_that_would_rather_speak_another_http_is_served_by_this_one(inside: Inside) -> None:
    """As Java's client asks with each first request."""
    visitor = await inside.legacy()
    upgrade = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAEAAEAA"}
    wire = await visitor.wire()
    for _ in range(3):
        response = await wire.ask("POST", {**JSON, **visitor.headers, **upgrade}, PING)
        assert result_of(await response.json()) == {}


async def test_a_client_may_wait_for_leave_to_send_its_message(inside: Inside) -> None:
    visitor = await inside.legacy()
    wire = await visitor.wire()
    headers = {**JSON, **visitor.headers, "Expect": "100-continue", "Content-Length": str(len(PING))}
    await wire.send("POST", headers)
    assert (await wire.response()).status == 100
    await wire.send_raw(PING)
    assert (await wire.response()).status == 200


async def test_a_connection_that_is_closed_half_way_is_over(inside: Inside) -> None:
    wire = await Wire.open(inside.url)
    async with wire:
        await wire.send_raw(b"POST /mcp HTTP/1.1\r\nHost: x\r\n")
        wire.writer.write_eof()
        await wire.end()
    await inside.wait_until_kept()
