"""Every wrong message gets its JSON-RPC error, and the connection goes on."""

from __future__ import annotations

import contextlib
import json
from itertools import count
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.servers.scripted import MODERN_VERSION, RESERVED
from tests.support.client import RawClient, clean_environment, serve_command, write_config
from tests.support.configs import acting, server, toolboxes
from tests.support.nesting import TOO_DEEP
from tests.support.sessions import LegacySession, ModernSession, session_of, text_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from tests.conftest import Start
    from tests.support.client import Json
    from tests.support.journal import Journal
    from tests.support.sessions import Era, Session

CONFIG = toolboxes(dev={"files": server()})
on_a_shared_connection = pytest.mark.asyncio(loop_scope="module")
numbers = count()


async def answers_to(client: RawClient, data: bytes) -> list[Json]:
    """All that comes back for some bytes before the answer to a ping that follows them."""
    before, name = len(client.received), f"after {next(numbers)}"
    ping = json.dumps({"jsonrpc": "2.0", "id": name, "method": "ping"}).encode() + b"\n"
    await client.send_raw(data + ping)
    pong = {"jsonrpc": "2.0", "id": name, "result": {}}
    assert await client.wait_for(lambda message: message.get("id") == name) == pong
    return [message for message in client.received[before:] if message != pong]


class Connections:
    """One workbench for each use, which many tests share: none of them may end the connection."""

    def __init__(self, home: Path, stack: contextlib.AsyncExitStack) -> None:
        self._home = home
        self._stack = stack
        self._clients: dict[str, RawClient] = {}
        self._sessions: dict[Era, Session] = {}

    async def client(self, use: str = "") -> RawClient:
        """A connection without a handshake."""
        if use not in self._clients:
            command = serve_command(write_config(self._home, CONFIG))
            client = RawClient(command, clean_environment(self._home))
            self._clients[use] = await self._stack.enter_async_context(client)
        return self._clients[use]

    async def session(self, era: Era) -> Session:
        """A connection after the handshake of a client of that version."""
        if era not in self._sessions:
            self._sessions[era] = session_of(era, await self.client(era))
            await self._sessions[era].greet()
        return self._sessions[era]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_connections(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Connections]:
    async with contextlib.AsyncExitStack() as stack:
        yield Connections(tmp_path_factory.mktemp("shared"), stack)


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"',
        b'{"jsonrpc":"2.0","id":1,"method":"p\xffing"}',
        b"\x00",
        b"[1,",
    ],
)
@on_a_shared_connection
async def test_a_line_that_is_no_json_is_a_parse_error(shared_connections: Connections, line: bytes) -> None:
    (answer,) = await answers_to(await shared_connections.client(), line + b"\n")
    assert (answer.get("id"), answer["error"]["code"]) == (None, -32700)


@pytest.mark.parametrize(
    "line",
    [
        b"5",
        b'"text"',
        b"null",
        b"[]",
        b'[{"jsonrpc":"2.0","method":"ping"}]',
        b"{}",
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
        b'{"jsonrpc":"2.0","id":[1],"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    ],
)
@on_a_shared_connection
async def test_what_is_no_request_is_an_invalid_request_of_nobody(
    shared_connections: Connections, line: bytes
) -> None:
    (answer,) = await answers_to(await shared_connections.client(), line + b"\n")
    assert (answer.get("id"), answer["error"]["code"]) == (None, -32600)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":1,"method":5}',
        b'{"jsonrpc":"2.0","id":1,"method":null}',
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
        b'{"id":1,"method":"ping"}',
    ],
)
@on_a_shared_connection
async def test_an_invalid_request_with_an_id_is_answered_to_that_id(
    shared_connections: Connections, line: bytes
) -> None:
    (answer,) = await answers_to(await shared_connections.client(), line + b"\n")
    assert (answer["id"], answer["error"]["code"]) == (1, -32600)


@on_a_shared_connection
async def test_a_request_of_no_era_is_told_what_it_lacks(shared_connections: Connections) -> None:
    client = await shared_connections.client()
    for method in ("tools/list", "tools/call"):
        assert (await client.request(method, {}))["error"]["code"] == -32602
    assert (await client.request("ping"))["result"] == {}


@pytest.mark.parametrize("method", ["tools/nothing", "resources/nothing", "", "workbench/secret"])
@on_a_shared_connection
async def test_an_unknown_method_is_not_found(
    shared_connections: Connections, client_era: Era, method: str
) -> None:
    session = await shared_connections.session(client_era)
    assert (await session.request(method))["error"]["code"] == -32601
    await session.list_tools()


@on_a_shared_connection
async def test_an_unknown_tool_is_an_invalid_parameter(
    shared_connections: Connections, client_era: Era
) -> None:
    session = await shared_connections.session(client_era)
    answer = await session.request("tools/call", {"name": "close_toolbox", "arguments": {}})
    assert answer["error"]["code"] == -32602
    assert "close_toolbox" in answer["error"]["message"]


@pytest.mark.parametrize("params", ["{}", '{"name":5}', '{"name":"use_tool","arguments":[]}', "[1]", '"x"'])
@on_a_shared_connection
async def test_a_call_without_sense_is_an_invalid_parameter(
    shared_connections: Connections, params: str
) -> None:
    session = await shared_connections.session("legacy")
    assert (await session.client.exchange("tools/call", params)).message["error"]["code"] == -32602


