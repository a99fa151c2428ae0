"""The benchmark's client believes no answer that it has not verified, and waits for none that cannot come."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from bench.bodies import TEXT
from bench.client import Client
from bench.process import TargetFailed
from tests.structure.package import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the benchmark is for Linux")

SIZE = 100
ECHO = """
import json, sys
from bench import bodies
print("some last words", file=sys.stderr, flush=True)
right = lambda identifier: {"jsonrpc": "2.0", "id": identifier, "result": bodies.result("text", 100)}
for number, line in enumerate(sys.stdin):
    answer = right(json.loads(line)["id"])
    if number:
        MISTAKE
    print(json.dumps(answer, separators=(",", ":")), flush=True)
"""
CALL = {"name": "any", "arguments": {}}


def target(mistake: str) -> Client:
    """A target whose first answer is right, and whose others have a mistake."""
    program = ECHO.replace("MISTAKE", mistake)
    return Client("the target", [sys.executable, "-c", program], {"PYTHONPATH": str(ROOT)})


MISTAKES = {
    'answer["id"] += 1': "which was not asked",
    'del answer["result"]; answer["error"] = {"code": 1, "message": "no"}': "answered with an error",
    'answer["result"]["content"] = []': "bytes in place of",
    'answer = {"jsonrpc": "2.0", "method": "notifications/message"}': "no answer",
    "sys.exit(3)": r"ended its output \(it ended with code 3\)\nsome last words",
}


@pytest.mark.parametrize(("mistake", "report"), MISTAKES.items(), ids=MISTAKES.values())
@pytest.mark.parametrize("window", [None, 2], ids=["sequential", "pipelined"])
def test_a_mistake_is_reported_with_the_name_of_the_target(
    mistake: str, report: str, window: int | None
) -> None:
    with target(mistake) as client:
        call = client.prepare(CALL, TEXT, SIZE)
        with pytest.raises(TargetFailed, match=f"^the target .*{report}"):
            client.time_pipelined(call, 4, window, 5.0) if window else client.time_call(call)


def test_a_first_answer_that_was_changed_is_reported() -> None:
    with target("pass") as client, pytest.raises(TargetFailed, match="changed a result"):
        client.prepare(CALL, TEXT, SIZE + 50)


def test_a_target_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with target("continue") as client:
        call = client.prepare(CALL, TEXT, SIZE)
        monkeypatch.setattr("bench.process.PATIENCE", 0.1)
        with pytest.raises(TargetFailed, match=r"did not answer within 0\.1 s"):
            client.time_call(call)


@pytest.fixture
def honest() -> Iterator[Client]:
    with target("pass") as client:
        yield client


def test_right_answers_are_timed_and_counted(honest: Client) -> None:
    call = honest.prepare(CALL, TEXT, SIZE)
    assert honest.time_call(call) > 0
    count, seconds = honest.time_pipelined(call, 10, 3, 5.0)
    assert count == 10
    assert seconds > 0


def test_the_costs_of_the_process_are_its_own(honest: Client) -> None:
    honest.prepare(CALL, TEXT, SIZE)
    assert 0 < honest.cpu < 10
    assert 1e6 < honest.rss <= honest.peak_rss < 1e9
    assert honest.children() == []
