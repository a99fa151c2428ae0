"""A `requestState` is good once, in time, for the very call that it was made for; the error says which."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.grid.features import proves
from tests.grid.questions import form
from tests.support.sessions import result_of, text_of
from tests.support.talking import oblige, using

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.grid.benches import Cell
    from tests.support.client import Json

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.parametrize("client_era", ["modern"], indirect=True),
]

STEPS = {"ask": [form("who?")]}


def refusal(response: Json) -> str:
    error = response["error"]
    assert error["code"] == -32602, error
    message: str = error["message"]
    return message


def swap(text: str, at: int) -> str:
    """With one character another, of the same alphabet."""
    return text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :]


@proves("state")
@pytest.mark.parametrize(
    "forge",
    [
        lambda _: "",
        lambda _: "forged",
        lambda _: "é\U0001f9f0 \n",
        lambda state: state[: len(state) // 2],
        lambda state: state + "A",
        lambda state: swap(state, 0),
        lambda state: swap(state, len(state) // 2),
        lambda state: swap(state, len(state) - 8),
    ],
    ids=["empty", "made up", "not ASCII", "cut", "longer", "first", "middle", "late"],
)
async def test_a_forged_state_is_refused_and_the_true_one_still_serves(
    cell: Cell, forge: Callable[[str], str]
) -> None:
    asked = await cell.ask(STEPS)
    calls = len(cell.sent("tools/call"))
    assert refusal(await asked.retry(requestState=forge(asked.state)))
    assert len(cell.sent("tools/call")) == calls
    assert await asked.answers() == [[oblige(form("who?"))]]


@proves("state")
@pytest.mark.parametrize("state", [7, None, {}, ["a"]])
async def test_a_state_that_is_no_string_is_refused(cell: Cell, state: object) -> None:
    asked = await cell.ask(STEPS)
    assert refusal(await asked.retry(requestState=state))
    assert await asked.answers() == [[oblige(form("who?"))]]


@proves("state")
@pytest.mark.parametrize("answers", [[], "yes", 7, None], ids=repr)
async def test_answers_that_are_no_object_are_refused_and_the_call_waits_on(
    cell: Cell, answers: object
) -> None:
    asked = await cell.ask(STEPS)
    assert refusal(await asked.retry(inputResponses=answers))
    assert await asked.answers() == [[oblige(form("who?"))]]


@proves("state")
async def test_a_replayed_state_is_refused(cell: Cell) -> None:
    asked = await cell.ask(STEPS)
    assert await asked.answers() == [[oblige(form("who?"))]]
    calls = len(cell.sent("tools/call"))
    assert "already" in refusal(await asked.retry())
    assert len(cell.sent("tools/call")) == calls


@proves("state")
async def test_a_state_of_an_earlier_round_is_refused(cell: Cell) -> None:
    asked = await cell.ask(STEPS, {"ask": [form("and?")]})
    later = (await asked.retry())["result"]
    assert "already" in refusal(await asked.retry())
    again = {**asked.params, **cell.talker.answers_to(later)}
    assert "result" in await cell.session.request("tools/call", again)


@proves("state")
async def test_a_state_with_another_tool_is_refused(cell: Cell) -> None:
    asked = await cell.ask(STEPS)
    other = using(cell.server, {"steps": [STEPS]}, tool="other")
    assert "tool" in refusal(await asked.retry(other))
    assert await asked.answers() == [[oblige(form("who?"))]]


@proves("state")
async def test_a_state_with_another_server_is_refused(cell: Cell) -> None:
    asked = await cell.ask(STEPS)
    other = using("modern" if cell.server == "legacy" else "legacy", {"steps": [STEPS]})
    assert refusal(await asked.retry(other))
    assert await asked.answers() == [[oblige(form("who?"))]]


@proves("state")
async def test_a_state_with_other_arguments_is_refused(cell: Cell) -> None:
    asked = await cell.ask(STEPS)
    other = using(cell.server, {"steps": [STEPS], "more": 1})
    assert "arguments" in refusal(await asked.retry(other))
    assert await asked.answers() == [[oblige(form("who?"))]]


@proves("state")
async def test_the_state_of_another_call_is_refused(cell: Cell) -> None:
    first = await cell.ask({"ask": [form("first")]})
    second = await cell.ask({"ask": [form("second")]})
    assert refusal(await first.retry(requestState=second.state))
    assert refusal(await second.retry(requestState=first.state))
    assert await second.answers() == [[oblige(form("second"))]]
    assert await first.answers() == [[oblige(form("first"))]]


@proves("state")
async def test_a_state_is_good_for_one_kind_of_request(cell: Cell) -> None:
    asked = await cell.ask(STEPS)
    getting: Json = {"name": f"dev/{cell.server}/review", "arguments": {"steps": json.dumps([STEPS])}}
    prompted = (await cell.session.request("prompts/get", getting))["result"]
    assert refusal(await asked.retry(requestState=prompted["requestState"]))
    crossed = {**getting, **cell.talker.answers_to(asked.result)}
    assert refusal(await cell.session.request("prompts/get", crossed))
    got = await cell.session.request("prompts/get", {**getting, **cell.talker.answers_to(prompted)})
    assert json.loads(got["result"]["messages"][0]["content"]["text"])["answers"] == [[oblige(form("who?"))]]
    assert await asked.answers() == [[oblige(form("who?"))]]


@proves("state")
async def test_the_arguments_may_be_written_in_another_way(cell: Cell) -> None:
    """A client builds its request anew: the order of members and the spaces are its own."""
    asked = await cell.ask(STEPS)
    tool = {"tool": "converse", "server": cell.server, "toolbox": "dev"}
    rewritten = {"name": "use_tool", "arguments": {"arguments": {"steps": [STEPS]}, "tool": tool}}
    assert "result" in await asked.retry(rewritten)


@proves("state")
async def test_null_is_no_state(cell: Cell) -> None:
    params = {**using(cell.server, {"steps": []}), "requestState": None, "inputResponses": None}
    assert text_of(result_of(await cell.session.request("tools/call", params)))
