"""A modern server over HTTP: each request stands for itself, and says in its headers what it is."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.errors import BadAnswer, RemoteError, RequestTimeout
from tests.downstream.remote.serving import discovered, ready, serving, text
from tests.downstream.servers import call_tool, server
from tests.wire.loops import ON_BOTH_LOOPS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.downstream.remote.serving import Asked, Reply
    from tests.support.client import Json

pytestmark = ON_BOTH_LOOPS

ODD = (
    r'{"content":[],"a":1.0,"b":1e5,"c":1E+2,"d":"\u00e9\/é","e":123456789012345678901234567890,'
    r'"f":1,"f":2,"g" : [ ] ,"h":-0.0}'
)


async def answer(asked: Asked, reply: Reply) -> None:
    """Answer every call with a success."""
    if not await discovered(asked, reply):
        await reply.result(asked, text("yes"))


async def test_each_request_repeats_in_its_headers_what_it_is_about(tmp_path: Path) -> None:
    async with serving(answer) as http, server({"url": http.url}, tmp_path) as it:
        session = await ready(it)
        assert session.is_modern
        await call_tool(session, "echo", 5).result
    told = [(asked.headers["mcp-method"], asked.headers.get("mcp-name")) for asked in http.asked]
    assert told == [("server/discover", None), ("tools/list", None), ("tools/call", "echo")]
    assert {asked.headers["mcp-protocol-version"] for asked in http.asked} == {"2026-07-28"}
    assert {asked.headers["accept"] for asked in http.asked} == {"application/json, text/event-stream"}
    assert {asked.headers["content-type"] for asked in http.asked} == {"application/json"}


async def test_one_connection_serves_one_request_after_another(tmp_path: Path) -> None:
    async with serving(answer) as http, server({"url": http.url}, tmp_path) as it:
        session = await ready(it)
        for _ in range(3):
            await call_tool(session, "echo", 5).result
        assert {asked.connection for asked in http.asked} == {1}


async def test_a_connection_that_the_server_has_closed_does_not_fail_the_next_call(tmp_path: Path) -> None:
    async with serving(answer) as http, server({"url": http.url}, tmp_path) as it:
        session = await ready(it)
        for _ in range(20):
            http.drop_connections()
            await http.wait_for(lambda http: http.open_connections == 0)
            await call_tool(session, "echo", 5).result


async def test_many_calls_are_in_flight_at_once(tmp_path: Path) -> None:
    everyone = asyncio.Event()
    waiting = 0

    async def handle(asked: Asked, reply: Reply) -> None:
        nonlocal waiting
        if not await discovered(asked, reply):
            waiting += 1
            if waiting == 200:
                everyone.set()
            await everyone.wait()
            await reply.result(asked, text(str(asked.id)))

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        session = await ready(it)
        calls = [call_tool(session, "echo", 20) for _ in range(200)]
        said = [json.loads(bytes(await call.result))["content"][0]["text"] for call in calls]
    assert said == [str(call.id) for call in calls]


@pytest.mark.parametrize("as_events", [False, True], ids=["json", "events"])
async def test_a_result_comes_through_byte_for_byte(tmp_path: Path, as_events: bool) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if await discovered(asked, reply):
            return
        line = f'{{"jsonrpc":"2.0","id":{asked.id},"result":{ODD}}}'
        await (reply.events(f"data: {line}") if as_events else reply.json(line))

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        result = await call_tool(await ready(it), "echo", 5).result
    assert bytes(result).decode() == ODD


async def test_what_is_sent_is_the_bytes_that_came(tmp_path: Path) -> None:
    async with serving(answer) as http, server({"url": http.url}, tmp_path) as it:
        await call_tool(await ready(it), "écho\u2028", 5).result
    (asked,) = http.calls("tools/call")
    assert '"name":"écho\u2028"'.encode() in asked.body
    assert asked.headers["mcp-name"] == "=?base64?w6ljaG/igKg=?="


async def test_newlines_in_an_answer_do_not_get_into_a_line(tmp_path: Path) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if not await discovered(asked, reply):
            await reply.json(json.dumps({"jsonrpc": "2.0", "id": asked.id, "result": text("a\nb")}, indent=2))

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        result = bytes(await call_tool(await ready(it), "echo", 5).result)
    assert b"\n" not in result
    assert json.loads(result) == text("a\nb")


async def test_progress_comes_before_the_answer_on_its_stream(tmp_path: Path) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if await discovered(asked, reply):
            return
        token = asked.message["params"]["_meta"]["progressToken"]
        progress = {"progressToken": token, "progress": 1}
        note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}
        done = {"jsonrpc": "2.0", "id": asked.id, "result": text("done")}
        await reply.events(
            ": hello", f"data: {json.dumps(note)}", f"event: message\ndata: {json.dumps(done)}"
        )

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        call = call_tool(await ready(it), "echo", 5)
        await call.result
    assert [bytes(report["progress"]) for report in call.reports] == [b"1"]


async def test_cancelling_closes_the_stream_and_sends_nothing(tmp_path: Path) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if not await discovered(asked, reply):
            await reply.events(": working", ends=False)
            await reply.gone()

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        call = call_tool(await ready(it), "echo", 5)
        await http.wait_for(lambda http: http.calls("tools/call"))
        busy = http.open_connections
        call.cancel()
        await http.wait_for(lambda http: http.open_connections == busy - 1)
        assert http.calls("notifications/cancelled") == []


async def test_a_call_that_takes_too_long_is_cancelled(tmp_path: Path) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if not await discovered(asked, reply):
            await reply.gone()

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        call = call_tool(await ready(it), "echo", 0.2)
        with pytest.raises(RequestTimeout):
            await call.result
        # Of what was asked, only the question whether it is still there comes after.
        await http.wait_for(lambda http: len(http.calls("server/discover")) == 2)
        assert http.calls("notifications/cancelled") == []
        assert it.state == "ready"


@pytest.mark.parametrize("status", [200, 400, 404, 500])
async def test_an_error_of_the_servers_own_is_passed_on_whatever_the_status(
    tmp_path: Path, status: int
) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if not await discovered(asked, reply):
            error = {"code": -32602, "message": "no such tool", "data": {"x": 1}}
            await reply.json({"jsonrpc": "2.0", "id": asked.id, "error": error}, status)

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        with pytest.raises(RemoteError) as raised:
            await call_tool(await ready(it), "echo", 5).result
    assert (raised.value.code, raised.value.data) == (-32602, b'{"x": 1}')


async def test_an_answer_to_something_else_ends_the_wait_at_once(tmp_path: Path) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if not await discovered(asked, reply):
            await reply.json({"jsonrpc": "2.0", "id": 987654, "result": {}})

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        with pytest.raises(BadAnswer, match="belongs to another request"):
            await call_tool(await ready(it), "echo", 5).result


def marked(**properties: Json) -> Json:
    return {"name": "search", "inputSchema": {"type": "object", "properties": properties}}


async def test_marked_parameters_go_into_headers(tmp_path: Path) -> None:
    tools = [marked(region={"type": "string", "x-mcp-header": "Region"}, many={"type": "integer"})]

    async def handle(asked: Asked, reply: Reply) -> None:
        if not await discovered(asked, reply, tools):
            await reply.result(asked, text("yes"))

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        session = await ready(it)
        await call_tool(session, "search", 5, b'{"region":"eu west","many":3}').result
        await call_tool(session, "search", 5, b'{"region":null}').result
        await call_tool(session, "search", 5, '{"region":"Zürich"}'.encode()).result
    told = [asked.headers.get("mcp-param-region") for asked in http.calls("tools/call")]
    assert told == ["eu west", None, "=?base64?WsO8cmljaA==?="]


async def test_a_tool_that_is_marked_wrongly_is_left_out_with_a_note(tmp_path: Path) -> None:
    number = {"type": "number", "x-mcp-header": "Size"}
    wrong = {**marked(size=number), "name": "wrong"}
    telling = {**marked(**{"tell nobody": number}), "name": "Tell nobody"}
    tools = [wrong, telling, marked(region={"type": "string"})]

    async def handle(asked: Asked, reply: Reply) -> None:
        await discovered(asked, reply, tools)

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        listed = (await it.connect(modern=True)).listed
        assert [json.loads(bytes(tool))["name"] for tool in listed] == ["search"]
        assert it.up
        note, other = it.up[0].notes
    assert note.startswith("left out the tool 'wrong', parameter 'size': x-mcp-header is for strings")
    # A model reads the note, and the names may be meant for it.
    assert other.startswith("left out a tool whose name is not shown, a parameter: x-mcp-header is for")
