"""Several clients of one workbench: changes reach all of them, and private messages only their own client."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.grid.questions import form
from tests.serve.admission.test_tokens import ALICE, BOB
from tests.serve.http.conftest import open_for_alice_and_bob
from tests.support.client import write_config
from tests.support.configs import server, toolboxes
from tests.support.sessions import result_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.serve.http.conftest import SharedWorkbench
    from tests.support.client import Json
    from tests.support.sessions import Era

KEY = {"WORKBENCH_STATE_KEY": "one key for both of them, which is long enough"}
ASKING: list[Json] = [{"ask": [form("which one?")]}]


@pytest.fixture
async def shared_workbench(build: Callable[[], SharedWorkbench]) -> SharedWorkbench:
    return await open_for_alice_and_bob(build())


def answers_to(result: Json, answer: Json | None = None) -> Json:
    answers = {key: answer or {"action": "decline"} for key in result["inputRequests"]}
    return {"requestState": result["requestState"], "inputResponses": answers}


async def test_a_change_of_the_configuration_is_told_on_the_streams_of_both_eras(
    shared_workbench: SharedWorkbench,
) -> None:
    legacy, modern = await shared_workbench.legacy(ALICE), await shared_workbench.modern(BOB)
    at_large, stream = await legacy.listen(), await modern.listen(toolsListChanged=True)
    unasked = await (await shared_workbench.modern(ALICE)).listen(promptsListChanged=True)
    config = shared_workbench.config()
    config["toolboxes"] |= toolboxes(more={"files": server()})["toolboxes"]
    write_config(shared_workbench.home, config)
    for response in (at_large, stream):
        assert (await response.next_message())["method"] == "notifications/tools/list_changed"
    for client in (legacy, modern):
        listed = await (await client.send("tools/list")).json()
        assert '"more"' in json.dumps(listed)
    greeted = await shared_workbench.legacy(BOB)
    assert '"more"' in json.dumps(await (await greeted.send("tools/list")).json())
    shared_workbench.process.terminate()
    assert [list(message) for message in await unasked.messages()] == [["jsonrpc", "id", "result"]]


async def test_a_parked_call_goes_on_by_another_connection_of_the_same_one(
    shared_workbench: SharedWorkbench,
) -> None:
    here, there = await shared_workbench.modern(ALICE), await shared_workbench.modern(ALICE)
    asked = result_of(await (await here.call(*ASKING)).json())
    assert asked["resultType"] == "input_required"
    here.leave_all()
    response = await there.call(*ASKING, more=answers_to(asked))
    assert '"decline"' in text_of(result_of((await response.messages())[-1]))


async def test_the_state_of_another_is_refused_as_if_it_were_forged(
    shared_workbench: SharedWorkbench, server_era: Era
) -> None:
    alice, bob = await shared_workbench.modern(ALICE), await shared_workbench.modern(BOB)
    asked = result_of((await (await alice.call(*ASKING, server=server_era)).messages())[-1])
    stolen = await bob.call(*ASKING, server=server_era, more=answers_to(asked))
    error = (await stolen.json())["error"]
    assert (stolen.status, error["code"]) == (400, -32602)
    assert "was not made by this workbench" in error["message"]
    own = await alice.call(*ASKING, server=server_era, more=answers_to(asked))
    assert text_of(result_of((await own.messages())[-1]))


async def test_a_state_is_good_once(shared_workbench: SharedWorkbench, server_era: Era) -> None:
    client = await shared_workbench.modern(ALICE)
    asked = result_of((await (await client.call(*ASKING, server=server_era)).messages())[-1])
    await (await client.call(*ASKING, server=server_era, more=answers_to(asked))).messages()
    again = await client.call(*ASKING, server=server_era, more=answers_to(asked))
    assert (again.status, (await again.json())["error"]["code"]) == (400, -32602)


async def test_a_retry_at_another_replica_neither_runs_the_call_nor_uses_the_state_up(
    build: Callable[[], SharedWorkbench], server_era: Era
) -> None:
    one, two = build(), build()
    for shared_workbench in (one, two):
        await shared_workbench.open(shared_workbench.config(), env=KEY)
    here, there = await one.modern(), await two.modern()
    asked = result_of(await (await here.call(*ASKING, server=server_era)).json())
    refused = await there.call(*ASKING, server=server_era, more=answers_to(asked))
    message = (await refused.json())["error"]["message"]
    assert "made by another workbench process" in message
    response = await here.call(*ASKING, server=server_era, more=answers_to(asked))
    assert '"decline"' in text_of(result_of((await response.messages())[-1]))
    replayed = await there.call(*ASKING, server=server_era, more=answers_to(asked))
    assert "made by another workbench process" in (await replayed.json())["error"]["message"]


async def test_an_approval_is_refused_at_another_replica_and_still_good_at_the_first(
    build: Callable[[], SharedWorkbench], server_era: Era
) -> None:
    one, two = build(), build()
    for shared_workbench in (one, two):
        await shared_workbench.open(shared_workbench.config({"policy": {"*": "ask"}}), env=KEY)
    here, there = await one.modern(), await two.modern()
    asked = result_of(await (await here.call(server=server_era)).json())
    (question,) = asked["inputRequests"].values()
    assert question["params"]["message"].startswith("[workbench] Allow this call?")
    approved = answers_to(asked, {"action": "accept", "content": {"allow": "once"}})
    for _ in range(2):
        refused = await there.call(server=server_era, more=approved)
        error = (await refused.json())["error"]
        assert (refused.status, error["code"]) == (400, -32602)
        assert "made by another workbench process" in error["message"]
    assert two.journals[server_era].messages("tools/call") == []
    assert text_of(result_of((await (await here.call(server=server_era, more=approved)).messages())[-1]))
    assert len(one.journals[server_era].messages("tools/call")) == 1
    # Elsewhere it is good for nothing, before and after it was used.
    again = await there.call(server=server_era, more=approved)
    assert "made by another workbench process" in (await again.json())["error"]["message"]


async def test_a_question_reaches_the_one_whose_call_it_is_about(
    shared_workbench: SharedWorkbench, client_era: Era
) -> None:
    """A legacy server's question that may be any of several clients' is put to none of them."""
    alice = await shared_workbench.legacy(ALICE)
    bob = await shared_workbench.legacy(BOB) if client_era == "legacy" else await shared_workbench.modern(BOB)
    at_large = await alice.listen()
    response = await bob.call(*ASKING)
    message = await response.next_message() if client_era == "legacy" else await response.json()
    assert "which one?" in json.dumps(message)
    await alice.ask("DELETE")
    assert await at_large.messages() == []


async def test_one_clients_log_level_and_logs_are_not_anothers(shared_workbench: SharedWorkbench) -> None:
    alice, bob = await shared_workbench.legacy(ALICE), await shared_workbench.legacy(BOB)
    heard = await bob.listen()
    said: Json = {"log": [{"level": "info", "data": "for alice alone"}]}
    response = await alice.call(said)
    messages = await response.messages()
    assert [message.get("params", {}).get("data") for message in messages] == ["for alice alone", None]
    await bob.ask("DELETE")
    assert await heard.messages() == []


async def test_two_hundred_clients_at_once_are_all_served(shared_workbench: SharedWorkbench) -> None:
    async def exchange(number: int) -> str:
        client = (
            await shared_workbench.modern(BOB)
            if number % 2
            else await shared_workbench.legacy(ALICE, capabilities={})
        )
        response = await client.call({"result": {"content": [{"type": "text", "text": str(number)}]}})
        return text_of(result_of((await response.messages())[-1]))

    async with asyncio.timeout(60):
        texts = await asyncio.gather(*(exchange(number) for number in range(200)))
    assert texts == [str(number) for number in range(200)]
