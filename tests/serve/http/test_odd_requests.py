"""Requests that are odd but have to be answered, and what comes with them that must not count."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.serve import connections
from mcp_workbench.surface.http import exchange
from tests.grid.benches import conversing_server
from tests.serve.http.inside import serving
from tests.serve.http.raw_clients import JSON
from tests.support.configs import toolboxes
from tests.support.http import head
from tests.support.journal import Journal
from tests.support.sessions import result_of
from tests.support.talking import using
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from mcp_workbench.serve.connections import LimitedConnection
    from tests.serve.http.inside import Inside
    from tests.serve.http.raw_clients import Legacy
    from tests.support.client import Json

PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
OF_A_SESSION = {"sessions": 1, "listeners": 1, "connections": 2}
"""What there is of a legacy client that does nothing: it has come on two connections."""
GARBAGE = b"\x16\x03\x01\x02\x00\x01\r\n\r\n"


@pytest.fixture
async def inside(tmp_path: Path) -> AsyncIterator[Inside]:
    config = toolboxes(dev={"legacy": conversing_server("legacy", Journal(tmp_path / "journal"))})
    async with serving(tmp_path, config) as inside:
        yield inside


def request(inside: Inside, headers: dict[str, str], body: bytes = PING) -> bytes:
    host = ("Host", inside.url.split("/")[2])
    return head("POST", "/mcp", [host, *headers.items(), ("Content-Length", str(len(body)))]) + body


def chunked(inside: Inside, headers: dict[str, str], trailers: bytes) -> bytes:
    """A ping in one chunk, with trailers."""
    pairs = [("Host", inside.url.split("/")[2]), *headers.items(), ("Transfer-Encoding", "chunked")]
    return head("POST", "/mcp", pairs) + b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(PING), PING, trailers)


async def test_a_trailer_is_no_header_of_its_request_nor_of_the_next(inside: Inside) -> None:
    client = await inside.legacy()
    wire = await client.wire()
    trailer = b"Mcp-Session-Id: %b\r\n" % client.headers["Mcp-Session-Id"].encode()
    await wire.send_raw(chunked(inside, JSON, trailer))
    response = await wire.response()
    assert response.status == 400
    assert "needs the Mcp-Session-Id header" in (await response.json())["error"]["message"]
    response = await wire.ask("POST", JSON, PING)
    assert (response.status, "Mcp-Session-Id" in str(await response.json())) == (400, True)


@pytest.mark.parametrize(
    "trailer", [b"Host: evil.example", b"Origin: http://evil.example", b"Authorization: Bearer x", b"X: y"]
)
async def test_trailers_change_nothing_about_a_request(inside: Inside, trailer: bytes) -> None:
    client = await inside.legacy()
    wire = await client.wire()
    for _ in range(2):
        await wire.send_raw(chunked(inside, {**JSON, **client.headers}, trailer + b"\r\n"))
        assert result_of(await (await wire.response()).json()) == {}


@pytest.mark.parametrize("more", [b"X: y\r\n", b"x"], ids=["many", "a long one"])
async def test_trailers_without_end_are_not_listened_to(inside: Inside, more: bytes) -> None:
    client = await inside.legacy()
    wire = await client.wire()
    whole = chunked(inside, {**JSON, **client.headers}, b"")
    await wire.send_raw(whole.removesuffix(b"\r\n") + b"X: ")
    assert await wire.flood(more * 1000) < 8_000_000
    await inside.wait_until_kept(**OF_A_SESSION)


@pytest.mark.parametrize("count", [1, 3])
async def test_requests_before_garbage_are_answered_and_then_the_garbage_is_refused(
    inside: Inside, count: int
) -> None:
    client = await inside.legacy()
    wire = await client.wire()
    # More of it than would be listened to after the 400.
    await wire.send_raw(request(inside, {**JSON, **client.headers}) * count + GARBAGE * 50_000)
    for _ in range(count):
        response = await wire.response()
        assert (response.status, result_of(await response.json())) == (200, {})
    response = await wire.response()
    assert (response.status, await response.body()) == (400, connections.INVALID_HTTP.encode())
    assert await wire.end() == b""
    wire.cut()
    await inside.wait_until_kept(**OF_A_SESSION)


async def test_a_request_whose_body_turns_to_garbage_is_not_acted_upon(inside: Inside) -> None:
    client = await inside.legacy()
    wire = await client.wire()
    whole = chunked(inside, {**JSON, **client.headers}, b"")
    await wire.send_raw(request(inside, {**JSON, **client.headers}))
    await wire.send_raw(whole.replace(b"0\r\n\r\n", b"zz\r\n\r\n"))
    statuses = [(await wire.response()).status]
    assert statuses == [200]
    assert b" 400 " in await wire.end()


async def test_a_request_that_was_cut_short_is_not_acted_upon(inside: Inside) -> None:
    client = await inside.legacy()
    wire = await client.wire()
    params = using("legacy", {"steps": []})
    body = json.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}).encode()
    pairs = {**JSON, **client.headers, "Content-Length": str(len(body) + 10)}
    await wire.send("POST", pairs)
    await wire.send_raw(body)
    await poll(lambda: any(it._in_body for it in inside.connections))
    wire.writer.write_eof()
    assert await wire.end() == b""
    await inside.wait_until_kept(**OF_A_SESSION)
    assert not inside.workbench.toolbox_servers["dev", "legacy"].server.in_use


@pytest.mark.parametrize(
    "raw", [GARBAGE, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 12_000], ids=["no HTTP", "long"]
)
async def test_a_refusal_reaches_a_client_that_sends_on(inside: Inside, raw: bytes) -> None:
    wire = await (await inside.modern()).wire()
    stalled = wire.writer.transport
    assert isinstance(stalled, asyncio.Transport)
    stalled.pause_reading()
    await wire.send_raw(raw)
    await poll(lambda: all(it._is_ending for it in inside.connections))
    for _ in range(10):
        await wire.send_raw(b"X: y\r\n" * 1000)
    stalled.resume_reading()
    assert (await wire.response()).status == 400


def is_begun(connection: LimitedConnection) -> bool:
    return connection._served is not None and connection._served.response_started


async def half_close(inside: Inside, client: Legacy, *steps: Json) -> list[Json]:
    """Send a call, end this side of the connection, and return what is answered."""
    wire = await client.wire()
    params = using("legacy", {"steps": [*steps]})
    call = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}
    await wire.send("POST", {**JSON, **client.headers}, json.dumps(call).encode())
    wire.writer.write_eof()
    response = await wire.response()
    messages = await response.messages()
    assert await wire.end() == b""
    return messages


async def test_a_client_that_ends_its_side_gets_its_answer(inside: Inside) -> None:
    client = await inside.legacy()
    messages = await half_close(inside, client, {"result": {"content": []}})
    assert result_of(messages[-1])["content"] == []
    await inside.wait_until_kept(**OF_A_SESSION)


async def test_a_client_that_ends_its_side_is_waited_for_with_a_stream_of_events(
    inside: Inside, tmp_path: Path
) -> None:
    client = await inside.legacy()
    flag = tmp_path / "flag"
    steps: list[Json] = [{"wait": str(flag)}, {"result": {"content": []}}]
    answering = asyncio.create_task(half_close(inside, client, *steps))
    # What shows whether it is there is the beginning of the stream.
    await poll(lambda: any(it.is_half_closed and is_begun(it) for it in inside.connections))
    flag.touch()
    assert result_of((await answering)[-1])["content"] == []


async def test_a_client_that_listens_with_its_side_ended_is_told_on_until_it_is_gone(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "KEEP_ALIVE_SECONDS", 0.05)
    client = await inside.modern()
    stream = await client.listen(toolsListChanged=True)
    stream.wire.writer.write_eof()
    await poll(lambda: any(it.is_half_closed for it in inside.connections))
    for client_connection in list(inside.clients._client_connections):
        client_connection.tell_tools_changed()
    assert (await stream.next_message())["method"] == "notifications/tools/list_changed"
    stream.wire.cut()
    await inside.wait_until_kept()


async def test_several_requests_before_the_end_of_a_side_are_all_answered(inside: Inside) -> None:
    client = await inside.legacy()
    wire = await client.wire()
    whole = request(inside, {**JSON, **client.headers})
    await wire.send_raw(whole * 3 + whole[:-5])
    wire.writer.write_eof()
    for _ in range(3):
        assert result_of(await (await wire.response()).json()) == {}
    assert await wire.end() == b""
