"""Which messages are sent on the response to a request, which on the standalone stream, and in which form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.grid.questions import form
from tests.servers.scripted import RESERVED
from tests.support.http import head
from tests.support.sessions import result_of, text_of

if TYPE_CHECKING:
    from tests.serve.http.conftest import Flag, SharedWorkbench
    from tests.serve.http.raw_clients import Legacy, Modern
    from tests.support.client import Json
    from tests.support.sessions import Era

pytestmark = pytest.mark.asyncio(loop_scope="module")

INFO = [{"level": "info", "data": "half way"}]
SAID: Json = {"content": [{"type": "text", "text": "said"}]}


async def client_of(shared_workbench: SharedWorkbench, era: Era) -> Legacy | Modern:
    return await shared_workbench.legacy() if era == "legacy" else await shared_workbench.modern()


async def test_a_quick_answer_is_plain_json(
    shared_workbench: SharedWorkbench, client_era: Era, server_era: Era
) -> None:
    client = await client_of(shared_workbench, client_era)
    await client.call(server=server_era)
    response = await client.call(server=server_era, request_id="quick")
    assert response.status == 200
    assert (await response.json())["id"] == "quick"


async def test_progress_and_logs_of_a_call_come_before_its_answer_in_its_response(
    shared_workbench: SharedWorkbench, client_era: Era, server_era: Era
) -> None:
    client = await client_of(shared_workbench, client_era)
    meta = {"progressToken": "mine", **({RESERVED + "logLevel": "info"} if client_era == "modern" else {})}
    if client_era == "legacy":
        assert (await client.send("logging/setLevel", {"level": "info"})).status == 200
    steps: list[Json] = [{"progress": {"steps": 1}}, {"log": INFO}]
    response = await client.call(*steps, server=server_era, request_id=7, meta=meta)
    assert response.is_stream
    progress, log, answer = await response.messages()
    assert progress["params"]["progressToken"] == "mine"
    assert (log["method"], log["params"]["data"]) == ("notifications/message", "half way")
    assert (answer["id"], text_of(answer["result"])[:1]) == (7, "{")


async def test_the_headers_of_a_stream_keep_it_from_being_held_up_or_changed(
    shared_workbench: SharedWorkbench,
) -> None:
    client = await shared_workbench.legacy()
    response = await client.listen()
    assert {name: value for name, value in response.headers.items() if name != "transfer-encoding"} == {
        "content-type": "text/event-stream",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
    }


async def test_a_question_comes_in_the_response_to_the_call_that_it_is_about(
    shared_workbench: SharedWorkbench, server_era: Era
) -> None:
    client = await shared_workbench.legacy()
    at_large = await client.listen()
    first = await client.call({"ask": [form("the first?")]}, server=server_era)
    asked = await first.next_message()
    assert asked["params"]["message"] == f"[dev/{server_era}] the first?"
    await client.answer(asked, {"action": "decline"})
    (answer,) = await first.messages()
    assert '"decline"' in text_of(result_of(answer))
    await client.ask("DELETE")
    assert await at_large.messages() == []


async def test_two_calls_at_once_have_each_its_own(shared_workbench: SharedWorkbench, flag: Flag) -> None:
    client = await shared_workbench.legacy()
    responses = [
        await client.call({"progress": {"steps": 1}}, {"wait": str(flag)}, meta={"progressToken": token})
        for token in ("one", "two")
    ]
    tokens = [(await response.next_message())["params"]["progressToken"] for response in responses]
    assert tokens == ["one", "two"]
    flag.up()
    ids = [[message["id"] for message in await response.messages()] for response in responses]
    assert ids == [[2], [3]]


async def test_what_belongs_to_no_request_comes_on_the_stream_for_that(
    shared_workbench: SharedWorkbench, server_era: Era, flag: Flag
) -> None:
    client = await shared_workbench.legacy()
    at_large = await client.listen()
    response = await client.call({"change": "prompts"}, server=server_era)
    assert [list(message) for message in await response.messages()] == [["jsonrpc", "id", "result"]]
    assert (await at_large.next_message())["method"] == "notifications/prompts/list_changed"


async def test_a_server_that_asks_outside_of_calls_asks_on_the_stream_for_that(
    shared_workbench: SharedWorkbench, flag: Flag
) -> None:
    client = await shared_workbench.legacy()
    at_large = await client.listen()
    asking: Json = {"ask_later": {"question": form("and now?"), "when": str(flag)}}
    await (await client.call(asking)).messages()
    flag.up()
    asked = await at_large.next_message()
    assert asked["params"]["message"] == "[dev/legacy] and now?"
    await client.answer(asked, {"action": "decline"})
    await shared_workbench.journals["legacy"].wait_until(lambda it: it.events("answered"))


async def test_what_was_said_before_the_stream_was_opened_is_not_lost(
    shared_workbench: SharedWorkbench,
) -> None:
    client = await shared_workbench.legacy()
    await (await client.call({"change": "resources"})).messages()
    # Changes are told when no more have come for a moment.
    at_large = await client.listen()
    assert (await at_large.next_message())["method"] == "notifications/resources/list_changed"


@pytest.mark.parametrize(
    ("version", "primes"), [("2025-03-26", False), ("2025-06-18", False), ("2025-11-25", True)]
)
async def test_a_stream_begins_with_an_event_to_come_back_to_where_the_version_has_that(
    shared_workbench: SharedWorkbench, version: str, *, primes: bool
) -> None:
    client = await shared_workbench.legacy(version=version)
    response = await client.call({"progress": {"steps": 1}}, meta={"progressToken": 1})
    events = await response.events()
    assert [bool(event.data) for event in events] == [False] * primes + [True, True]
    assert len({event.id for event in events}) == len(events)


async def test_a_modern_stream_cannot_be_come_back_to(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.modern()
    response = await client.call({"progress": {"steps": 2}}, meta={"progressToken": 1})
    events = await response.events()
    assert [event.id for event in events] == [None] * 3


async def test_two_requests_in_one_piece_are_answered_in_order(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.modern()
    await client.call()
    wire = await client.wire()
    host = [("Host", shared_workbench.url.split("/")[2])]
    pieces = []
    for request_id in ("one", "two"):
        message, headers = client.dressed("tools/list", request_id=request_id)
        body = str(message).replace("'", '"').encode()
        more = {**headers, "Content-Type": "application/json", "Content-Length": str(len(body))}
        pieces.append(head("POST", "/mcp", host + list(more.items())) + body)
    await wire.send_raw(b"".join(pieces))
    assert [(await (await wire.response()).json())["id"] for _ in pieces] == ["one", "two"]
    # And the connection is kept.
    await wire.send("GET", path="/healthz")
    assert (await wire.response()).status == 200


async def test_a_call_that_takes_long_is_answered_by_an_event(
    shared_workbench: SharedWorkbench, flag: Flag
) -> None:
    """So that an older client can come back for it if the connection does not last."""
    client = await shared_workbench.legacy()
    response = await client.call({"wait": str(flag)})
    assert response.is_stream
    assert (await response.next_event()).data == ""
    flag.up()
    (answer,) = await response.messages()
    assert "result" in answer


async def test_a_burst_of_messages_arrives_whole(shared_workbench: SharedWorkbench, client_era: Era) -> None:
    client = await client_of(shared_workbench, client_era)
    said = [{"level": "info", "data": number} for number in range(5000)]
    meta = {RESERVED + "logLevel": "info"} if client_era == "modern" else None
    response = await client.call({"log": said}, meta=meta)
    *logs, answer = await response.messages()
    assert [message["params"]["data"] for message in logs] == list(range(5000))
    assert "result" in answer


async def test_a_client_that_ends_its_side_of_the_connection_gets_its_answer(
    shared_workbench: SharedWorkbench, flag: Flag, client_era: Era
) -> None:
    client = await client_of(shared_workbench, client_era)
    response = await client.call(
        {"progress": {"steps": 1}}, {"wait": str(flag)}, {"result": SAID}, meta={"progressToken": 1}
    )
    response.wire.writer.write_eof()
    await response.next_message()
    flag.up()
    assert result_of((await response.messages())[-1])["content"] == SAID["content"]
    assert await response.wire.end() == b""
