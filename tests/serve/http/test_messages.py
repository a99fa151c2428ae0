"""What a client can send that is no good message, and what it is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.grid.questions import form
from tests.serve.http.raw_clients import JSON, Modern
from tests.support.nesting import TOO_DEEP
from tests.support.sessions import result_of

if TYPE_CHECKING:
    from tests.serve.http.conftest import SharedWorkbench
    from tests.serve.http.raw_clients import Legacy
    from tests.support.client import Json
    from tests.support.sessions import Era

pytestmark = pytest.mark.asyncio(loop_scope="module")

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def client_of(shared_workbench: SharedWorkbench, era: Era) -> Legacy | Modern:
    return await shared_workbench.legacy() if era == "legacy" else await shared_workbench.modern()


BROKEN: dict[str, tuple[bytes, int]] = {
    "nothing": (b"", -32700),
    "blank": (b" \r\n\t", -32700),
    "no JSON": (b"hello", -32700),
    "half of it": (b'{"jsonrpc":"2.0","id":1,"method":"pi', -32700),
    "two of them": (json.dumps(PING).encode() * 2, -32700),
    "two lines": (json.dumps(PING).encode() + b"\n" + json.dumps(PING).encode(), -32700),
    "no UTF-8": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\xff"}}', -32700),
    "a newline in a string": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\n"}}', -32700),
    "UTF-16": (json.dumps(PING).encode("utf-16"), -32700),
    "a number": (b"1", -32600),
    "a string": (b'"ping"', -32600),
    "null": (b"null", -32600),
    "an empty batch": (b"[]", -32600),
    "a batch of numbers": (b"[1,2]", -32600),
    "an empty object": (b"{}", -32600),
    "no method": (b'{"jsonrpc":"2.0","id":1}', -32600),
    "a method that is a number": (b'{"jsonrpc":"2.0","id":1,"method":2}', -32600),
    "an id that is null": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    "an id that is a fraction": (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
    "an id that is a list": (b'{"jsonrpc":"2.0","id":[],"method":"ping"}', -32600),
    "an id with half a character": (rb'{"jsonrpc":"2.0","id":"\ud83d","method":"ping"}', -32600),
    "an id without end": (b'{"jsonrpc":"2.0","id":1%b,"method":"ping"}' % (b"0" * 5000), -32600),
    "another JSON-RPC": (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
    "deep": (
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%b%b}}' % (b"[" * TOO_DEEP, b"]" * TOO_DEEP),
        -32600,
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
async def test_what_is_no_message_is_refused_with_the_reason(
    shared_workbench: SharedWorkbench, client_era: Era, kind: str
) -> None:
    body, code = BROKEN[kind]
    client = await client_of(shared_workbench, client_era)
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "ping"} if client_era == "modern" else {}
    response = await client.post(body, headers)
    answer = await response.json()
    assert (response.status, answer["error"]["code"]) == (400, code), answer
    if client_era == "legacy":
        assert result_of(await (await client.send("ping")).json()) == {}


@pytest.mark.parametrize(
    "kind",
    [b"text/plain", b"", b"application/jsonx", b"application/x-www-form-urlencoded", b"multipart/form-data"],
)
async def test_another_content_type_is_refused(shared_workbench: SharedWorkbench, kind: bytes) -> None:
    """A web page can send these without asking first."""
    client = await shared_workbench.legacy()
    response = await client.post(PING, {"Content-Type": kind.decode()})
    assert response.status == 415


async def test_a_charset_is_taken_no_notice_of(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy()
    assert (await client.post(PING, {"Content-Type": "Application/JSON; charset=utf-8"})).status == 200


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("application/json, text/event-stream", 200),
        ("text/event-stream;q=0.5,application/json;q=0.1", 200),
        ("TEXT/EVENT-STREAM, APPLICATION/JSON", 200),
        ("*/*", 200),
        ("application/*, text/*", 200),
        ("application/json", 406),
        ("text/event-stream", 406),
        ("text/html", 406),
    ],
)
async def test_both_forms_of_an_answer_have_to_be_welcome(
    shared_workbench: SharedWorkbench, accept: str, status: int
) -> None:
    client = await shared_workbench.legacy()
    assert (await client.post(PING, {"Accept": accept})).status == status


async def test_the_welcome_may_be_in_two_headers(shared_workbench: SharedWorkbench) -> None:
    """As HTTP has it, that is the same as one with a comma."""
    client = await shared_workbench.legacy()
    wire = await client.wire()
    accepted = [("Accept", "application/json"), ("Accept", "text/event-stream")]
    sent = [*client.headers.items(), *accepted, ("Content-Type", "application/json")]
    response = await wire.ask("POST", sent, json.dumps(PING).encode())
    assert response.status == 200


async def test_the_stream_for_all_else_needs_a_welcome_for_events(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy()
    assert (await client.ask("GET", {"Accept": "application/json"})).status == 406


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "OPTIONS", "TRACE"])
async def test_other_methods_are_refused_with_those_that_there_are(
    shared_workbench: SharedWorkbench, method: str
) -> None:
    client = await shared_workbench.legacy()
    response = await client.ask(method)
    assert (response.status, response.headers["allow"]) == (405, "GET, POST, DELETE")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_what_only_the_older_era_has_is_refused_to_the_newer(
    shared_workbench: SharedWorkbench, method: str
) -> None:
    client = await shared_workbench.modern()
    response = await client.ask(method, {"Accept": "text/event-stream", "MCP-Protocol-Version": "2026-07-28"})
    assert (response.status, response.headers["allow"]) == (405, "POST")


async def test_other_places_are_not_found(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy()
    for path in ("/", "/mcp/", "/mcp/x", "/sse", "//mcp"):
        wire = await client.wire()
        response = await wire.ask("POST", {**client.headers, **JSON}, json.dumps(PING).encode(), path)
        assert response.status == 404, path


async def test_a_query_makes_no_difference(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy()
    wire = await client.wire()
    response = await wire.ask("POST", {**client.headers, **JSON}, json.dumps(PING).encode(), "/mcp?a=b")
    assert response.status == 200


async def test_a_message_may_be_laid_out_over_lines(
    shared_workbench: SharedWorkbench, client_era: Era
) -> None:
    client = await client_of(shared_workbench, client_era)
    text = "one\ntwo\r\nthree"
    call = {"tool": {"toolbox": "dev", "server": "legacy", "tool": "converse"}, "arguments": {"x": text}}
    message: Json = {"name": "use_tool", "arguments": call}
    request, headers = (
        client.dressed("tools/call", message)
        if isinstance(client, Modern)
        else ({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": message}, {})
    )
    for newline in (b"\n", b"\r\n", b"\r"):
        laid_out = json.dumps(request, indent=2).encode().replace(b"\n", newline) + newline
        response = await client.post(laid_out, headers)
        assert response.status == 200
        result_of((await response.messages())[-1])
    sent = shared_workbench.journals["legacy"].messages("tools/call")[-1]
    assert sent["params"]["arguments"] == {"x": text}


@pytest.mark.parametrize(
    "request_id",
    [
        "",
        "a,",
        ',"result":',
        '"',
        "\\",
        "é",
        "\x00",
        "😀",
        "x" * 10_000,
        0,
        -1,
        2**53,
        2**63 - 1,
        10**50,
        "1",
    ],
    ids=lambda it: ascii(it)[:20],
)
async def test_an_id_comes_back_as_it_was(
    shared_workbench: SharedWorkbench, client_era: Era, request_id: object
) -> None:
    client = await client_of(shared_workbench, client_era)
    for method in ("tools/list", "nonsense"):
        response = await client.send(method, request_id=request_id)
        assert (await response.json())["id"] == request_id
    answered = await client.call(request_id=request_id)
    assert (await answered.messages())[-1]["id"] == request_id


async def test_notifications_and_answers_are_taken_without_a_word(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy()
    for message in (
        {"jsonrpc": "2.0", "method": "notifications/unheard-of"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "none"}},
        {"jsonrpc": "2.0", "id": 99, "result": {}},
        {"jsonrpc": "2.0", "id": 99, "error": {"code": 1, "message": "no"}},
    ):
        response = await client.post(message)
        assert (response.status, await response.body()) == (202, b"")


async def test_a_batch_is_answered_in_one_response(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy(version="2025-03-26")
    batch = [
        {**PING, "id": "a"},
        {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
        {**PING, "id": "b", "method": "nonsense"},
        {"jsonrpc": "2.0", "id": "c", "method": 1},
    ]
    response = await client.post(batch)
    answers = {message["id"]: message for message in await response.messages()}
    assert set(answers) == {"a", "b", "c"}
    assert "result" in answers["a"]
    assert [answers[it]["error"]["code"] for it in "bc"] == [-32601, -32600]


async def test_a_batch_without_requests_is_taken_without_a_word(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy(version="2025-03-26")
    response = await client.post([{"jsonrpc": "2.0", "method": "notifications/initialized"}] * 2)
    assert (response.status, await response.body()) == (202, b"")


async def test_nothing_is_taken_that_is_wrong_because_a_question_is_open(
    shared_workbench: SharedWorkbench,
) -> None:
    client = await shared_workbench.legacy()
    call = await client.call({"ask": [form("?")]})
    question = await call.next_message()
    ping = json.dumps(PING).encode()
    for wrong, code in ((ping.replace(b'"ping"', b'"\xff"'), -32700), (b"[" + ping + b"]", -32600)):
        response = await client.post(wrong)
        assert (response.status, (await response.json())["error"]["code"]) == (400, code)
    await client.answer(question, {"action": "decline"})
    assert "result" in (await call.messages())[-1]


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
async def test_later_versions_have_no_batches(shared_workbench: SharedWorkbench, version: str) -> None:
    client = await shared_workbench.legacy(version=version)
    response = await client.post([PING])
    assert response.status == 400
    assert "2025-03-26" in (await response.json())["error"]["message"]


async def test_an_older_error_is_no_error_of_http(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy()
    response = await client.send("nonsense")
    assert (response.status, (await response.json())["error"]["code"]) == (200, -32601)
