"""`http_app` under a real web server that knows nothing of us, alone and mounted into another application."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
from typing import TYPE_CHECKING

import httpx2
import pytest
import uvicorn
from mcp import Client
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from mcp_workbench import CallRefused, ConfigError, http_app
from tests.serve.admission.test_tokens import ALICE, write_tokens
from tests.support.client import write_config
from tests.support.configs import acting, server, toolboxes
from tests.support.processes import wait_until_gone
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message

    from mcp_workbench import CallEnd, CallRecord
    from tests.support.client import Json
    from tests.support.journal import Journal

Environ = dict[str, str]

TOOL = {"toolbox": "dev", "server": "it", "tool": "echo"}
MODES = ["legacy", "2026-07-28"]


class QuietServer(uvicorn.Server):
    """uvicorn without its signal handlers: the signals are the test's."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def serving(app: ASGIApp, patience: int = 5) -> AsyncIterator[str]:
    """The address at which uvicorn serves an application, lifespan included."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        config = uvicorn.Config(app, lifespan="on", log_config=None, timeout_graceful_shutdown=patience)
        web_server = QuietServer(config)
        task = asyncio.create_task(web_server.serve([listening]))
        try:
            await poll(lambda: web_server.started or task.done())
            assert web_server.started
            yield f"http://127.0.0.1:{port}"
        finally:
            web_server.should_exit = True
            async with asyncio.timeout(PATIENCE):
                await task


async def echoed(client: Client, arguments: Json) -> Json:
    result = await client.call_tool("use_tool", {"tool": TOOL, "arguments": arguments})
    (block,) = result.content
    assert not result.is_error, block
    answer: Json = json.loads(block.text)  # type: ignore[union-attr] # the server answers with text
    return answer


async def hello(_: Request) -> PlainTextResponse:
    return PlainTextResponse("hello")


@pytest.mark.parametrize("mode", MODES)
async def test_mounted_into_another_application_it_serves_clients_of_both_versions(
    mode: str, environ: Environ, journal: Journal
) -> None:
    app = http_app(toolboxes(dev={"it": server(journal)}), environ=environ)
    outer = Starlette(routes=[Route("/", hello), Mount("/tools", app=app)], lifespan=app.lifespan)
    async with serving(outer) as address:
        async with Client(f"{address}/tools/mcp", mode=mode) as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == ["open_toolbox", "use_tool"]
            opened = await client.call_tool("open_toolbox", {"toolbox_name": "dev"})
            assert not opened.is_error
            assert await echoed(client, {"a": 1}) == {"a": 1}
        async with httpx2.AsyncClient() as http:
            assert (await http.get(f"{address}/")).text == "hello"
            assert (await http.get(f"{address}/tools/healthz")).json() == {"status": "alive"}
            assert (await http.get(f"{address}/tools/readyz")).json() == {"status": "ready"}
            assert (await http.post(f"{address}/mcp")).status_code == 404
            assert (await http.post(f"{address}/tools/other")).status_code == 404
    assert journal.starts == 1
    await wait_until_gone(journal.pids)


@pytest.mark.parametrize("path", ["/mcp", "/", "/a/b"])
async def test_served_by_itself_it_runs_its_own_lifespan(path: str, environ: Environ, tmp_path: Path) -> None:
    app = http_app(write_config(tmp_path, toolboxes(dev={"it": server()})), path=path, environ=environ)
    async with serving(app) as address, Client(f"{address}{path}", mode="auto") as client:
        assert await echoed(client, {"b": 2}) == {"b": 2}


async def test_mounted_where_it_is_the_whole_path_it_needs_no_path_of_its_own(environ: Environ) -> None:
    app = http_app(toolboxes(dev={"it": server()}), path="/", environ=environ)
    outer = Starlette(routes=[Mount("/mcp", app=app)], lifespan=app.lifespan)
    async with serving(outer) as address, Client(f"{address}/mcp/", mode="auto") as client:
        assert await echoed(client, {}) == {}


async def test_it_can_be_part_of_a_lifespan_that_the_outer_application_has(environ: Environ) -> None:
    app = http_app(toolboxes(dev={"it": server()}), environ=environ)
    events: list[str] = []

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with app.lifespan():
            events.append("started")
            yield
        events.append("ended")

    outer = Starlette(routes=[Mount("/", app=app)], lifespan=lifespan)
    async with serving(outer) as address, Client(f"{address}/mcp", mode="auto") as client:
        assert await echoed(client, {}) == {}
    assert events == ["started", "ended"]


async def test_ending_the_web_server_with_a_call_in_flight_leaves_no_process(
    environ: Environ, journal: Journal
) -> None:
    app = http_app(toolboxes(dev={"it": acting("slow", "hang", journal)}), environ=environ)

    async def call(address: str) -> None:
        async with Client(f"{address}/mcp", mode="auto") as client:
            await client.call_tool("use_tool", {"tool": TOOL | {"tool": "slow"}, "arguments": {}})

    async with serving(app, patience=1) as address:
        calling = asyncio.create_task(call(address))
        await journal.wait_for_call()
    await wait_until_gone(journal.pids)
    calling.cancel()
    await asyncio.gather(calling, return_exceptions=True)


async def ask(app: ASGIApp, scope: Json) -> list[Message]:
    """What an application answers to a bare ASGI request."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"{}"}

    async def send(message: Message) -> None:
        sent.append(message)

    request: Json = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    request |= scope
    await app(request, receive, send)
    return sent