@pytest.mark.parametrize("missing", ["clientCapabilities", "protocolVersion"])
@on_a_shared_connection
async def test_a_modern_request_without_a_required_key_is_an_invalid_parameter(
    shared_connections: Connections, missing: str
) -> None:
    session = ModernSession(await shared_connections.client())
    meta = session.stamp(None)
    del meta[RESERVED + missing]
    answer = await session.client.request("tools/list", {"_meta": meta})
    assert answer["error"]["code"] == -32602
    await session.list_tools()


@pytest.mark.parametrize("version", [None, 5, ["2026-07-28"], {}])
@on_a_shared_connection
async def test_a_version_that_is_no_text_is_an_invalid_parameter(
    shared_connections: Connections, version: object
) -> None:
    session = ModernSession(await shared_connections.client())
    meta = {**session.stamp(None), RESERVED + "protocolVersion": version}
    assert (await session.client.request("tools/list", {"_meta": meta}))["error"]["code"] == -32602


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 5, "capabilities": {}}, None])
async def test_a_handshake_without_a_version_is_an_invalid_parameter(
    start: Start, params: Json | None
) -> None:
    client = await start(CONFIG)
    assert (await client.request("initialize", params))["error"]["code"] == -32602
    await LegacySession(client).greet()


@on_a_shared_connection
async def test_a_modern_client_need_not_say_who_it_is(shared_connections: Connections) -> None:
    session = ModernSession(await shared_connections.client())
    meta = session.stamp(None)
    del meta[RESERVED + "clientInfo"]
    assert "result" in await session.client.request("tools/list", {"_meta": meta})


@on_a_shared_connection
async def test_an_unsupported_version_is_told_which_are_supported(shared_connections: Connections) -> None:
    client = await shared_connections.client()
    error = (await ModernSession(client, "1900-01-01").request("tools/list"))["error"]
    assert error["code"] == -32022
    assert error["data"]["requested"] == "1900-01-01"
    assert MODERN_VERSION in error["data"]["supported"]
    await ModernSession(client).list_tools()


async def another_call(session: LegacySession) -> None:
    await session.begin_tool("dev", "slow", "echo", '{"second":1}', request_id="twice")


async def a_ping(session: LegacySession) -> None:
    await session.client.send({"jsonrpc": "2.0", "id": "twice", "method": "ping"})


@pytest.mark.parametrize("second", [another_call, a_ping])
async def test_an_id_in_use_is_refused_and_its_first_owner_still_served(
    start: Start, journal: Journal, second: Callable[[LegacySession], Awaitable[None]]
) -> None:
    config = toolboxes(dev={"slow": acting("nap", "echo", journal, after=0.5)})
    session = LegacySession(await start(config))
    await session.greet()
    await session.begin_tool("dev", "slow", "nap", '{"first":1}', request_id="twice")
    await journal.wait_for_call()
    await second(session)
    refusal = await session.client.wait_for(lambda it: it.get("id") == "twice" and "error" in it)
    served = await session.client.wait_for(lambda it: it.get("id") == "twice" and "result" in it)
    assert refusal["error"]["code"] == -32600
    assert text_of(served["result"]) == '{"first":1}'


@pytest.mark.parametrize(
    "message",
    [
        {"method": "notifications/unheard-of"},
        {"method": "notifications/cancelled"},
        {"method": "notifications/cancelled", "params": {"requestId": "nobody"}},
        {"method": "notifications/cancelled", "params": {"requestId": {}}},
        {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}},
        {"method": "tools/list"},
        {"method": "notifications/initialized", "params": [1]},
        {"id": "never-asked", "result": {}},
        {"id": "never-asked", "error": {"code": 1, "message": "no"}},
    ],
)
@on_a_shared_connection
async def test_a_notification_or_stray_answer_is_never_answered(
    shared_connections: Connections, client_era: Era, message: Json
) -> None:
    session = await shared_connections.session(client_era)
    line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
    assert await answers_to(session.client, line) == []


@pytest.mark.parametrize("noise", [b"\n", b"\r\n", b"   \n", b"\n\n\n"])
@on_a_shared_connection
async def test_blank_lines_are_passed_over(shared_connections: Connections, noise: bytes) -> None:
    assert await answers_to(await shared_connections.client(), noise) == []


@on_a_shared_connection
async def test_lines_may_end_in_crlf(shared_connections: Connections) -> None:
    (answer,) = await answers_to(
        await shared_connections.client(), b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n'
    )
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": {}}


@on_a_shared_connection
async def test_requests_may_arrive_in_one_piece_or_in_crumbs(shared_connections: Connections) -> None:
    client = await shared_connections.client()
    for byte in b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n':
        await client.send_raw(bytes([byte]))
    answers = await answers_to(client, b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
    assert [answer["id"] for answer in answers] == [1, 2]


@on_a_shared_connection
async def test_json_nested_beyond_reason_does_not_end_the_connection(shared_connections: Connections) -> None:
    deep = b"[" * TOO_DEEP + b"]" * TOO_DEEP
    line = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":' + deep + b"}}\n"
    (answer,) = await answers_to(await shared_connections.client(), line)
    assert (answer["id"], answer["error"]["code"]) == (1, -32600)


async def test_a_batch_is_taken_apart_in_the_one_version_that_has_batches(start: Start) -> None:
    session = LegacySession(await start(CONFIG), "2025-03-26")
    await session.greet()
    requests = ({"jsonrpc": "2.0", "id": number, "method": "ping"} for number in ("a", "b"))
    told = {"jsonrpc": "2.0", "method": "notifications/unheard-of"}
    answers = await answers_to(session.client, json.dumps([*requests, told]).encode() + b"\n")
    assert answers == [{"jsonrpc": "2.0", "id": number, "result": {}} for number in ("a", "b")]
