"""A server asks in the middle of a call, the client answers, and each gets the other's words as they were."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.grid.benches import ASKING, Cell, open_bench
from tests.grid.features import proves
from tests.grid.questions import ROOTS, form, sample, sample_with_tools, shown, url
from tests.support.sessions import RpcError
from tests.support.talking import oblige

if TYPE_CHECKING:
    from pathlib import Path

    from tests.grid.benches import Transport
    from tests.support.client import Json

pytestmark = pytest.mark.asyncio(loop_scope="module")


def without_id(question: Json) -> Json:
    """Of a URL to open: the eras differ in whether it has an id."""
    params = {name: value for name, value in question["params"].items() if name != "elicitationId"}
    return {**question, "params": params}


@proves("elicitation-form")
async def test_a_form_reaches_the_user_and_the_answer_the_server(cell: Cell) -> None:
    answers = await cell.answers({"ask": [form("Your name?")]})
    assert cell.talker.asked == [shown(form("Your name?"), cell.server)]
    assert answers == [[oblige(form("Your name?"))]]


@proves("elicitation-form")
async def test_a_form_without_a_mode_is_a_form(cell: Cell) -> None:
    question = form()
    del question["params"]["mode"]
    answers = await cell.answers({"ask": [question]})
    assert cell.talker.asked == [shown(question, cell.server)]
    assert answers == [[oblige(question)]]


@proves("elicitation-url")
async def test_an_address_reaches_the_user_and_the_consent_the_server(cell: Cell) -> None:
    question = url() if cell.server == "legacy" else without_id(url())
    answers = await cell.answers({"ask": [question]})
    assert [without_id(asked) for asked in cell.talker.asked] == [without_id(shown(question, cell.server))]
    assert answers == [[{"result": {"action": "accept"}}]]


@proves("elicitation-refused")
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_who_refuses_is_understood(cell: Cell, action: str) -> None:
    cell.talker.respond = lambda _: {"result": {"action": action, "_meta": {"vendor/why": "busy"}}}
    answers = await cell.answers({"ask": [form()]}, {"ask": [form("Really not?")]})
    refusal = {"result": {"action": action, "_meta": {"vendor/why": "busy"}}}
    assert answers == [[refusal], [refusal]]


@proves("sampling")
async def test_a_server_samples_the_clients_model(cell: Cell) -> None:
    hints = {"hints": [{"name": "small"}], "speedPriority": 1}
    question = sample("tea", modelPreferences=hints, systemPrompt="Be brief", stopSequences=["\n"])
    answers = await cell.answers({"ask": [question]})
    assert cell.talker.asked == [shown(question, cell.server)]
    assert answers == [[oblige(question)]]


@proves("sampling")
@pytest.mark.parametrize("context", ["allServers", "thisServer"])
async def test_a_server_does_not_get_the_context_of_others(cell: Cell, context: str) -> None:
    """To the client, this server is the workbench with all that is behind it."""
    await cell.answers({"ask": [sample("tea", includeContext=context)]})
    assert cell.talker.asked == [shown(sample("tea", includeContext="none"), cell.server)]


@proves("sampling-tools")
async def test_a_server_samples_with_tools_of_its_own(cell: Cell) -> None:
    use = {"type": "tool_use", "id": "call-1", "name": "weather", "input": {"city": "Ulm"}, "x-unknown": 1}
    said = {"result": {"role": "assistant", "content": [use], "model": "raw", "stopReason": "toolUse"}}
    cell.talker.respond = lambda _: said
    answers = await cell.answers({"ask": [sample_with_tools()]})
    assert cell.talker.asked == [shown(sample_with_tools(), cell.server)]
    assert answers == [[said]]


@proves("roots")
async def test_a_server_learns_the_clients_roots(cell: Cell) -> None:
    answers = await cell.answers({"ask": [ROOTS]})
    assert [asked["method"] for asked in cell.talker.asked] == ["roots/list"]
    assert answers == [[oblige(ROOTS)]]


@proves("rounds")
async def test_a_call_asks_round_after_round(cell: Cell) -> None:
    questions = [form("one"), sample("two"), ROOTS, form("four")]
    answers = await cell.answers(*({"ask": [question]} for question in questions))
    assert [asked["method"] for asked in cell.talker.asked] == [it["method"] for it in questions]
    assert answers == [[oblige(question)] for question in questions]


@proves("several-at-once")
async def test_a_round_of_several_questions_is_answered_one_by_one(cell: Cell) -> None:
    questions = [form("one"), sample("two"), form("three"), ROOTS]
    answers = await cell.answers({"ask": questions}, {"ask": [form("last")]})
    assert answers == [[oblige(question) for question in questions], [oblige(form("last"))]]


@proves("several-at-once")
async def test_the_keys_of_a_round_may_be_anything(cell: Cell) -> None:
    keys = ["", "with/slash", "ü\U0001f9f0", "__proto__"]
    questions = [form(f"number {at}", key=key) for at, key in enumerate(keys)]
    answers = await cell.answers({"ask": questions})
    assert answers == [[oblige(question) for question in questions]]


@proves("elsewhere")
async def test_a_server_asks_before_it_gives_a_prompt(cell: Cell) -> None:
    steps = json.dumps([{"ask": [form("For whom?")]}, {"ask": [sample("style")]}])
    getting = {"name": f"dev/{cell.server}/review", "arguments": {"steps": steps}}
    got = await cell.talker.request("prompts/get", getting)
    told = json.loads(got["messages"][0]["content"]["text"])
    assert told["answers"] == [[oblige(form("For whom?"))], [oblige(sample("style"))]]


@proves("elsewhere")
async def test_a_server_asks_before_it_gives_a_resource(cell: Cell) -> None:
    read = await cell.talker.request("resources/read", {"uri": f"workbench:dev/{cell.server}/{ASKING}"})
    told = json.loads(read["contents"][0]["text"])
    assert told["answers"] == [[oblige(form("Which edition?"))]]


@proves("url-required")
@pytest.mark.parametrize("server_era", ["legacy"], indirect=True)
async def test_a_call_that_needs_a_visit_first_says_so_in_the_clients_way(cell: Cell) -> None:
    needed = {"elicitations": [url("e-7")["params"]]}
    error = {"code": -32042, "message": "Sign in first", "data": needed}
    if cell.session.era == "legacy":
        with pytest.raises(RpcError) as refused:
            await cell.result({"refuse": error})
        told = {"elicitations": [shown(url("e-7"), "legacy")["params"]]}
        assert refused.value.error == {**error, "data": told}
    else:
        asked = await cell.ask({"refuse": error})
        (question,) = asked.questions
        assert without_id(question) == without_id(shown(url("e-7"), "legacy"))


@proves("url-required", client="legacy", server="legacy")
async def test_the_words_that_a_visit_is_asked_for_with_hide_secrets(tmp_path: Path, over: Transport) -> None:
    entry = {"env": {"TOKEN": "${TOKEN}"}}
    error: Json = {"code": -32042, "message": "TOKEN hunter2hunter2 has no access", "data": {}}
    error["data"] = {"elicitations": [url("e-8")["params"]]}
    async with open_bench(
        tmp_path, "legacy", entry=entry, env={"TOKEN": "hunter2hunter2"}, over=over
    ) as bench:
        with pytest.raises(RpcError) as refused:
            await Cell(bench, "legacy").result({"refuse": error})
        data = {"elicitations": [shown(url("e-8"), "legacy")["params"]]}
        assert refused.value.error == {**error, "message": "TOKEN ${TOKEN} has no access", "data": data}


@proves("elicitation-complete")
@pytest.mark.parametrize("client_era", ["legacy"], indirect=True)
@pytest.mark.parametrize("server_era", ["legacy"], indirect=True)
async def test_the_client_that_was_asked_hears_that_it_is_complete(cell: Cell) -> None:
    await cell.call({"ask": [url("e-9")]}, {"complete_elicitation": "e-9"})
    (told,) = [it for it in cell.notifications if it["method"] == "notifications/elicitation/complete"]
    (asked,) = cell.talker.asked
    assert told["params"]["elicitationId"] == asked["params"]["elicitationId"]


@proves("roots-changed")
@pytest.mark.parametrize("client_era", ["legacy"], indirect=True)
@pytest.mark.parametrize("server_era", ["legacy"], indirect=True)
async def test_a_server_hears_that_the_roots_have_changed(cell: Cell) -> None:
    await cell.client.notify("notifications/roots/list_changed")
    await cell.journal.wait_until(lambda _: cell.sent("notifications/roots/list_changed"))
    assert await cell.answers({"ask": [ROOTS]}) == [[oblige(ROOTS)]]
