"""An older client whose connection is cut comes back, and has all that it missed, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.grid.questions import form
from tests.support.sessions import result_of, text_of

if TYPE_CHECKING:
    from tests.serve.http.conftest import Flag, SharedWorkbench
    from tests.serve.http.raw_clients import Legacy
    from tests.support.client import Json
    from tests.support.http import Response

pytestmark = pytest.mark.asyncio(loop_scope="module")


def steps(flag: Flag) -> list[Json]:
    return [{"progress": {"steps": 1}}, {"wait": str(flag)}, {"progress": {"steps": 1, "with": {"total": 9}}}]


async def begin(client: Legacy, flag: Flag, name: str = "it") -> tuple[Response, str]:
    """A call that has said one thing, and the position of that."""
    response = await client.call(*steps(flag), meta={"progressToken": name}, request_id=name)
    assert (await response.next_event()).data == ""
    event = await response.next_event()
    assert event.message["params"]["progressToken"] == name
    assert event.id is not None
    return response, event.id


async def test_what_was_missed_comes_and_then_the_answer(
    shared_workbench: SharedWorkbench, flag: Flag
) -> None:
    client = await shared_workbench.legacy()
    response, position = await begin(client, flag)
    response.wire.cut()
    flag.up()
    again = await client.listen(position)
    progress, answer = await again.messages()
    assert progress["params"] == {"progressToken": "it", "progress": 1, "total": 9}
    assert answer["id"] == "it"


async def test_from_the_very_first_event_all_comes_once_more(
    shared_workbench: SharedWorkbench, flag: Flag
) -> None:
    client = await shared_workbench.legacy()
    response = await client.call(*steps(flag), meta={"progressToken": 1}, request_id="it")
    first = await response.next_event()
    response.wire.cut()
    flag.up()
    again = await client.listen(first.id)
    messages = await again.messages()
    assert [message.get("id") for message in messages] == [None, None, "it"]
    once_more = await client.listen(first.id)
    assert await once_more.messages() == messages


async def test_a_client_that_is_back_before_it_was_missed_takes_over(
    shared_workbench: SharedWorkbench, flag: Flag
) -> None:
    client = await shared_workbench.legacy()
    response, position = await begin(client, flag)
    again = await client.listen(position)
    assert await response.messages() == []
    flag.up()
    assert [message.get("id") for message in await again.messages()] == [None, "it"]


async def test_each_stream_is_come_back_to_by_itself(shared_workbench: SharedWorkbench, flag: Flag) -> None:
    client = await shared_workbench.legacy()
    begun = [await begin(client, flag, token) for token in ("one", "two")]
    for response, _ in begun:
        response.wire.cut()
    flag.up()
    for (_, position), token in zip(reversed(begun), ("two", "one"), strict=True):
        again = await client.listen(position)
        progress, answer = await again.messages()
        assert (progress["params"]["progressToken"], answer["id"]) == (token, token)


async def test_nobody_comes_back_to_the_stream_of_another_session(
    shared_workbench: SharedWorkbench, flag: Flag
) -> None:
    client, other = await shared_workbench.legacy(), await shared_workbench.legacy()
    response, position = await begin(client, flag)
    response.wire.cut()
    flag.up()
    assert (await other.listen(position)).status == 400
    assert len(await (await client.listen(position)).messages()) == 2


@pytest.mark.parametrize(
    "position", ["99-1", "x", "1", "-", "1-x", "-1", "0-", "😀".encode().decode("latin-1")]
)
async def test_a_position_that_there_is_not_is_refused(
    shared_workbench: SharedWorkbench, position: str
) -> None:
    """Silence would have the client wait for ever."""
    client = await shared_workbench.legacy()
    response = await client.listen(position)
    assert response.status == 400
    assert "Last-Event-ID" in (await response.json())["error"]["message"]


async def test_an_answer_that_came_as_json_cannot_be_had_again(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy()
    response = await client.send("ping")
    assert not response.is_stream
    assert (await client.listen("1-0")).status == 400
    assert (await client.listen("2-0")).status == 400


async def test_a_position_beyond_what_was_said_is_taken_for_the_last(
    shared_workbench: SharedWorkbench, flag: Flag
) -> None:
    client = await shared_workbench.legacy()
    response, position = await begin(client, flag)
    response.wire.cut()
    again = await client.listen(position.rpartition("-")[0] + "-99")
    flag.up()
    assert (await again.messages())[-1]["id"] == "it"


async def test_the_stream_for_all_else_is_come_back_to_as_well(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy()
    at_large = await client.listen()
    await (await client.call({"change": "prompts"})).messages()
    event = await at_large.next_event()
    at_large.wire.cut()
    await (await client.call({"change": "resources"})).messages()
    again = await client.listen(event.id)
    assert (await again.next_message())["method"] == "notifications/resources/list_changed"


async def test_a_second_stream_for_all_else_takes_the_place_of_the_first(
    shared_workbench: SharedWorkbench,
) -> None:
    client = await shared_workbench.legacy()
    first = await client.listen()
    second = await client.listen()
    assert await first.messages() == []
    await (await client.call({"change": "prompts"})).messages()
    assert (await second.next_message())["method"] == "notifications/prompts/list_changed"


async def test_a_question_that_was_missed_is_asked_when_the_client_is_back(
    shared_workbench: SharedWorkbench, flag: Flag
) -> None:
    client = await shared_workbench.legacy()
    response = await client.call(
        {"progress": {"steps": 1}},
        {"wait": str(flag)},
        {"ask": [form("still there?")]},
        meta={"progressToken": 1},
    )
    position = (await response.next_event()).id
    await response.next_event()
    response.wire.cut()
    flag.up()
    again = await client.listen(position)
    await again.next_message()
    asked = await again.next_message()
    await client.answer(asked, {"action": "decline"})
    (answer,) = await again.messages()
    assert '"decline"' in text_of(result_of(answer))
