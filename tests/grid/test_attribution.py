"""A legacy server's question does not say which call it belongs to: the right caller sees it, or nobody."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.grid.features import proves
from tests.grid.questions import form
from tests.support.sessions import result_of, text_of
from tests.support.talking import oblige

if TYPE_CHECKING:
    from pathlib import Path

    from tests.grid.benches import Cell

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.parametrize("server_era", ["legacy"], indirect=True),
]
modern_client = pytest.mark.parametrize("client_era", ["modern"], indirect=True)
legacy_client = pytest.mark.parametrize("client_era", ["legacy"], indirect=True)


@proves("attribution")
@legacy_client
async def test_with_one_client_there_is_only_one_to_ask(cell: Cell, tmp_path: Path) -> None:
    done = tmp_path / "done"
    busy = await cell.begin({"wait": str(done)})
    await cell.journal.wait_until(lambda _: len(cell.sent("tools/call")) == 1)
    assert await cell.answers({"ask": [form("who?")]}) == [[oblige(form("who?"))]]
    done.touch()
    assert "result" in (await busy).message


@proves("attribution")
@modern_client
async def test_a_question_that_two_calls_may_have_asked_is_refused(cell: Cell, tmp_path: Path) -> None:
    done = tmp_path / "done"
    busy = await cell.begin({"wait": str(done)})
    await cell.journal.wait_until(lambda _: len(cell.sent("tools/call")) == 1)
    ((answer,), last) = await cell.answers({"ask": [form("who?")]}, {"ask": []})
    done.touch()
    assert "error" in answer
    assert "calls" in answer["error"]["message"]
    assert last == []
    assert cell.talker.asked == []
    told = json.loads(text_of(result_of((await busy).message)))
    assert told["answers"] == []


@proves("attribution")
@modern_client
async def test_a_call_that_waits_for_an_answer_has_asked_already(cell: Cell) -> None:
    waiting = [await cell.ask({"ask": [form(f"number {number}")]}) for number in range(3)]
    assert await cell.answers({"ask": [form("another")]}) == [[oblige(form("another"))]]
    for number, asked in enumerate(waiting):
        assert await asked.answers() == [[oblige(form(f"number {number}"))]]


@proves("attribution")
@legacy_client
async def test_a_question_outside_of_any_call_reaches_the_only_client(cell: Cell, tmp_path: Path) -> None:
    now = tmp_path / "now"
    await cell.call({"ask_later": {"question": form("by the way"), "when": str(now)}})
    now.touch()
    await cell.journal.wait_until(lambda journal: journal.events("answered"))
    assert cell.journal.events("answered")[-1]["answer"] == oblige(form("by the way"))


@proves("attribution")
@modern_client
async def test_a_question_outside_of_any_call_is_refused(cell: Cell, tmp_path: Path) -> None:
    now = tmp_path / "now"
    await cell.call({"ask_later": {"question": form("by the way"), "when": str(now)}})
    now.touch()
    await cell.journal.wait_until(lambda journal: journal.events("answered"))
    answer = cell.journal.events("answered")[-1]["answer"]
    assert answer["error"]["message"]
    assert cell.talker.asked == []


@proves("attribution")
@legacy_client
async def test_the_users_answer_reaches_only_the_question_that_it_is_for(cell: Cell) -> None:
    """Two servers' questions at once carry ids of ours that differ, whatever ids the servers chose."""
    first = await cell.begin({"ask": [form("of one")]}, {"ask": [form("again")]})
    second = await cell.begin({"ask": [form("of the other")]}, server="modern")
    told = [json.loads(text_of(result_of((await call).message)))["answers"] for call in (first, second)]
    assert told == [[[oblige(form("of one"))], [oblige(form("again"))]], [[oblige(form("of the other"))]]]
    ids = [message["id"] for message in cell.received if "method" in message and "id" in message]
    assert len({*ids}) == 3
    assert all(type(it) is int for it in ids)


@proves("attribution")
@modern_client
async def test_what_a_call_asks_that_was_cancelled_is_not_shown_to_another(
    cell: Cell, tmp_path: Path
) -> None:
    """The server takes no notice of the cancellation, and asks all the same."""
    asks, done = tmp_path / "asks", tmp_path / "done"
    await cell.begin({"wait": str(asks)}, {"ask": [form("for the first")]}, request_id="first")
    other = await cell.begin({"wait": str(done)})
    await cell.journal.wait_until(lambda _: len(cell.sent("tools/call")) == 2)
    await cell.cancel("first")
    await cell.journal.wait_until(lambda _: cell.sent("notifications/cancelled"))
    asks.touch()
    await cell.journal.wait_until(lambda journal: "error" in json.loads(journal.lines[-1]))
    done.touch()
    assert json.loads(text_of(result_of((await other).message)))["answers"] == []
    assert cell.talker.asked == []


@proves("attribution")
@modern_client
async def test_a_call_that_was_cancelled_while_it_waited_does_not_stand_in_the_way_of_others(
    cell: Cell,
) -> None:
    asked = await cell.begin({"ask": [form("anyone?")]}, request_id="parked for ever")
    assert (await asked).message["result"]["resultType"] == "input_required"
    await cell.cancel("parked for ever")
    assert await cell.answers({"ask": [form("another")]}) == [[oblige(form("another"))]]
