"""What a shared server asks or logs about one principal's call is for no other, over HTTP with two tokens."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.grid.questions import form
from tests.serve.admission.test_tokens import ALICE, BOB, write_tokens
from tests.serve.http.conftest import open_for_alice_and_bob
from tests.servers.scripted import RESERVED
from tests.support.configs import acting, toolboxes
from tests.support.sessions import result_of, text_of
from tests.support.talking import using

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.serve.http.conftest import Flag, SharedWorkbench
    from tests.serve.http.raw_clients import Legacy, Modern
    from tests.support.client import Json
    from tests.support.sessions import Era

ACCEPT = {"action": "accept", "content": {"said": "by alice"}}
DEBUG = {RESERVED + "logLevel": "debug"}
SHARED = "works for several users"


@pytest.fixture
async def shared_workbench(build: Callable[[], SharedWorkbench]) -> SharedWorkbench:
    return await open_for_alice_and_bob(build())


async def bob_of(shared_workbench: SharedWorkbench, era: Era) -> Legacy | Modern:
    return await shared_workbench.legacy(BOB) if era == "legacy" else await shared_workbench.modern(BOB)


async def messages_of(client: Legacy | Modern, *steps: Json, server: Era = "legacy") -> list[Json]:
    """All messages about a call that wants every log message."""
    response = await client.call(*steps, server=server, meta=DEBUG)
    return await response.messages()


async def calls_made(shared_workbench: SharedWorkbench, count: int, server: Era = "legacy") -> None:
    await shared_workbench.journals[server].wait_until(
        lambda journal: sum('"tools/call"' in line for line in journal.lines) == count
    )


def answers_in(messages: list[Json]) -> list[list[Json]]:
    answers: list[list[Json]] = json.loads(text_of(result_of(messages[-1])))["answers"]
    return answers


async def test_a_second_question_is_refused_while_another_principal_has_a_call(
    shared_workbench: SharedWorkbench, client_era: Era, flag: Flag
) -> None:
    alice, bob = await shared_workbench.legacy(ALICE), await bob_of(shared_workbench, client_era)
    response = await alice.call({"ask": [form("the first")]}, {"ask": [form("the second")]})
    question = await response.next_message()
    assert "the first" in question["params"]["message"]
    waiting = asyncio.create_task(messages_of(bob, {"wait": str(flag)}))
    await calls_made(shared_workbench, 2)
    await alice.answer(question, ACCEPT)
    ((first,), (second,)) = answers_in(await response.messages())
    assert (first, SHARED in second["error"]["message"]) == ({"result": ACCEPT}, True)
    flag.up()
    assert "the second" not in json.dumps(await waiting)


async def test_a_question_for_a_call_that_was_cancelled_does_not_reach_another_principals_next(
    shared_workbench: SharedWorkbench, flag: Flag
) -> None:
    """The server takes no notice of the cancellation."""
    alice, bob = await shared_workbench.legacy(ALICE), await shared_workbench.modern(BOB)
    waiting = asyncio.create_task(alice.call({"wait": str(flag)}, {"ask": [form("alice?")]}, request_id="it"))
    await calls_made(shared_workbench, 1)
    await alice.notify("notifications/cancelled", {"requestId": "it"})
    done = flag.beside("done")
    others = asyncio.create_task(messages_of(bob, {"wait": str(done)}))
    await calls_made(shared_workbench, 2)
    flag.up()
    asked = shared_workbench.journals["legacy"]
    await asked.wait_until(lambda journal: any(SHARED in line for line in journal.lines))
    done.up()
    assert "alice?" not in json.dumps(await others)
    await waiting


async def test_a_question_right_after_the_answer_does_not_reach_another_principals_call(
    shared_workbench: SharedWorkbench, flag: Flag
) -> None:
    alice, bob = await shared_workbench.legacy(ALICE), await shared_workbench.legacy(BOB)
    now, done = flag.beside("now"), flag.beside("done")
    others = asyncio.create_task(messages_of(bob, {"wait": str(done)}))
    await calls_made(shared_workbench, 1)
    await messages_of(alice, {"ask_later": {"question": form("alice?"), "when": str(now)}})
    now.up()
    await shared_workbench.journals["legacy"].wait_until(lambda journal: journal.events("answered"))
    assert SHARED in shared_workbench.journals["legacy"].events("answered")[-1]["answer"]["error"]["message"]
    done.up()
    assert "alice?" not in json.dumps(await others)


async def test_what_a_server_logs_about_one_call_is_not_told_in_another_principals(
    shared_workbench: SharedWorkbench, flag: Flag, server_era: Era
) -> None:
    alice, bob = await shared_workbench.legacy(ALICE), await shared_workbench.modern(BOB)
    others = asyncio.create_task(messages_of(bob, {"wait": str(flag)}, server=server_era))
    await calls_made(shared_workbench, 1, server_era)
    said: Json = {"log": [{"level": "error", "data": "about alice"}]}
    assert "result" in (await messages_of(alice, said, server=server_era))[-1]
    flag.up()
    assert "about alice" not in json.dumps(await others)


async def test_what_a_server_wrote_to_stderr_is_quoted_to_nobody_once_there_are_several_principals(
    build: Callable[[], SharedWorkbench],
) -> None:
    shared_workbench = build()
    tokens = write_tokens(shared_workbench.home, alice=(ALICE, ["*"]), bob=(BOB, ["*"]))
    config = toolboxes(dev={"files": acting("die", "crash")})
    await shared_workbench.open(config, "--token-file", str(tokens))
    calling = using("files", {}, tool="die")
    alice, bob = await shared_workbench.modern(ALICE), await shared_workbench.modern(BOB)
    alone = json.dumps(await (await alice.send("tools/call", calling)).messages())
    assert "about to crash" in alone
    told = json.dumps(await (await bob.send("tools/call", calling)).messages())
    assert ("about to crash" in told, "the log of the workbench has it" in told) == (False, True)
