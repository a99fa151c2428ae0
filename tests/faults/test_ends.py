"""Whatever keeps a server from going, the workbench goes in time, and nothing of the server stays."""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pytest

from tests.faults.trial import OPEN, SURVIVAL_LIMIT, TABLE_LIMIT, Trial, spoken
from tests.support.processes import is_running
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

pytestmark = pytest.mark.timeout(600)  # the first of these tests runs the trials of all of them

Way = Literal["EOF", "SIGTERM", "SIGINT", "SIGHUP", "SIGKILL", "SIGTERM, SIGKILL"]


@dataclass(frozen=True)
class Fault:
    """A function of `servers/end_faults.py`, and the way in which the workbench is ended."""

    function: str
    way: Way
    call: str | None = None
    """The fault of `servers/call_faults.py` that a call is at when the end comes."""
    start: str | None = None
    """The fault of `servers/start_faults.py` that an opening is at when the end comes."""
    is_heavy: bool = False

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.function, self.way, self.call, self.start)))


WAYS: tuple[Way, ...] = ("EOF", "SIGTERM", "SIGINT", "SIGHUP", "SIGKILL", "SIGTERM, SIGKILL")
SOME_WAYS: tuple[Way, ...] = ("EOF", "SIGTERM", "SIGKILL")

FAULTS = (
    *(Fault("goes_in_good_order", way) for way in WAYS),
    *(Fault("goes_in_good_order", way, call="never_answers") for way in WAYS),
    *(Fault("has_helpers_and_is_stubborn", way, call="never_answers") for way in WAYS),
    *(
        Fault(function, way)
        for way in SOME_WAYS
        for function in (
            "ignores_sigterm_and_eof",
            "has_a_helper",
            "has_a_helper_in_a_new_session",
            "has_a_helper_that_cut_all_ties",
            "starts_a_helper_when_told_to_end",
            "babbles_at_the_end",
            "stops_itself_when_its_input_ends",
            "closes_its_output_when_its_input_ends",
        )
    ),
    *(
        Fault("ignores_sigterm_and_eof", way, call=call)
        for way in SOME_WAYS
        for call in ("stops_itself", "closes_both", "babbles_without_end", "says_a_line_without_end")
    ),
    *(
        Fault("has_helpers_and_is_stubborn", way, start=start)
        for way in SOME_WAYS
        for start in ("never_answers_its_list", "ignores_every_way_to_end", "babbles_without_end")
    ),
    *(Fault("takes_1_5_s_to_finish", way) for way in ("EOF", "SIGTERM", "SIGINT", "SIGHUP")),
    Fault("ignores_eof", "EOF"),
)


async def meet(fault: Fault, directory: Path) -> list[str]:
    """Two servers have the fault, so that ending them one after the other would take too long."""
    trial = Trial(directory)
    told: dict[str, Any] = {"end": fault.function, "call": fault.call, "start": fault.start}
    servers = {name: trial.server(name, **told) for name in ("one", "two")}
    async with trial.running(trial.config(**servers)) as session:
        opening = await session.begin("tools/call", OPEN)
        if fault.start is None:
            listing = json.loads(spoken((await opening).message))
            trial.claim(listing["servers_connected"] == 3, f"it did not even begin well: {listing}"[:500])
        else:
            for name in servers:
                await trial.journal(name).wait_until(lambda it: it.starts)
        if fault.call is not None:
            for name in servers:
                await session.begin_tool("dev", name, "fault")
            await trial.use("sibling", "echo", 5)
        if "SIGKILL" in fault.way:
            if fault.way == "SIGTERM, SIGKILL":
                trial.client.process.send_signal(signal.SIGTERM)
                (sibling,) = trial.journal("sibling").pids
                await poll(lambda: not is_running(sibling))  # the end has begun
            await trial.client.signal(signal.SIGKILL)
            await trial.outlive(SURVIVAL_LIMIT)
        else:
            await trial.leave(lambda: go(trial, fault.way))
            if fault.function == "takes_1_5_s_to_finish":
                for name in servers:
                    trial.claim(trial.journal(name).events("finished"), f"{name} was not allowed to finish")
    return trial.complaints


def go(trial: Trial, way: Way) -> Awaitable[object]:
    return trial.client.close() if way == "EOF" else trial.client.signal(signal.Signals[way])


@pytest.mark.timeout(TABLE_LIMIT)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_nothing_is_left_behind(fault: Fault, verdicts: dict[str, list[str]]) -> None:
    assert verdicts[fault.name] == []


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
async def test_a_second_signal_ends_it_at_once(trial: Trial, second: signal.Signals) -> None:
    config = trial.config(one=trial.server("one", end="has_helpers_and_is_stubborn"))
    async with trial.running(config) as session:
        await session.open_toolbox("dev")
        trial.client.process.send_signal(signal.SIGTERM)
        # The sibling goes at the end of its input: then the workbench waits for the other alone.
        (sibling,) = trial.journal("sibling").pids
        await poll(lambda: not is_running(sibling))
        await trial.leave(lambda: trial.client.signal(second), limit=1.0, any_code=True)


async def test_a_server_that_is_closed_while_the_workbench_lives_on_leaves_nothing_either(
    trial: Trial,
) -> None:
    """Its helper in a new session goes when the server is replaced, not only at the very end."""
    config = trial.config(one=trial.server("one", end="has_a_helper_in_a_new_session", call="exits"))
    async with trial.running(config) as session:
        await session.open_toolbox("dev")
        _, helper = trial.journal("one").pids
        assert "exited with code 7" in await trial.use("one", "fault", 2)
        await poll(lambda: not is_running(helper), SURVIVAL_LIMIT)
        assert await trial.use("one", "echo", 5) == "echo"
