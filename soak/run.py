"""One soak from start to end: the phases, and all that is checked in them."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from soak import ledger as books
from soak import plan, processes
from soak.client import Client, safe_environment
from soak.faults import BACK_WITHIN, Faults
from soak.fetches import Fetches
from soak.ledger import Fault, Ledger, judge_calls, judge_lives
from soak.records import judge_records
from soak.reloads import Reloads
from soak.sessions import come_and_go, leave, sweep
from soak.stage import Stage
from soak.talks import Talks
from soak.traffic import Traffic
from soak.watch import Watch, judge_held, judge_memory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from soak.plan import Server
    from soak.processes import Held

FAULT_EVERY = 0.75
QUIET_WITHIN = 20.0
"""Seconds for what is over to be cleaned up."""
DRAIN_BOUND = 75.0
IDLE_SECONDS = 5.0
TAIL = 20
"""Lines of the log that are shown."""
IDLE_SHARE = 0.02
"""Of a CPU, for a workbench that has nothing to do."""
TROUBLE = ("Traceback", "inside the workbench", "never retrieved", "never awaited", "Exception in callback")
"""What must not stand in the workbench's log."""


class WorkbenchEnded(Exception):
    """There is nothing more to be looked at."""


class Outcome(NamedTuple):
    """What the report is made of."""

    seconds: float
    ledger: Ledger
    rss: Sequence[tuple[float, int]]
    before: Held
    after: Held
    lives: Mapping[str, Sequence[int]]
    idle_cpu: float
    exit_seconds: float
    problems: Sequence[str]


async def soak(seconds: float, seed: int, toolboxes: int, directory: Path) -> Outcome:
    """Runs it, and judges it."""
    started = time.monotonic()

    def clock() -> float:
        return time.monotonic() - started

    place = plan.Place(directory, f"soak-{seed}-{time.time_ns()}")
    servers = plan.servers(toolboxes)
    place.config.write_text(json.dumps(plan.configuration(servers, place)), encoding="utf-8")
    ledger = Ledger()
    client = Client(place, ledger, clock)
    await client.start(safe_environment())
    try:
        return await _Soak(Stage(place, servers, ledger, client, clock, str(seed))).run(seconds)
    finally:
        await sweep(client, place)


