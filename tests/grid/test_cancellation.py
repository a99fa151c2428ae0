"""What the client gives up is given up downstream, and what the server takes back is taken back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.grid.benches import Cell, open_bench
from tests.grid.features import proves
from tests.grid.questions import form
from tests.support.sessions import result_of, text_of
from tests.support.talking import using

if TYPE_CHECKING:
    from pathlib import Path

    from tests.grid.benches import Transport
    from tests.support.client import Json
    from tests.support.sessions import Era

pytestmark = pytest.mark.asyncio(loop_scope="module")

modern_client = pytest.mark.parametrize("client_era", ["modern"], indirect=True)
legacy_client = pytest.mark.parametrize("client_era", ["legacy"], indirect=True)
legacy_server = pytest.mark.parametrize("server_era", ["legacy"], indirect=True)


def answered(cell: Cell, request_id: str) -> list[Json]:
    return [message for message in cell.received if message.get("id") == request_id]


async def downstream_is_cancelled(cell: Cell) -> None:
    """The server has heard that the last call of this test is over."""
    await cell.journal.wait_until(lambda _: cell.sent("notifications/cancelled"))
    (cancelled,) = cell.sent("notifications/cancelled")
    assert cancelled["params"]["requestId"] == cell.sent("tools/call")[-1]["id"]


@proves("cancel-call")
async def test_a_cancelled_call_is_cancelled_downstream_and_never_answered(cell: Cell) -> None:
    await cell.begin({"hang": True}, request_id="gone")
    await cell.journal.wait_until(lambda _: cell.sent("tools/call"))
    await cell.cancel("gone")
    await downstream_is_cancelled(cell)
    await cell.call()
    assert answered(cell, "gone") == []


@proves("cancel-call")
async def test_other_calls_of_the_same_server_go_on(cell: Cell, tmp_path: Path) -> None:
    done = tmp_path / "done"
    kept = await cell.begin({"wait": str(done)})
    await cell.begin({"hang": True}, request_id="gone too")
    await cell.journal.wait_until(lambda _: len(cell.sent("tools/call")) == 2)
    await cell.cancel("gone too")
    await cell.journal.wait_until(lambda _: cell.sent("notifications/cancelled"))
    done.touch()
    assert json.loads(text_of(result_of((await kept).message)))["answers"] == []


@proves("cancel-question")
@legacy_client
async def test_a_call_that_is_cancelled_while_it_asks_takes_its_question_back(cell: Cell) -> None:
    cell.talker.respond = lambda _: None
    await cell.begin({"ask": [form("too late?")]}, request_id="asking")
    question = await cell.client.wait_for(
        lambda it: "too late?" in it.get("params", {}).get("message", "") and it in cell.received
    )
    await cell.cancel("asking")
    withdrawn = await cell.client.wait_for(
        lambda it: it.get("method") == "notifications/cancelled" and it in cell.received
    )
    assert withdrawn["params"]["requestId"] == question["id"]
    if cell.server == "legacy":
        await downstream_is_cancelled(cell)
    await cell.client.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
    await cell.call()
    assert answered(cell, "asking") == []
    assert len(cell.sent("tools/call")) == 2


@proves("cancel-retry")
@modern_client
async def test_a_cancelled_retry_is_cancelled_downstream(cell: Cell) -> None:
    asked = await cell.ask({"ask": [form("one")]}, {"hang": True})
    again = {**asked.params, **cell.talker.answers_to(asked.result)}
    calls = len(cell.sent("tools/call"))
    await cell.session.begin("tools/call", json.dumps(again), request_id="retry")
    if cell.server == "legacy":
        await cell.journal.wait_until(lambda it: "accept" in it.lines[-1])
    else:
        await cell.journal.wait_until(lambda _: len(cell.sent("tools/call")) > calls)
    await cell.cancel("retry")
    await downstream_is_cancelled(cell)
    await cell.call()
    assert answered(cell, "retry") == []


@proves("cancel-parked")
@modern_client
@legacy_server
@pytest.mark.parametrize("over", ["stdio"], indirect=True)
async def test_a_parked_call_is_cancelled_by_the_request_that_was_answered(cell: Cell) -> None:
    asked = await cell.begin({"ask": [form("anyone?")]}, request_id="parked")
    result = result_of((await asked).message)
    assert result["resultType"] == "input_required"
    await cell.cancel("parked")
    await downstream_is_cancelled(cell)
    params = {**using(cell.server, {"steps": [{"ask": [form("anyone?")]}]}), **cell.talker.answers_to(result)}
    late = await cell.session.request("tools/call", params)
    assert late["error"]["code"] == -32602


# Over HTTP nothing tells when it was noticed that a modern client has left.
@pytest.mark.parametrize("over", ["stdio"], indirect=True)
@proves("cancel-opening")
async def test_an_opening_goes_on_for_others_when_one_caller_leaves(
    client_era: Era, server_era: Era, tmp_path: Path, over: Transport
) -> None:
    ready = tmp_path / "ready"
    async with open_bench(tmp_path, client_era, opened=False, start_when=str(ready), over=over) as bench:
        cell = Cell(bench, server_era)
        await cell.begin(request_id="first")
        staying = await cell.begin()
        await cell.journal.wait_until(lambda journal: journal.lines)
        await cell.cancel("first")
        await bench.session.begin("ping" if client_era == "legacy" else "tools/list", request_id="after")
        await bench.client.wait_for(lambda it: it.get("id") == "after")
        ready.touch()
        assert json.loads(text_of(result_of((await staying).message)))["answers"] == []
        assert len(cell.sent("tools/call")) == 1
        assert cell.journal.starts == 1
        assert answered(cell, "first") == []


@proves("withdrawn")
@legacy_server
@legacy_client
async def test_a_question_that_the_server_takes_back_is_taken_back_from_the_client(
    cell: Cell, tmp_path: Path
) -> None:
    asked = tmp_path / "asked"

    def notice(_: Json) -> None:
        asked.touch()

    cell.talker.respond = notice
    told = await cell.call({"withdraw": {"question": form("never mind"), "when": str(asked)}})
    assert told["answers"] == []
    (question,) = [it for it in cell.received if it.get("method") == "elicitation/create"]
    (withdrawn,) = [it for it in cell.received if it.get("method") == "notifications/cancelled"]
    assert withdrawn["params"]["requestId"] == question["id"]


@proves("withdrawn")
@legacy_server
@modern_client
async def test_a_parked_call_whose_question_is_taken_back_ends_at_the_retry(
    cell: Cell, tmp_path: Path
) -> None:
    """The server has gone on without an answer: what it has to say in the end is not lost."""
    never_mind = tmp_path / "never-mind"
    asked = await cell.ask({"withdraw": {"question": form("never mind"), "when": str(never_mind)}})
    never_mind.touch()
    await cell.journal.wait_until(lambda journal: journal.events("withdrawn"))
    assert json.loads(text_of(result_of(await asked.retry())))["answers"] == []
