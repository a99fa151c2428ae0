"""The soak's client finds what is wrong when it is asked, told and logged to without having called for it."""

from __future__ import annotations

import json
import random
import sys
from typing import TYPE_CHECKING, Any

import pytest

from soak.ledger import OK, WRONG
from soak.questions import ELICITATION, name_of, question, shown
from soak.talk import Talk
from soak.talks import Talks
from tests.soak.doctored import SERVER, conversation, problems

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the soak is for Linux")

OTHER = "t2"


def talk(act: str = "") -> Talk:
    return Talk("t1", SERVER, [[ELICITATION]], [10], act, 0, 0.0, 0.0)


def asking(token: str, times: int = 1) -> str:
    """What asks the question of a call, and keeps the call."""
    params = json.dumps(shown(name_of(token, 0), ELICITATION, f"{SERVER.toolbox}/{SERVER.name}"))
    asked = f"send(id=number, method={ELICITATION!r}, params=json.loads({params!r}))"
    return f"withheld.append(message)\n        for number in range({times}): {asked}"


def ending(got: str) -> str:
    """What ends the call with what its server says to have got."""
    return (
        f"text = json.dumps({got}); one = withheld.pop()\n"
        '        send(id=one["id"], result={"content": [{"type": "text", "text": text}]})'
    )


RIGHT = ending('[{"result": message["result"]}]')


async def verdict(how: str, answered: str, tmp_path: Path) -> list[str]:
    async with conversation(how, tmp_path, answered) as (client, traffic, ledger):
        await Talks(client, traffic, [SERVER], random.Random(1)).legacy(talk())  # noqa: S311 - no secret
    return problems(ledger)


async def test_a_right_conversation_is_right(tmp_path: Path) -> None:
    assert await verdict(asking("t1"), RIGHT, tmp_path) == []


@pytest.mark.parametrize(
    ("got", "complaint"),
    [
        ("[]", "wrong: an answer of the client has not arrived"),
        ('[{"result": {"action": "decline"}}]', "wrong: an answer that was given in another call"),
        ('[{"error": {"code": 1, "message": "no"}}]', "an error that no fault explains (? no)"),
        ('[{"error": {"message": "the client gave no answer"}}]', "an error that no fault explains (asked"),
    ],
)
async def test_an_answer_that_went_astray_is_reported(got: str, complaint: str, tmp_path: Path) -> None:
    (found,) = await verdict(asking("t1"), ending(got), tmp_path)
    assert found.startswith(complaint)


async def test_a_question_that_comes_twice_is_reported(tmp_path: Path) -> None:
    (found,) = await verdict(asking("t1", times=2), RIGHT, tmp_path)
    assert found.startswith("more questions than a server asks")


async def test_a_question_of_another_call_is_reported(tmp_path: Path) -> None:
    how = f"{asking(OTHER)}; message = {{'result': {talk().answer(0)}}}; {RIGHT}"
    (found,) = await verdict(how, "pass", tmp_path)
    assert found.startswith("a question of no call in flight")


@pytest.mark.parametrize(
    ("method", "params", "complaint"),
    [
        ("message", {"level": "error", "data": "", "logger": "box9/alpha"}, "a log message of no server"),
        ("message", {"level": "info", "data": "", "logger": "box0/alpha"}, "a log message that nobody wants"),
        ("resources/updated", {"uri": "x:y"}, "an update that nobody wants"),
        ("cancelled", {"requestId": 1}, "a question was taken back that is none"),
    ],
)
async def test_a_notice_that_nobody_wants_is_reported(
    method: str, params: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    (tmp_path / "box0.alpha.lives").write_text("1\n", encoding="ascii")
    how = f"send(method='notifications/{method}', params={params}); answer(message)"
    async with conversation(how, tmp_path) as (client, traffic, ledger):
        client.ears.level = 4
        assert await traffic.echo(SERVER, 10) == OK
        assert ledger.seen[f"notifications/{method}"] == 1
    (found,) = problems(ledger)
    assert found.startswith(complaint)


async def test_a_log_message_of_a_server_is_taken(tmp_path: Path) -> None:
    (tmp_path / "box0.alpha.lives").write_text("1\n", encoding="ascii")
    params = {"level": "error", "data": "", "logger": "box0/alpha/its own"}
    how = f"send(method='notifications/message', params={params}); answer(message)"
    async with conversation(how, tmp_path) as (_, traffic, ledger):
        assert await traffic.echo(SERVER, 10) == OK
    assert problems(ledger) == []


async def test_questions_for_a_modern_client_are_looked_at_too(tmp_path: Path) -> None:
    requests = {"q": {"method": ELICITATION, "params": question(name_of(OTHER, 0), ELICITATION)}}
    result = {"resultType": "input_required", "inputRequests": requests, "requestState": "s"}
    how = f"send(id=message['id'], result={result})"
    async with conversation(how, tmp_path) as (client, traffic, ledger):
        await Talks(client, traffic, [SERVER], random.Random(1)).modern(talk())  # noqa: S311 - no secret
    (found,) = problems(ledger)
    assert found.startswith(f"{WRONG}: a question of another call")
