"""The HTTP+SSE transport of before: found where Streamable HTTP is not, or taken where it is asked for."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.downstream.remote import old_sse
from mcp_workbench.errors import ConnectionClosed, StartError
from tests.downstream.remote.serving import ECHO, ready, serving, text
from tests.downstream.servers import call_tool, server
from tests.wire.loops import ON_BOTH_LOOPS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.downstream.remote.serving import Asked, Reply

pytestmark = ON_BOTH_LOOPS


class Old:
    """A server of that transport."""

    def __init__(self, endpoint: str = "/messages?session=1", refusing: int = 405) -> None:
        self.endpoint = endpoint
        self.refusing = refusing
        self.streams: list[Reply] = []
        self.ended = asyncio.Event()
        self.vanishing = False
        """Whether calls are taken and not answered."""

    async def __call__(self, asked: Asked, reply: Reply) -> None:
        if asked.method == "GET":
            self.streams.append(reply)
            await reply.events(f"event: endpoint\ndata: {self.endpoint}", ends=False)
            gone = asyncio.create_task(reply.gone())
            ended = asyncio.create_task(self.ended.wait())
            await asyncio.wait([gone, ended], return_when=asyncio.FIRST_COMPLETED)
            gone.cancel()
            ended.cancel()
            reply.hang_up()
        elif asked.path == "/mcp":
            await reply.status(self.refusing)
        else:
            await reply.status(202)
            if not (self.vanishing and asked.calls == "tools/call"):
                await self.answer(asked)

    async def answer(self, asked: Asked) -> None:
        results = {
            "initialize": {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}},
            "tools/list": {"tools": [ECHO]},
            "tools/call": text("yes"),
        }
        if asked.calls in results:
            answer = {"jsonrpc": "2.0", "id": asked.id, "result": results[asked.calls]}
            await self.streams[-1].event(f"event: message\ndata: {json.dumps(answer)}")


@pytest.mark.parametrize("refusing", [400, 404, 405])
async def test_a_server_that_takes_no_handshake_by_post_is_tried_by_get(
    tmp_path: Path, refusing: int
) -> None:
    async with serving(Old(refusing=refusing)) as http, server({"url": http.url}, tmp_path) as it:
        result = await call_tool(await ready(it), "echo", 5).result
    assert json.loads(bytes(result)) == text("yes")
    assert [(asked.method, asked.path) for asked in http.asked][:4] == [
        ("POST", "/mcp"),
        ("POST", "/mcp"),
        ("GET", "/mcp"),
        ("POST", "/messages?session=1"),
    ]


async def test_a_server_that_is_said_to_be_of_that_transport_is_not_asked_for_another(tmp_path: Path) -> None:
    async with serving(Old()) as http, server({"url": http.url, "transport": "sse"}, tmp_path) as it:
        await call_tool(await ready(it), "echo", 5).result
    assert {(asked.method, asked.path) for asked in http.asked} == {
        ("GET", "/mcp"),
        ("POST", "/messages?session=1"),
    }


@pytest.mark.parametrize("elsewhere", ["http://127.0.0.1:9/x", "https://example.org/x", "//example.org/x"])
async def test_an_address_on_another_server_gets_nothing(tmp_path: Path, elsewhere: str) -> None:
    entry = {"transport": "sse", "headers": {"Authorization": "Bearer secret-token"}}
    async with serving(Old(elsewhere)) as http, server({"url": http.url, **entry}, tmp_path) as it:
        with pytest.raises(StartError, match="to another server, which is refused"):
            await it.connect(modern=True)


async def test_the_end_of_the_stream_fails_the_calls_and_the_next_use_opens_another(tmp_path: Path) -> None:
    old = Old()
    async with serving(old) as http, server({"url": http.url, "transport": "sse"}, tmp_path) as it:
        session = await ready(it)
        old.vanishing = True
        call = call_tool(session, "echo", 5)
        await http.wait_for(lambda http: http.calls("tools/call"))
        old.ended.set()
        with pytest.raises(ConnectionClosed):
            await call.result
        old.vanishing = False
        old.ended.clear()
        await call_tool(await ready(it), "echo", 5).result
    assert len(old.streams) == 2


async def test_one_that_does_not_say_where_to_send_requests_fails_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(old_sse, "ENDPOINT_TIMEOUT_SECONDS", 0.2)

    async def handle(_: Asked, reply: Reply) -> None:
        await reply.events(": nothing", ends=False)
        await reply.gone()

    async with serving(handle) as http, server({"url": http.url, "transport": "sse"}, tmp_path) as it:
        with pytest.raises(StartError, match=r"did not say within 0\.2 s where to send requests"):
            await it.connect(modern=True)


async def test_where_neither_transport_is_found_the_first_answer_counts(tmp_path: Path) -> None:
    async def handle(_: Asked, reply: Reply) -> None:
        await reply.status(404, b"nothing here", content_type="text/plain")

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        with pytest.raises(StartError) as raised:
            await it.connect(modern=True)
    assert raised.value.reason == (
        "there is no MCP server at this address (HTTP 404 Not Found: nothing here)"
    )
    assert raised.value.hint.startswith('Check "url"')