class _Soak:
    """The phases: all up, load and faults, all up again, quiet, the end."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._ledger = stage.ledger
        self._pid = stage.client.pid
        self._traffic = Traffic(stage.client, stage.servers, stage.chance("traffic"))
        others = (stage.client, self._traffic, stage.servers)
        self._talks = Talks(*others, stage.chance("talks"))
        self._fetches = Fetches(*others, stage.chance("fetches"))
        self._problems = stage.ledger.problems

    async def run(self, seconds: float) -> Outcome:
        """All of it."""
        stage = self._stage
        await self._all_answer()
        # The audit begins a moment after the first calls, and so does its thread.
        await stage.comes(stage.place.audit.exists, QUIET_WITHIN)
        before = processes.look_at(self._pid)
        watch = await self._under_load(seconds)
        if stage.client.ended.is_set():
            last = "\n".join(stage.place.log().splitlines()[-TAIL:])
            raise WorkbenchEnded(f"the workbench ended by itself; its log ends with:\n{last}")
        await self._all_answer()
        await self._nothing_waits()
        after = await self._quiet(before)
        idle_cpu = await self._idle()
        lives = stage.place.all_lives()
        wrong, exit_seconds = await leave(stage.client, stage.place, "end of input", stage)
        self._problems += wrong
        taken = Counter(stage.place.calls())
        problems = [
            *self._problems,
            *self._ledger.judge(),
            *judge_calls(self._ledger.entries, taken),
            *judge_lives(lives, self._ledger.faults),
            *judge_records(self._ledger.entries, stage.place.audit),
            *judge_memory(watch.rss),
            *(f"the log of the workbench says: {line[:300]}" for line in _troubles(stage.place.log())),
        ]
        figures = (stage.clock(), self._ledger, watch.rss, before, after, lives, idle_cpu, exit_seconds)
        return Outcome(*figures, problems=_counted(problems))

    async def _under_load(self, seconds: float) -> Watch:
        stage = self._stage
        ended, faults_ended = asyncio.Event(), asyncio.Event()
        watch = Watch(self._pid, self._ledger, stage.clock)
        faults = Faults(stage, self._traffic)
        works = [
            watch.run(ended),
            self._traffic.run(ended),
            self._talks.run(ended),
            self._fetches.run(ended),
            faults.run(FAULT_EVERY, faults_ended),
            self._read_slowly(seconds / 5, faults_ended),
            come_and_go(stage, seconds / 7, faults_ended),
        ]
        if stage.client.capabilities["tools"].get("listChanged"):
            works.append(Reloads(stage, self._traffic).run(seconds / 12, faults_ended))
        tasks = [asyncio.create_task(work) for work in works]
        # None of them ends by itself, except when there is no workbench any more.
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        faults_ended.set()
        await faults.finish()
        await asyncio.gather(*tasks[4:])
        ended.set()
        await asyncio.gather(*tasks)
        for load in (self._talks, self._fetches, self._traffic):
            await load.finish(DRAIN_BOUND)
        return watch

    async def _read_slowly(self, every: float, ended: asyncio.Event) -> None:
        """Leaves the answers in the pipe for a while, now and then."""
        stage, chance = self._stage, self._stage.chance("slow client")
        while not ended.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), every)
                return
            # Servers are not listened to meanwhile, but what the workbench asks them itself runs out of time.
            unheard = frozenset({books.UNHEARD})
            fault = self._ledger.fault(Fault("slow client", None, stage.clock(), unheard, slows=True))
            stage.client.stop_reading()
            await asyncio.sleep(chance.uniform(1, 6))
            stage.client.go_on_reading()
            fault.end = stage.clock() + 1

    async def _all_answer(self) -> None:
        """A call to every server succeeds, at the latest when its last back-off is over."""
        deadline = self._stage.clock() + BACK_WITHIN
        waiting: list[Server] = list(self._stage.servers)
        while waiting and self._stage.clock() < deadline:
            outcomes = await asyncio.gather(*(self._traffic.echo(server, 100) for server in waiting))
            waiting = [one for one, outcome in zip(waiting, outcomes, strict=True) if outcome != books.OK]
            if set(outcomes) - {books.OK, *books.ANY_FAILURE}:
                break
            await asyncio.sleep(0.5 if waiting else 0)
        self._problems += [f"{server.label} does not answer any more" for server in waiting]

    async def _nothing_waits(self) -> None:
        """No server waits any more for an answer to what it has asked."""
        deadline = self._stage.clock() + QUIET_WITHIN
        waiting: list[Server] = list(self._stage.servers)
        while waiting:
            counts = await asyncio.gather(*(self._traffic.count_waiting(server) for server in waiting))
            waiting = [one for one, count in zip(waiting, counts, strict=True) if count]
            if self._stage.clock() > deadline:
                self._problems += [f"{server.label} still waits for an answer" for server in waiting]
                return
            await asyncio.sleep(0.5 if waiting else 0)

    async def _quiet(self, before: Held) -> Held:
        """Waits until the workbench holds what it held before, or for so long, and judges what it holds."""
        stage = self._stage
        deadline = stage.clock() + QUIET_WITHIN
        while True:
            after = processes.look_at(self._pid)
            expected = frozenset(stage.place.lives(server.label)[-1] for server in stage.servers)
            problems = judge_held(before, after, expected)
            if not problems or stage.clock() > deadline:
                self._problems += problems
                return after
            await asyncio.sleep(0.2)

    async def _idle(self) -> float:
        """The share of a CPU that it takes to do nothing."""
        cpu, started = processes.cpu_of(self._pid), self._stage.clock()
        await asyncio.sleep(IDLE_SECONDS)
        share = (processes.cpu_of(self._pid) - cpu) / (self._stage.clock() - started)
        if share > IDLE_SHARE:
            self._problems.append(f"an idle workbench takes {share:.1%} of a CPU")
        return share


def _troubles(log: str) -> list[str]:
    return [line for line in log.splitlines() if any(word in line for word in TROUBLE)]


def _counted(problems: Sequence[str]) -> list[str]:
    counted = Counter(problems).items()
    return [f"{problem}{f' ({count} times)' if count > 1 else ''}" for problem, count in counted]
