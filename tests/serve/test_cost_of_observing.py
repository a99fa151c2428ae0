"""What observing a call costs beside the call itself, counted in steps. No clock."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from itertools import repeat
from typing import TYPE_CHECKING

import msgspec
import pytest

from mcp_workbench.serve.audit.call_audit import MAX_COLLECTED, CallAudit
from mcp_workbench.serve.logs import StderrHandler
from mcp_workbench.serve.logs.call_log import CallLog
from mcp_workbench.workbench.call_counts import CallCounts
from mcp_workbench.workbench.door import Door, LostCall
from tests.serve.counting import Steps
from tests.serve.relayed import Relayed
from tests.storage.audit.lines import read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp_workbench.workbench.door import CallRecord

RESULT = msgspec.Raw(b'{"content":[]}')


@pytest.fixture
def nowhere() -> Iterator[int]:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    yield descriptor
    os.close(descriptor)


class Passing:
    """A decider that lets every call pass."""

    def decide(self, record: CallRecord) -> None:
        """Let the call pass."""


def steps_of_a_call(directory: Path, door: Door | None, *, modern: bool) -> tuple[int, int]:
    """The steps of a request and of its answer, once everything has been used before."""
    relayed = Relayed(directory, modern=modern, door=door)
    for _ in range(2):
        relayed.request()()
        relayed.answer(1)()
    return len(Steps(relayed.request()).calls), len(Steps(relayed.answer(100)).calls)


@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
async def test_counting_and_logging_a_call_take_few_steps(tmp_path: Path, nowhere: int, modern: bool) -> None:
    call_log = CallLog(StderrHandler(descriptor=nowhere))
    bare = steps_of_a_call(tmp_path, None, modern=modern)
    observed = steps_of_a_call(tmp_path, Door(observers=[CallCounts(), call_log]), modern=modern)
    call_log.close()
    assert observed[0] - bare[0] <= 7
    assert observed[1] - bare[1] <= 4


@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
async def test_recording_a_call_takes_one_step(tmp_path: Path, modern: bool) -> None:
    counted = steps_of_a_call(tmp_path, Door(observers=[CallCounts()]), modern=modern)
    door = Door(observers=[CallCounts()])
    audit = CallAudit(door, {"XDG_DATA_HOME": str(tmp_path)}, StderrHandler())
    audit.set_level("metadata")
    recorded = steps_of_a_call(tmp_path, door, modern=modern)
    await audit.close()
    assert (recorded[0] - counted[0], recorded[1] - counted[1]) == (0, 1)


async def test_the_lines_of_many_calls_take_few_steps_more_and_are_encoded_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = Door()
    audit = CallAudit(door, {"XDG_DATA_HOME": str(tmp_path)}, StderrHandler())
    audit.set_level("metadata")
    loop = asyncio.get_running_loop()

    def batch() -> Steps:
        calls = [
            door.begin(LostCall("tools/call", ("dev", "git"), f"tool {number % 5}", "ada", "cursor", b"{}"))
            for number in range(MAX_COLLECTED)
        ]
        for call in calls:
            call.begun_at = 1_800_000_000.0

        def end() -> None:
            for call in calls:
                call.answered(RESULT)

        with monkeypatch.context() as patch:
            patch.setattr(loop, "time", repeat(loop.time()).__next__)  # all end in the same millisecond
            return Steps(end)

    batch()  # makes the thread, and everything else that is made once
    steps = batch()
    await audit.close()
    assert len(read(tmp_path)) == 2 * MAX_COLLECTED
    # Each call ends, and is observed. All else is for the whole batch.
    assert len(steps.own) <= 2 * MAX_COLLECTED + 20, Counter(steps.own)
    assert steps.encodings == 1


@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
async def test_a_door_with_nothing_behind_it_takes_no_step(tmp_path: Path, modern: bool) -> None:
    bare = steps_of_a_call(tmp_path, None, modern=modern)
    assert steps_of_a_call(tmp_path, Door([], []), modern=modern) == bare


@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
async def test_each_decider_takes_two_steps_and_no_task(tmp_path: Path, modern: bool) -> None:
    one = steps_of_a_call(tmp_path, Door([Passing()]), modern=modern)
    two = steps_of_a_call(tmp_path, Door([Passing(), Passing()]), modern=modern)
    assert (two[0] - one[0], two[1] - one[1]) == (2, 0)
