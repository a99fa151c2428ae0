"""What observing a call costs beside the call itself, counted in steps. No clock."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.serve.audit.call_audit import CallAudit
from mcp_workbench.serve.logs import StderrHandler
from mcp_workbench.serve.logs.call_log import CallLog
from mcp_workbench.workbench.call_counts import CallCounts
from mcp_workbench.workbench.door import Door
from tests.serve.counting import Steps
from tests.serve.relayed import Relayed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp_workbench.workbench.door import CallRecord


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


@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
async def test_a_door_with_nothing_behind_it_takes_no_step(tmp_path: Path, modern: bool) -> None:
    bare = steps_of_a_call(tmp_path, None, modern=modern)
    assert steps_of_a_call(tmp_path, Door([], []), modern=modern) == bare


@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
async def test_each_decider_takes_two_steps_and_no_task(tmp_path: Path, modern: bool) -> None:
    one = steps_of_a_call(tmp_path, Door([Passing()]), modern=modern)
    two = steps_of_a_call(tmp_path, Door([Passing(), Passing()]), modern=modern)
    assert (two[0] - one[0], two[1] - one[1]) == (2, 0)
