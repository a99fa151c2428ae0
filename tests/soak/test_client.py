"""The soak's client writes down what a doctored workbench does wrong, and the accountant says so."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest

from soak.ledger import LOST, OK
from tests.soak.doctored import SERVER, conversation, problems

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the soak is for Linux")


async def test_right_answers_are_right(tmp_path: Path) -> None:
    async with conversation("answer(message)", tmp_path) as (client, traffic, ledger):
        outcomes = await asyncio.gather(*(traffic.echo(SERVER, size) for size in (10, 1000, 2_000_000)))
        await client.ping()
    assert outcomes == [OK, OK, OK]
    assert problems(ledger) == []


@pytest.mark.parametrize(
    ("how", "complaint"),
    [
        ("pass", "no answer"),
        ("answer(message); answer(message)", "2 answers to one request"),
        ("message['id'] = 99; answer(message)", "an answer to nothing"),
        ("print('no JSON', flush=True)", "what is no JSON came on stdout"),
        (
            "message['params']['arguments']['arguments']['text'] += '.'; answer(message)",
            "wrong: the text of another call, or a damaged one",
        ),
        ("send(id=message['id'], error={'code': 1, 'message': 'no'})", "wrong: a JSON-RPC error"),
        ("send(id=message['id'], result={'content': []})", "wrong: an answer of another form"),
        ("send(id=message['id'], method='ping')", "an unexpected message"),
    ],
)
async def test_a_wrong_answer_is_reported(how: str, complaint: str, tmp_path: Path) -> None:
    async with conversation(how, tmp_path) as (client, traffic, ledger):
        traffic.echo(SERVER, 100)
        await client.ping()
    assert any(problem.startswith(complaint) for problem in problems(ledger))


async def test_an_answer_after_the_cancellation_is_reported(tmp_path: Path) -> None:
    async with conversation("withheld.append(message)", tmp_path) as (client, traffic, ledger):
        await traffic.cancelled(SERVER)
        await client.ping()
    assert problems(ledger) == ["2 answers to one request", "an answer after the cancellation"]


async def test_a_cancelled_call_may_stay_without_an_answer(tmp_path: Path) -> None:
    async with conversation("pass", tmp_path) as (_, traffic, ledger):
        await traffic.cancelled(SERVER)
    assert problems(ledger) == []


async def test_nobody_waits_for_a_workbench_that_has_ended(tmp_path: Path) -> None:
    async with conversation("sys.exit(0)", tmp_path) as (client, traffic, ledger):
        assert await traffic.echo(SERVER, 100) == LOST
        assert await traffic.echo(SERVER, 100) == LOST
        assert client.ended.is_set()
    assert [problem.split(" (")[0].split()[:3] for problem in ledger.judge()] == [["no", "answer:", "2"]]
