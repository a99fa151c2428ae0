"""Resources, prompts and completions come from the one server that has them, and so do the errors."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.support.configs import toolboxes
from tests.support.sessions import result_of
from tests.support.stocks import stock

if TYPE_CHECKING:
    from tests.conftest import Connect
    from tests.support.client import Json
    from tests.support.journal import Journal
    from tests.support.sessions import Era, Session

SECRET = "sesame-sesame"  # noqa: S105 - one of the tests
REQUESTS: list[tuple[str, Json]] = [
    ("resources/read", {"uri": "workbench:dev/s/test://one"}),
    ("prompts/get", {"name": "dev/s/one"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "dev/s/one"}, "argument": {}}),
]
each_request = pytest.mark.parametrize(("method", "params"), REQUESTS, ids=[it[0] for it in REQUESTS])


async def failing(session: Session, method: str, params: Json) -> Json:
    error: Json = (await session.request(method, params))["error"]
    return error


async def read(session: Session, uri: str) -> Json:
    return result_of(await session.request("resources/read", {"uri": uri}))


@each_request
async def test_parameters_pass_as_they_came_but_for_the_name(
    connect: Connect, journal: Journal, method: str, params: Json
) -> None:
    answers = {method: '{"x":[1.50],"resultType":"complete"}'}
    session = await connect(toolboxes(dev={"s": stock("modern", journal, answers=answers)}))
    others = '"x-unknown":{"a":[1.50, 1e3]},"arguments":{"b":"\\u00fc"}'
    reply = await session.exchange(method, f"{json.dumps(params)[:-1]},{others}}}", {"vendor/key": 1})
    assert reply.message["result"]["x"] == [1.5]
    assert b'"x":[1.50]' in reply.line
    (line,) = [line for line in journal.lines if f'"{method}"' in line]
    sent = json.loads(line)["params"]
    meta = sent.pop("_meta")
    assert (meta["vendor/key"], meta["io.modelcontextprotocol/clientInfo"]["name"]) == (1, "mcp-workbench")
    own = json.loads(json.dumps(params).replace("workbench:", "").replace("dev/s/", ""))
    assert sent == {**own, "x-unknown": {"a": [1.5, 1e3]}, "arguments": {"b": "ü"}}
    assert others in line


@each_request
async def test_the_servers_own_error_is_passed_on_without_secrets(
    connect: Connect, server_era: Era, method: str, params: Json
) -> None:
    said = {"code": -31999, "message": f"No: {SECRET}", "data": {"why": [1, SECRET]}}
    weak = stock(server_era, entry={"env": {"API_KEY": SECRET}}, errors={method: json.dumps(said)})
    session = await connect(toolboxes(dev={"s": weak}))
    error = await failing(session, method, params)
    assert (error["code"], error["data"]["why"][0]) == (-31999, 1)
    assert error["message"].startswith("No: ")
    assert SECRET not in json.dumps(error)


@each_request
async def test_a_server_that_does_not_offer_it_is_named(
    connect: Connect, journal: Journal, server_era: Era, method: str, params: Json
) -> None:
    session = await connect(toolboxes(dev={"s": stock(server_era, journal, offers={"tools": {}})}))
    error = await failing(session, method, params)
    assert error["message"].startswith("Server 's' (toolbox 'dev') does not offer ")
    assert error["code"] == (-32002 if (method, session.era) == ("resources/read", "legacy") else -32602)
    assert journal.messages(method) == []


@each_request
async def test_a_server_that_fails_is_explained_as_for_a_tool(
    connect: Connect, server_era: Era, method: str, params: Json
) -> None:
    mute = stock(server_era, entry={"timeout": 0.3}, silent=[method])
    session = await connect(toolboxes(dev={"s": mute}))
    error = await failing(session, method, params)
    assert error["code"] == -32603
    assert error["message"].startswith("Error in server 's' (toolbox 'dev'): no answer within 0.3 s")


@each_request
async def test_a_server_that_cannot_be_started_is_explained_as_for_a_tool(
    connect: Connect, server_era: Era, method: str, params: Json
) -> None:
    session = await connect(toolboxes(dev={"s": stock(server_era, exit=3, stderr=["out of luck"])}))
    error = await failing(session, method, params)
    assert error["code"] == -32603
    assert "Failed to connect to MCP server 's'" in error["message"]
    assert "out of luck" in error["message"]


@each_request
async def test_a_request_that_is_cancelled_is_cancelled_downstream(
    connect: Connect, journal: Journal, server_era: Era, method: str, params: Json
) -> None:
    session = await connect(toolboxes(dev={"s": stock(server_era, journal, silent=[method])}))
    answer = await session.begin(method, json.dumps(params), request_id="mine")
    await journal.wait_until(lambda it: it.messages(method))
    await session.client.notify("notifications/cancelled", {"requestId": "mine"})
    await journal.wait_until(lambda it: it.messages("notifications/cancelled"))
    (sent,), (cancelled,) = journal.messages(method), journal.messages("notifications/cancelled")
    assert cancelled["params"]["requestId"] == sent["id"]
    await session.list_tools()
    assert not answer.done()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {}),
        ("resources/read", {"uri": 7}),
        ("prompts/get", {"name": 7}),
        ("prompts/get", {}),
        ("prompts/get", {"name": "dev/s"}),
        ("prompts/get", {"name": "dev/t/x"}),
        ("completion/complete", {}),
        ("completion/complete", {"ref": {"type": "ref/other", "name": "dev/s/x"}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "uri": "dev/s/x"}}),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": "test://one"}}),
    ],
)
async def test_what_is_malformed_or_leads_nowhere_is_an_invalid_parameter(
    connect: Connect, method: str, params: Json
) -> None:
    session = await connect(toolboxes(dev={"s": stock("modern")}))
    assert (await failing(session, method, params))["code"] == -32602


@pytest.mark.parametrize(
    "uri", ["workbench:dev", "workbench:none/s/x:y", "workbench:dev/none/x:y", "x:nothing-is-open"]
)
async def test_a_resource_that_there_is_not_is_not_found_in_the_words_of_the_era(
    connect: Connect, uri: str
) -> None:
    session = await connect(toolboxes(dev={"s": stock("modern")}))
    error = await failing(session, "resources/read", {"uri": uri})
    assert error["code"] == (-32602 if session.era == "modern" else -32002)
    assert error["data"] == {"uri": uri}
    assert "not found" in error["message"]


async def test_a_legacy_servers_not_found_is_told_in_the_words_of_the_era(
    connect: Connect, server_era: Era
) -> None:
    session = await connect(toolboxes(dev={"s": stock(server_era, has=[])}))
    error = await failing(session, "resources/read", {"uri": "workbench:dev/s/x:y"})
    code = -32602 if session.era == "modern" else -32002
    assert error == {"code": code, "message": "Resource not found", "data": {"uri": "x:y"}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", {"ttlMs": 0, "cacheScope": "private"}),
        (',"ttlMs":7', {"ttlMs": 7, "cacheScope": "private"}),
        (',"ttlMs":7,"cacheScope":"public"', {"ttlMs": 7, "cacheScope": "public"}),
    ],
)
async def test_a_modern_client_is_told_how_long_a_resource_may_be_kept(
    connect_modern: Connect, server_era: Era, given: str, expected: Json
) -> None:
    answers = {"resources/read": f'{{"contents":[]{given}}}'}
    session = await connect_modern(toolboxes(dev={"s": stock(server_era, answers=answers)}))
    result = await read(session, "workbench:dev/s/x:y")
    del result["_meta"]
    assert result == {"resultType": "complete", "contents": [], **expected}


async def test_many_reads_at_once_are_not_mixed_up(connect: Connect, server_era: Era) -> None:
    session = await connect(toolboxes(dev={"s": stock(server_era)}))
    uris = [f"x:{number}" for number in range(50)]
    results = await asyncio.gather(*(read(session, f"workbench:dev/s/{uri}") for uri in uris))
    assert [result["contents"][0]["uri"] for result in results] == uris