async def test_without_its_lifespan_it_says_what_to_do(environ: Environ) -> None:
    app = http_app(toolboxes(dev={}), environ=environ)
    with pytest.raises(RuntimeError, match=r"pass `lifespan=app\.lifespan` to the outer one"):
        await ask(app, {})


async def test_its_lifespan_runs_once_at_a_time_and_can_be_run_again(environ: Environ) -> None:
    app = http_app(toolboxes(dev={}), environ=environ)
    for _ in range(2):
        async with app.lifespan():
            with pytest.raises(RuntimeError, match="is running already"):
                await app.lifespan().__aenter__()
            (head, _body) = await ask(app, {"path": "/readyz", "method": "GET"})
            assert head["status"] == 200


@pytest.mark.parametrize(
    ("scope", "status"),
    [
        ({"headers": [(b"host", b"evil.example")]}, 421),
        ({"headers": [(b"host", b"localhost"), (b"origin", b"https://evil.example")]}, 403),
        ({"server": ("192.168.1.5", 80)}, 403),
        ({"server": ("0.0.0.0", 80)}, 403),  # noqa: S104 - nothing is bound
        ({"server": ("::1", 80)}, 415),
        ({"server": ("/run/socket", None)}, 415),
        ({}, 415),
    ],
)
async def test_without_tokens_only_requests_that_were_meant_for_this_machine_are_served(
    scope: Json, status: int, environ: Environ
) -> None:
    app = http_app(toolboxes(dev={}), environ=environ)
    async with app.lifespan():
        head, *_ = await ask(app, scope)
    assert head["status"] == status


def test_a_path_without_its_slash_is_refused(environ: Environ) -> None:
    with pytest.raises(ValueError, match="has to begin with a slash"):
        http_app(toolboxes(dev={}), path="mcp", environ=environ)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "tools.example.org"])  # noqa: S104 - nothing is bound
def test_beyond_this_machine_a_token_is_needed(host: str, environ: Environ) -> None:
    with pytest.raises(ConfigError, match="a token file is required") as raised:
        http_app(toolboxes(dev={}), host=host, environ=environ)
    assert "token_file" in str(raised.value)


async def test_with_a_token_file_only_clients_with_a_token_are_served(
    environ: Environ, tmp_path: Path
) -> None:
    tokens = write_tokens(tmp_path, alice=(ALICE, ["*"]))
    config = toolboxes(dev={"it": server()})
    app = http_app(config, host="tools.example.org", token_file=tokens, environ=environ)
    headers = [(b"host", b"tools.example.org"), (b"content-type", b"application/json")]
    bearer = (b"authorization", b"Bearer " + ALICE.encode())
    elsewhere = {"server": ("192.168.1.5", 80)}
    async with app.lifespan():
        without, *_ = await ask(app, {"headers": headers, **elsewhere})
        with_token, *_ = await ask(app, {"headers": [*headers, bearer], **elsewhere})
    assert (without["status"], with_token["status"]) == (401, 400)


async def test_calls_over_http_pass_the_hooks_too(environ: Environ) -> None:
    ended: list[tuple[str, str, str]] = []

    class Policy:
        def decide(self, record: CallRecord) -> None:
            if record.request_bytes > 20:
                raise CallRefused(record.name, "it", "dev", "too much")

    class Observing:
        def on_begin(self, record: CallRecord) -> None: ...

        def on_end(self, record: CallRecord, end: CallEnd) -> None:
            ended.append((record.label, end.outcome, record.client))

    config = toolboxes(dev={"it": server()})
    app = http_app(config, environ=environ, deciders=[Policy()], observers=[Observing()])
    async with serving(app) as address, Client(f"{address}/mcp", mode="auto") as client:
        assert await echoed(client, {"a": 1}) == {"a": 1}
        refused = await client.call_tool("use_tool", {"tool": TOOL, "arguments": {"text": "x" * 30}})
    assert refused.is_error
    assert [outcome for _, outcome, _ in ended] == ["answered", "refused"]
    assert {(label, client) for label, _, client in ended} == {("dev/it/echo", "mcp")}


async def test_a_file_that_changes_is_taken_over_while_it_serves(
    environ: Environ, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mcp_workbench")
    app = http_app(write_config(tmp_path, toolboxes(dev={})), environ=environ)
    async with serving(app) as address, Client(f"{address}/mcp", mode="legacy") as client:
        write_config(tmp_path, toolboxes(dev={"it": server()}))
        await poll(lambda: "the configuration is reloaded" in caplog.text)
        assert await echoed(client, {"c": 3}) == {"c": 3}
