"""Calls that wait while the user thinks: parked, answered in any order, expired, taken up elsewhere."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from tests.grid.benches import Asked, Cell, open_bench
from tests.grid.features import proves
from tests.grid.questions import form, sample, shown
from tests.support.processes import wait_until_gone
from tests.support.sessions import failure_of, result_of, text_of
from tests.support.talking import oblige, using
from tests.support.waiting import poll

if TYPE_CHECKING:
    from pathlib import Path

    from tests.grid.benches import Transport
    from tests.support.client import Json
    from tests.support.sessions import Era

pytestmark = pytest.mark.asyncio(loop_scope="module")

modern_client = pytest.mark.parametrize("client_era", ["modern"], indirect=True)
legacy_server = pytest.mark.parametrize("server_era", ["legacy"], indirect=True)
SHORT = {"inputTimeout": 0.5}
KEY = {"WORKBENCH_STATE_KEY": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}


@proves("parked")
@modern_client
@legacy_server
async def test_a_retry_resumes_the_very_same_call(cell: Cell) -> None:
    answers = await cell.answers({"ask": [form("one")]}, {"ask": [sample("two")]})
    assert answers == [[oblige(form("one"))], [oblige(sample("two"))]]
    assert cell.talker.rounds == 2
    assert len(cell.sent("tools/call")) == 1
    assert cell.sent("notifications/cancelled") == []


@proves("parked")
@modern_client
@legacy_server
async def test_two_parked_calls_are_answered_in_reverse_order(cell: Cell) -> None:
    first = await cell.ask({"ask": [form("first")]})
    second = await cell.ask({"ask": [form("second")]})
    assert first.state != second.state
    assert (first.questions, second.questions) == (
        [shown(form("first"), "legacy")],
        [shown(form("second"), "legacy")],
    )
    assert await second.answers() == [[oblige(form("second"))]]
    assert await first.answers() == [[oblige(form("first"))]]


@proves("parked")
@modern_client
@legacy_server
async def test_an_answer_that_is_missing_is_asked_for_again(cell: Cell) -> None:
    asked = await cell.ask({"ask": [form("must know")]})
    again = result_of(await asked.retry(inputResponses={}))
    assert again["resultType"] == "input_required"
    assert list(again["inputRequests"].values()) == [shown(form("must know"), "legacy")]
    full = {**asked.params, **cell.talker.answers_to(again)}
    told = json.loads(text_of(result_of(await cell.session.request("tools/call", full))))
    assert told["answers"] == [[oblige(form("must know"))]]


@proves("parked")
@modern_client
@legacy_server
async def test_the_id_of_a_request_that_was_answered_with_a_question_can_be_used_again(cell: Cell) -> None:
    async def ask(question: Json) -> Asked:
        params = using(cell.server, {"steps": [{"ask": [question]}]})
        reply = await (await cell.session.begin("tools/call", json.dumps(params), None, "the-same"))
        return Asked(cell, params, result_of(reply.message))

    first, second = await ask(form("first")), await ask(form("second"))
    assert (first.questions, second.questions) == (
        [shown(form("first"), "legacy")],
        [shown(form("second"), "legacy")],
    )
    assert await first.answers() == [[oblige(form("first"))]]
    assert await second.answers() == [[oblige(form("second"))]]


@proves("parked")
@modern_client
@legacy_server
async def test_a_parked_call_that_ends_does_not_answer_a_request_that_has_its_id(
    cell: Cell, tmp_path: Path
) -> None:
    now = tmp_path / "now"
    params = using(cell.server, {"steps": [{"withdraw": {"question": form("never mind"), "when": str(now)}}]})
    first = await (await cell.session.begin("tools/call", json.dumps(params), None, "the-same"))
    second = await cell.begin({"hang": None}, request_id="the-same")
    now.touch()
    retried = await Asked(cell, params, result_of(first.message)).retry()
    assert json.loads(text_of(result_of(retried)))["answers"] == []
    assert not second.done()
    await cell.cancel("the-same")


@proves("expiry", client="modern", server="legacy")
async def test_an_abandoned_call_is_cancelled_and_a_late_retry_is_told(
    tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, "modern", entry=SHORT, over=over) as bench:
        cell = Cell(bench, "legacy")
        asked = await cell.ask({"ask": [form("anyone?")]})
        await cell.journal.wait_until(lambda journal: journal.events("cancelled"))
        (call,), (cancelled,) = cell.sent("tools/call"), cell.sent("notifications/cancelled")
        assert cancelled["params"]["requestId"] == call["id"]
        error = (await asked.retry())["error"]
        assert error["code"] == -32602
        assert "expired" in error["message"]
        assert await cell.answers({"ask": [form("next")]}) == [[oblige(form("next"))]]


@proves("expiry", client="modern", server="modern")
async def test_a_state_that_has_expired_is_told_at_the_retry(tmp_path: Path, over: Transport) -> None:
    async with open_bench(tmp_path, "modern", entry=SHORT, over=over) as bench:
        cell = Cell(bench, "modern")
        asked = await cell.ask({"ask": [form("anyone?")]})
        lapsed = time.monotonic() + 2 * SHORT["inputTimeout"]
        await poll(lambda: time.monotonic() > lapsed)
        error = (await asked.retry())["error"]
        assert error["code"] == -32602
        assert "expired" in error["message"]


@proves("expiry", client="legacy")
async def test_a_call_does_not_wait_for_ever_for_a_client_that_does_not_answer(
    server_era: Era, tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, "legacy", entry=SHORT, over=over) as bench:
        cell = Cell(bench, server_era)
        cell.talker.respond = lambda _: None
        result = await cell.result({"ask": [form("anyone?")]})
        (question,) = [it for it in cell.received if it.get("method") == "elicitation/create"]
        withdrawn = await cell.client.wait_for(lambda it: it.get("method") == "notifications/cancelled")
        assert withdrawn["params"]["requestId"] == question["id"]
        if server_era == "legacy":
            assert list(json.loads(text_of(result))["answers"][0][0]) == ["error"]
        else:
            assert result["isError"] is True


@proves("patience")
async def test_the_time_that_the_user_takes_is_not_the_servers(
    client_era: Era, server_era: Era, tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, client_era, entry={"timeout": 0.5}, over=over) as bench:
        cell = Cell(bench, server_era)
        thought = time.monotonic() + 1.5
        if client_era == "modern":
            asked = await cell.ask({"ask": [form("take your time")]})
            await poll(lambda: time.monotonic() > thought)
            assert await asked.answers() == [[oblige(form("take your time"))]]
        else:
            cell.talker.respond = lambda _: None
            call = await cell.begin({"ask": [form("take your time")]})
            question = await cell.client.wait_for(lambda it: it.get("method") == "elicitation/create")
            await poll(lambda: time.monotonic() > thought)
            await cell.client.send({"jsonrpc": "2.0", "id": question["id"], **oblige(question)})
            told = json.loads(text_of(result_of((await call).message)))
            assert told["answers"] == [[oblige(question)]]


@proves("leaving")
async def test_a_client_that_leaves_while_it_is_asked_leaves_nothing_behind(
    client_era: Era, server_era: Era, tmp_path: Path, over: Transport
) -> None:
    async with open_bench(tmp_path, client_era, over=over) as bench:
        cell = Cell(bench, server_era)
        cell.talker.respond = lambda _: None
        call = await cell.begin({"ask": [form("anyone?")]})
        await cell.client.wait_for(lambda it: "anyone?" in json.dumps(it))
        left = await bench.client.close()
        assert (left.code, left.seconds < 5) == (0, True)
        if client_era == "legacy":
            with pytest.raises(ConnectionError):
                await call
        await wait_until_gone(cell.journal.pids)


@proves("dying", client="legacy")
@legacy_server
async def test_a_server_that_dies_while_it_asks_fails_its_call_and_takes_its_question_back(
    server_era: Era, tmp_path: Path, over: Transport
) -> None:
    now = tmp_path / "now"

    def notice(_: Json) -> None:
        now.touch()

    async with open_bench(tmp_path, "legacy", over=over) as bench:
        cell = Cell(bench, server_era)
        cell.talker.respond = notice
        text = failure_of(await cell.result({"ask_and_die": {"question": form("help?"), "when": str(now)}}))
        assert text.startswith("Error executing tool 'converse' in server 'legacy' (toolbox 'dev'): ")
        question = await cell.client.wait_for(lambda it: it.get("method") == "elicitation/create")
        withdrawn = await cell.client.wait_for(lambda it: it.get("method") == "notifications/cancelled")
        assert withdrawn["params"]["requestId"] == question["id"]


@proves("dying", client="modern")
@legacy_server
async def test_a_server_that_dies_while_its_call_is_parked_fails_the_retry(
    server_era: Era, tmp_path: Path, over: Transport
) -> None:
    now = tmp_path / "now"
    async with open_bench(tmp_path, "modern", over=over) as bench:
        cell = Cell(bench, server_era)
        asked = await cell.ask({"ask_and_die": {"question": form("help?"), "when": str(now)}})
        now.touch()
        await wait_until_gone(cell.journal.pids)
        text = failure_of(result_of(await asked.retry()))
        assert text.startswith("Error executing tool 'converse' in server 'legacy' (toolbox 'dev'): ")
        assert await cell.answers({"ask": [form("next")]}) == [[oblige(form("next"))]]


@proves("replicas", client="modern")
async def test_a_retry_at_another_replica_is_refused_with_the_reason_and_still_good_at_the_first(
    server_era: Era, tmp_path: Path, over: Transport
) -> None:
    (one := tmp_path / "one").mkdir()
    (two := tmp_path / "two").mkdir()
    async with (
        open_bench(one, "modern", env=KEY, over=over) as here,
        open_bench(two, "modern", env=KEY, over=over) as there,
    ):
        asked = await Cell(here, server_era).ask({"ask": [form("one")]})
        elsewhere = Cell(there, server_era)
        again = {**asked.params, **elsewhere.talker.answers_to(asked.result)}
        error = (await elsewhere.session.request("tools/call", again))["error"]
        assert error["code"] == -32602
        assert "made by another workbench process" in error["message"]
        assert "Send the retry to the process that asked" in error["message"]
        assert elsewhere.sent("tools/call") == []
        assert await asked.answers() == [[oblige(form("one"))]]


@proves("replicas", client="modern")
async def test_a_replica_with_a_key_of_its_own_refuses_the_state(
    server_era: Era, tmp_path: Path, over: Transport
) -> None:
    (one := tmp_path / "one").mkdir()
    (two := tmp_path / "two").mkdir()
    async with open_bench(one, "modern", over=over) as here, open_bench(two, "modern", over=over) as there:
        asked = await Cell(here, server_era).ask({"ask": [form("one")]})
        elsewhere = Cell(there, server_era)
        again = {**asked.params, **elsewhere.talker.answers_to(asked.result)}
        error = (await elsewhere.session.request("tools/call", again))["error"]
        assert error["code"] == -32602
        assert elsewhere.sent("tools/call") == []
