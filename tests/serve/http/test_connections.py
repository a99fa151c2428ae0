"""Connections that say nothing, too much or nonsense, and how others are spoken to that are only unusual."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import struct
import weakref
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.serve import connections
from mcp_workbench.surface.http import exchange
from tests.serve.http.inside import serving
from tests.serve.http.raw_clients import JSON
from tests.support.configs import server, toolboxes
from tests.support.http import Wire, head
from tests.support.sessions import result_of
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.serve.http.inside import Inside

SHORT = 0.2
PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()


@pytest.fixture
async def inside(tmp_path: Path) -> AsyncIterator[Inside]:
    async with serving(tmp_path, toolboxes(dev={"files": server()})) as inside:
        yield inside


@pytest.mark.parametrize(
    "said",
    [b"", b"\r\n", b"POST", b"POST /mcp HTTP/1.1\r\nHost: x", b"POST /mcp HTTP/1.1\r\nHost: x\r\n"],
    ids=["nothing", "a blank line", "a word", "half of a header", "some headers"],
)
async def test_a_connection_that_says_nothing_is_ended(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(connections, "HEADERS_TIMEOUT_SECONDS", SHORT)
    wire = await (await inside.modern()).wire()
    await wire.send_raw(said)
    await wire.end()
    await inside.wait_until_kept()


@pytest.mark.parametrize("said", [b"\r\n", b"P"], ids=["a blank line", "a letter"])
async def test_a_connection_that_says_nothing_more_is_ended(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(connections, "HEADERS_TIMEOUT_SECONDS", SHORT)
    wire = await (await inside.modern()).wire()
    assert (await wire.ask("GET", path="/healthz")).status == 200
    await wire.send_raw(said)
    await wire.end()
    await inside.wait_until_kept()


async def test_an_idle_connection_is_ended_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_workbench.serve.http.KEEP_ALIVE_SECONDS", SHORT)
    async with serving(tmp_path, toolboxes()) as inside:
        wire = await (await inside.modern()).wire()
        assert (await wire.ask("GET", path="/healthz")).status == 200
        await wire.end()


@pytest.mark.parametrize("ending", [{"Connection": "close"}, {}], ids=["the last one", "one of many"])
async def test_a_refusal_reaches_whoever_sends_the_rest_of_a_long_message_first(
    inside: Inside, ending: dict[str, str]
) -> None:
    wire = await (await inside.modern()).wire()
    stalled = wire.writer.transport
    assert isinstance(stalled, asyncio.Transport)
    stalled.pause_reading()
    body = b" " * 1_000_000
    asking = {**JSON, **ending, "Origin": "http://evil.example", "Content-Length": str(len(body))}
    await wire.send("POST", asking)
    await poll(lambda: all(it._served and it._served.response_complete for it in inside.connections))
    for _ in range(10):
        await wire.send_raw(body[: len(body) // 10])
    stalled.resume_reading()
    response = await wire.response()
    assert response.status == 403
    assert "evil.example" in (await response.json())["error"]["message"]
    if ending:
        await wire.end()
    else:
        assert (await wire.ask("GET", path="/healthz")).status == 200


async def test_a_connection_is_kept_once_the_rest_of_a_refused_message_has_come(inside: Inside) -> None:
    wire = await (await inside.modern()).wire()
    await wire.send("POST", {**JSON, "Origin": "http://evil.example", "Content-Length": "10"})
    response = await wire.response()
    assert (response.status, len(await response.body()) > 0) == (403, True)
    (connection,) = inside.connections
    await wire.send_raw(b"12345")
    await poll(lambda: connection._deadline is not None)
    await wire.send_raw(b"67890")
    await poll(lambda: connection._deadline is None)
    assert connection.timeout_keep_alive_task is not None
    assert (await wire.ask("GET", path="/healthz")).status == 200


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
    assert await wire.flood(more * 10) < 5_000_000
    await inside.wait_until_kept()


async def test_headers_of_a_usual_length_are_taken(inside: Inside) -> None:
    client = await inside.legacy()
    client.headers |= {f"X-{number}": "x" * 1000 for number in range(30)}
    assert (await client.send("ping")).status == 200


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


async def test_a_request_behind_a_stream_does_not_keep_the_stream_when_the_client_is_gone(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes next is not read before its time, and with it goes unnoticed who leaves, but for a while."""
    monkeypatch.setattr(exchange, "KEEP_ALIVE_SECONDS", 0.05)
    client = await inside.modern()
    stream = await client.listen(toolsListChanged=True)
    await inside.wait_until_kept(**{"modern requests": 1, "listeners": 1, "connections": 1, "responses": 1})
    host = inside.url.split("/")[2]
    await stream.wire.send_raw(head("GET", "/healthz", [("Host", host)]))
    stream.wire.cut()
    await inside.wait_until_kept()


async def test_a_client_that_would_rather_speak_another_http_is_served_by_this_one(inside: Inside) -> None:
    """As Java's client asks with each first request."""
    client = await inside.legacy()
    upgrade = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAEAAEAA"}
    wire = await client.wire()
    for _ in range(3):
        response = await wire.ask("POST", {**JSON, **client.headers, **upgrade}, PING)
        assert result_of(await response.json()) == {}


async def test_a_client_may_wait_for_leave_to_send_its_message(inside: Inside) -> None:
    client = await inside.legacy()
    wire = await client.wire()
    headers = {**JSON, **client.headers, "Expect": "100-continue", "Content-Length": str(len(PING))}
    await wire.send("POST", headers)
    assert (await wire.response()).status == 100
    await wire.send_raw(PING)
    assert (await wire.response()).status == 200


async def test_nothing_is_left_of_a_connection_that_was_reset(inside: Inside) -> None:
    gc.collect()
    gc.disable()
    try:
        async with await Wire.open(inside.url) as wire:
            assert (await wire.ask("GET", path="/healthz")).status == 200
            gone = weakref.ref(inside.connections[0])
            closing = struct.pack("ii", 1, 0)  # without a wait, which resets it
            wire.writer.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, closing
            )
        await poll(lambda: gone() is None)
    finally:
        gc.enable()


async def test_a_connection_that_is_closed_half_way_is_over(inside: Inside) -> None:
    wire = await Wire.open(inside.url)
    async with wire:
        await wire.send_raw(b"POST /mcp HTTP/1.1\r\nHost: x\r\n")
        wire.writer.write_eof()
        await wire.end()
    await inside.wait_until_kept()
