"""Servers over HTTP behind the whole workbench: the client sees no difference."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.downstream.remote.serving import ECHO, SESSION, discovered, initialized, serving, text
from tests.support.configs import server, toolboxes
from tests.support.sessions import failure_of, text_of
from tests.support.talking import Talker, able, using

if TYPE_CHECKING:
    from tests.conftest import Connect
    from tests.downstream.remote.serving import Asked, HttpServer, Reply
    from tests.support.client import Json

NO_SESSION = (
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID"}}'
)


def remote(http: HttpServer, **settings: object) -> Json:
    return toolboxes(dev={"web": {"url": http.url, **settings}})


class Forgetful:
    """A legacy server that has forgotten the sessions before the latest, and says so as it is told to."""

    def __init__(self, status: int, body: str, *, always: bool = False) -> None:
        self.status = status
        self.body = body
        self.always = always
        self.known: list[str] = []
        self.acted: list[str] = []

    async def __call__(self, asked: Asked, reply: Reply) -> None:
        if asked.calls == "initialize":
            self.known.append(f"session-{len(self.known)}")
            await initialized(asked, reply, session=self.known[-1])
        elif asked.calls == "tools/call" and (
            self.always or asked.headers["mcp-session-id"] not in self.known[1:]
        ):
            await reply.json(self.body, self.status)
        elif not await initialized(asked, reply):
            self.acted.append(asked.message["params"]["arguments"]["text"])
            await reply.result(asked, text("yes"))


@pytest.mark.parametrize(("status", "body"), [(404, ""), (404, NO_SESSION), (400, NO_SESSION)])
async def test_a_call_in_a_session_that_is_over_is_made_again_in_a_new_one(
    connect: Connect, status: int, body: str
) -> None:
    forgetful = Forgetful(status, body)
    async with serving(forgetful) as http:
        session = await connect(remote(http))
        result = await session.use_tool("dev", "web", "echo", {"text": "hello"})
        assert text_of(result) == "yes"
        await session.use_tool("dev", "web", "echo", {"text": "again"})
        await session.client.close()
    assert forgetful.acted == ["hello", "again"]
    assert len(forgetful.known) == 2
    assert [asked.headers["mcp-session-id"] for asked in http.asked if asked.method == "DELETE"] == [
        "session-1"
    ]


async def test_a_call_is_made_again_only_once(connect: Connect) -> None:
    forgetful = Forgetful(404, "", always=True)
    async with serving(forgetful) as http:
        session = await connect(remote(http))
        failure = failure_of(await session.use_tool("dev", "web", "echo", {"text": "hello"}))
    assert failure == (
        "Error executing tool 'echo' in server 'web' (toolbox 'dev'): the server ended the session. "
        "Nothing was done."
    )
    assert len(http.calls("tools/call")) == 2


async def test_many_calls_survive_the_end_of_their_session(connect: Connect) -> None:
    forgetful = Forgetful(404, "")
    async with serving(forgetful) as http:
        session = await connect(remote(http))
        await session.open_toolbox("dev")
        calls = [session.use_tool("dev", "web", "echo", {"text": str(number)}) for number in range(30)]
        assert {text_of(result) for result in await asyncio.gather(*calls)} == {"yes"}
    assert sorted(forgetful.acted, key=int) == [str(number) for number in range(30)]


async def test_a_tool_whose_marks_have_changed_is_looked_up_and_called_again(connect: Connect) -> None:
    plain, marked = (
        {"type": "object", "properties": {"text": {"type": "string", **marks}}}
        for marks in ({}, {"x-mcp-header": "Text"})
    )
    lists = 0

    async def handle(asked: Asked, reply: Reply) -> None:
        nonlocal lists
        lists += asked.calls == "tools/list"
        tool = {**ECHO, "inputSchema": plain if lists < 2 else marked}
        if await discovered(asked, reply, [tool]):
            return
        if asked.headers.get("mcp-param-text") != "hello":
            error = {"code": -32020, "message": "Header mismatch: Mcp-Param-Text is missing"}
            await reply.json({"jsonrpc": "2.0", "id": asked.id, "error": error}, 400)
        else:
            await reply.result(asked, text("yes"))

    async with serving(handle) as http:
        session = await connect(remote(http))
        assert text_of(await session.use_tool("dev", "web", "echo", {"text": "hello"})) == "yes"
    assert len(http.calls("tools/call")) == 2


async def test_a_remote_server_that_fails_does_not_fail_the_others(connect: Connect) -> None:
    async def handle(_: Asked, reply: Reply) -> None:
        await reply.status(401)

    async with serving(handle) as http:
        boxes = {"web": {"url": http.url}, "local": server()}
        session = await connect(toolboxes(dev=boxes))
        opened = json.loads(text_of(await session.open_toolbox("dev")))
    assert opened["servers_connected"] == 1
    error = opened["failed_servers"][0]["error"]
    assert error.startswith("Failed to connect to MCP server 'web': it requires a login")
    assert error.endswith("Run this in a terminal: mcp-workbench login dev/web")


async def test_nothing_secret_of_an_address_or_a_header_is_logged(connect_modern: Connect) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if not await discovered(asked, reply):
            leaked = f"{asked.path} {asked.headers['authorization']} {asked.headers['x-key']}"
            await reply.status(500, leaked.encode(), content_type="text/plain")

    async with serving(handle) as http:
        url = http.url.replace("http://", "http://me:pass-word-1@") + "?api_key=query-secret-2"
        headers = {"X-Key": "header-secret-3"}
        config = toolboxes(dev={"web": {"url": url, "headers": headers}})
        session = await connect_modern(config, "--log-level", "debug")
        result = await session.use_tool("dev", "web", "echo", {})
        await session.client.close()
    assert http.asked[0].path == "/mcp?api_key=query-secret-2"
    assert http.asked[0].headers["authorization"].startswith("Basic ")
    for secret in ("pass-word-1", "query-secret-2", "header-secret-3"):
        assert secret not in session.client.stderr
        assert secret not in json.dumps(result)


async def test_a_call_in_flight_ends_with_the_workbench_and_the_session_is_told(connect: Connect) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if not await initialized(asked, reply):
            await reply.gone()

    async with serving(handle) as http:
        session = await connect(remote(http))
        await session.begin_tool("dev", "web", "echo")
        await http.wait_for(lambda http: http.calls("tools/call"))
        await session.client.close()
        await http.wait_for(lambda http: http.asked[-1].method == "DELETE")
    assert http.asked[-1].headers["mcp-session-id"] == SESSION


async def test_what_a_legacy_server_asks_on_the_stream_of_a_call_is_for_its_caller(connect: Connect) -> None:
    """Over pipes nobody could tell which of the two it is about, and it would be refused."""
    waiting: dict[object, asyncio.Future[str]] = {}
    both = asyncio.Event()

    async def handle(asked: Asked, reply: Reply) -> None:
        if asked.body and asked.id in waiting:
            waiting[asked.id].set_result(asked.message["result"]["content"]["said"])
            await reply.status(202)
        elif not await initialized(asked, reply):
            who = asked.message["params"]["arguments"]["who"]
            waiting[f"q-{who}"] = asyncio.get_running_loop().create_future()
            if len(waiting) == 2:
                both.set()
            await both.wait()
            schema = {"type": "object", "properties": {"said": {"type": "string"}}}
            params = {"mode": "form", "message": f"Are you {who}?", "requestedSchema": schema}
            question = {"jsonrpc": "2.0", "id": f"q-{who}", "method": "elicitation/create", "params": params}
            await reply.events(f"data: {json.dumps(question)}", ends=False)
            done = {"jsonrpc": "2.0", "id": asked.id, "result": text(await waiting[f"q-{who}"])}
            await reply.event(f"data: {json.dumps(done)}")
            await reply.raw(b"0\r\n\r\n")

    async with serving(handle) as http:
        session = await connect(remote(http))
        session.capabilities = able(session.era)
        await session.greet()
        talker = Talker(session)
        asking = [using("web", {"who": who}, tool="echo") for who in ("Ada", "Bob")]
        calls = [talker.request("tools/call", params) for params in asking]
        said = [text_of(result) for result in await asyncio.gather(*calls)]
    assert said == ["Are you Ada?", "Are you Bob?"]


PROXY = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")


async def test_a_server_on_this_machine_is_reached_past_any_proxy(connect_modern: Connect) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if not await discovered(asked, reply):
            await reply.result(asked, text("yes"))

    async with serving(handle) as http:
        for url in (http.url, http.url.replace("127.0.0.1", "localhost")):
            session = await connect_modern(toolboxes(dev={"web": {"url": url}}), env=PROXY)
            assert text_of(await session.use_tool("dev", "web", "echo", {})) == "yes"


async def test_a_server_elsewhere_is_reached_by_the_proxy_of_the_environment(connect_modern: Connect) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if not await discovered(asked, reply):
            await reply.result(asked, text("by proxy"))

    async with serving(handle) as proxy:
        config = toolboxes(dev={"web": {"url": "http://tools.example.com/mcp"}})
        session = await connect_modern(config, env={"HTTP_PROXY": proxy.origin})
        assert text_of(await session.use_tool("dev", "web", "echo", {})) == "by proxy"
    assert {asked.path for asked in proxy.asked} == {"http://tools.example.com/mcp"}
