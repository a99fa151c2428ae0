"""Other clients that come and go: each leaves a workbench of its own in the middle of its calls."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from soak import plan, processes
from soak.client import Client, safe_environment
from soak.ledger import Fault, Ledger
from soak.records import judge_records
from soak.traffic import Traffic

if TYPE_CHECKING:
    import random

    from soak.stage import Stage

TOOLBOXES = 2
STUBBORN = "alpha"
"""The servers of this name end only when they are killed."""
CALLS = 60
LONG_CALL = 1.0
EXIT_BOUND = 8.0
"""Seconds for the workbench to end: the five that it promises, and slack for a busy machine."""
PATIENCE = 20.0
"""Seconds after which it is taken for hung."""
LEFT_BOUND = 5.0
"""Seconds for what a killed workbench leaves behind to be gone."""
ENDINGS = ("end of input", "SIGTERM", "SIGINT", "end of input, unread", "SIGHUP", "SIGKILL")


async def come_and_go(stage: Stage, every: float, ended: asyncio.Event) -> None:
    """One client after the other, each with another way to leave."""
    chance = stage.chance("sessions")
    number = 0
    while not ended.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), every)
            return
        ending = ENDINGS[number % len(ENDINGS)]
        number += 1
        stage.ledger.fault(Fault(f"another client ({ending})", "", stage.clock()))
        problems = await _session(stage, number, ending, chance)
        stage.ledger.problems += [f"another client, {ending}: {problem}" for problem in problems]


async def _session(stage: Stage, number: int, ending: str, chance: random.Random) -> list[str]:
    directory = stage.place.directory / f"session{number}"
    directory.mkdir()
    place = plan.Place(directory, f"{stage.place.marker}-{number}")
    servers = plan.servers(TOOLBOXES)
    place.config.write_text(json.dumps(plan.configuration(servers, place, STUBBORN)), encoding="utf-8")
    ledger = Ledger()
    client = Client(place, ledger, stage.clock)
    await client.start(safe_environment())
    try:
        traffic = Traffic(client, servers, chance)
        await asyncio.gather(*(traffic.open(box) for box in sorted({one.toolbox for one in servers})))
        for index in range(CALLS):
            delay = LONG_CALL if index % 3 else 0.0
            traffic.echo(servers[index % len(servers)], chance.choice((10, 10_000, 500_000)), delay)
        if "unread" in ending:
            client.stop_reading()
        await asyncio.sleep(chance.uniform(0.0, LONG_CALL))
        problems, _ = await leave(client, place, ending, stage)
    finally:
        await sweep(client, place)
    problems += judge_records(ledger.entries, place.audit, is_complete=ending != "SIGKILL")
    for entry in ledger.entries:
        entry.cancelled = stage.clock()  # whoever leaves takes back what is not answered
    for fault in stage.ledger.faults_of(None):
        ledger.fault(fault)
    return [*problems, *ledger.problems, *ledger.judge()]


async def leave(client: Client, place: plan.Place, ending: str, stage: Stage) -> tuple[list[str], float]:
    """Ends a workbench in one of the ways; what was wrong with its end, and the seconds that it took."""
    problems = []
    guards = processes.look_at(client.pid).guards
    begun = stage.clock()
    if ending.startswith("end"):
        client.close_input()
    else:
        os.kill(client.pid, signal.Signals[ending])
    code = await client.exit_code(PATIENCE)
    took = stage.clock() - begun
    expected = -signal.SIGKILL if ending == "SIGKILL" else 0
    if code is None:
        problems.append(f"the workbench did not end in {PATIENCE:g} s")
    elif code != expected or took > EXIT_BOUND:
        problems.append(f"the workbench ended with code {code}, after {took:.1f} s")
    if not await stage.comes(lambda: not _left(place, guards), LEFT_BOUND):
        left = _left(place, guards)
        problems.append(f"processes left behind: {len(left)} × (first: {left[0] if left else 'gone by now'})")
    return problems, took


def _left(place: plan.Place, guards: frozenset[int]) -> list[str]:
    """The commands of what is still there."""
    return [
        *processes.marked(place.stamp).values(),
        *("a guard" for pid in guards if processes.is_guard(pid)),
    ]


async def sweep(client: Client, place: plan.Place) -> None:
    """Whatever went wrong: nothing of it goes on."""
    client.forget()
    for pid in processes.marked(place.stamp):
        processes.kill(pid, place.stamp)
    await client.exit_code(EXIT_BOUND)
