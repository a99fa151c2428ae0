"""Rounds beyond the ordinary: without a question, without an end, and twenty conversations at once."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.grid.benches import Cell, conversing_server, open_bench
from tests.grid.features import proves
from tests.grid.questions import form, shown
from tests.support.journal import Journal
from tests.support.sessions import failure_of, result_of, text_of
from tests.support.talking import oblige, using

if TYPE_CHECKING:
    from pathlib import Path

    from tests.grid.benches import Transport
    from tests.support.client import Json
    from tests.support.sessions import Era

pytestmark = pytest.mark.asyncio(loop_scope="module")

CROWD = 20
UNREADABLE = "it asks for input in a form that could not be read"


@proves("state-only")
@pytest.mark.parametrize("server_era", ["modern"], indirect=True)
async def test_a_round_without_a_question_goes_on_by_itself(cell: Cell) -> None:
    answers = await cell.answers({"pause": True}, {"ask": [form("then")]}, {"pause": True})
    assert answers == [[], [oblige(form("then"))], []]
    assert cell.talker.asked == [shown(form("then"), "modern")]


@proves("rounds")
@pytest.mark.parametrize("server_era", ["modern"], indirect=True)
async def test_a_server_that_hands_on_no_state_gets_none(cell: Cell) -> None:
    answers = await cell.answers({"ask_without_state": [form("one")]})
    assert answers == [[oblige(form("one"))]]
    _, again = cell.sent("tools/call")
    assert "requestState" not in again["params"]


@proves("rounds")
@pytest.mark.parametrize("client_era", ["modern"], indirect=True)
async def test_an_answer_that_nobody_asked_for_is_ignored(cell: Cell) -> None:
    asked = await cell.ask({"ask": [form("one")]})
    answers = cell.talker.answers_to(asked.result)["inputResponses"]
    more = {"unheard-of": {"action": "accept"}, **answers}
    result = result_of(await asked.retry(inputResponses=more))
    assert json.loads(text_of(result))["answers"] == [[oblige(form("one"))]]


@proves("rounds-capped")
@pytest.mark.parametrize("client_era", ["legacy"], indirect=True)
@pytest.mark.parametrize("server_era", ["modern"], indirect=True)
@pytest.mark.parametrize("step", [{"ask_for_ever": form("again?")}, {"pause_for_ever": True}])
async def test_a_server_that_never_has_enough_is_stopped_after_ten_rounds(cell: Cell, step: Json) -> None:
    text = failure_of(await cell.result(step))
    assert text.startswith("Error executing tool 'converse' in server 'modern' (toolbox 'dev'): ")
    assert "10" in text
    assert len(cell.talker.asked) == (10 if "ask_for_ever" in step else 0)
    assert len(cell.sent("tools/call")) <= 11


@proves("nonsense")
@pytest.mark.parametrize("server_era", ["modern"], indirect=True)
@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({}, UNREADABLE),
        ({"inputRequests": {}}, UNREADABLE),
        ({"inputRequests": []}, UNREADABLE),
        ({"inputRequests": {"a": 7}, "requestState": "s"}, UNREADABLE),
        (
            {"inputRequests": {"a": {"method": "tools/call", "params": {}}}, "requestState": "s"},
            "it asked for input, and got none: ",
        ),
        ({"requestState": 7}, UNREADABLE),
    ],
    ids=["nothing", "no questions", "a list", "a number", "a method of ours", "a state that is none"],
)
async def test_a_question_that_makes_no_sense_fails_the_call_in_words(
    cell: Cell, members: Json, words: str
) -> None:
    text = failure_of(await cell.result({"result": {"resultType": "input_required", **members}}))
    assert words in text
    assert len(cell.sent("tools/call")) == 1


@proves("rounds")
@pytest.mark.parametrize("client_era", ["modern"], indirect=True)
async def test_a_modern_client_may_go_on_for_as_long_as_it_likes(cell: Cell) -> None:
    asked = await cell.ask({"ask_for_ever": form("again?")})
    params, result = asked.params, asked.result
    for _ in range(12):
        again = {**params, **cell.talker.answers_to(result)}
        result = result_of(await cell.session.request("tools/call", again))
        assert list(result["inputRequests"].values()) == [shown(form("again?"), cell.server)]


@proves("crowd")
async def test_twenty_calls_that_ask_at_once_get_their_own_answers(
    client_era: Era, server_era: Era, tmp_path: Path, over: Transport
) -> None:
    """A legacy server with several calls of a modern client may be refused its question; none is crossed."""
    names = [f"server-{number}" for number in range(5)]
    servers = {name: conversing_server(server_era, Journal(tmp_path / name)) for name in names}
    async with open_bench(tmp_path, client_era, servers=servers, over=over) as bench:
        calls = [
            (
                name,
                {"steps": [{"ask": [form(f"{name} {number} one")]}, {"ask": [form(f"{name} {number} two")]}]},
            )
            for name in names
            for number in range(CROWD // len(names))
        ]
        results = await asyncio.gather(
            *(bench.talker.request("tools/call", using(name, told)) for name, told in calls)
        )
    for (_, told), result in zip(calls, results, strict=True):
        answers = json.loads(text_of(result))["answers"]
        own = [[oblige(step["ask"][0])] for step in told["steps"]]
        refused = client_era == "modern" and server_era == "legacy"
        for got, expected in zip(answers, own, strict=True):
            assert got == expected or (refused and "error" in got[0])


@proves("crowd", client="modern", server="legacy")
async def test_twenty_parked_calls_of_five_servers_are_answered_backwards(
    tmp_path: Path, over: Transport
) -> None:
    names = [f"server-{number}" for number in range(5)]
    servers = {name: conversing_server("legacy", Journal(tmp_path / name)) for name in names}
    async with open_bench(tmp_path, "modern", servers=servers, over=over) as bench:
        cell = Cell(bench, "legacy")
        parked = [
            (number, await cell.ask({"ask": [form(f"number {number}")]}, server=names[number % len(names)]))
            for number in range(CROWD)
        ]
        for number, asked in reversed(parked):
            assert asked.questions == [shown(form(f"number {number}"), names[number % len(names)])]
            assert await asked.answers() == [[oblige(form(f"number {number}"))]]
