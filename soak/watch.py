"""What is seen of the workbench from outside while it runs, and whether that is as it should be."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from statistics import mean
from typing import TYPE_CHECKING

from soak import ledger as books
from soak import processes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from soak.ledger import Ledger
    from soak.processes import Held

SAMPLE_EVERY = 0.25
STALL = 1.0
"""Seconds by which our own sleep may be late; more, and the machine did not let us run, nor anybody else."""
MIB = 2**20
GROWTH_LIMIT = 30 * MIB
WINDOWS = 6
TREND_STEP = 3 * MIB
TREND_LEAST = 240.0
"""Seconds: in a shorter run memory grows because the first long results come late in it."""


class Watch:
    """Samples of the workbench's memory, and of the moments when the machine had no time for us."""

    def __init__(self, pid: int, ledger: Ledger, clock: Callable[[], float]) -> None:
        self._pid = pid
        self._ledger = ledger
        self._clock = clock
        self.rss: list[tuple[float, int]] = []

    async def run(self, ended: asyncio.Event) -> None:
        """Looks until it is told to stop."""
        while not ended.is_set():
            before = self._clock()
            try:
                self.rss.append((before, processes.rss_of(self._pid)))
            except OSError:
                return  # it has ended
            await asyncio.sleep(SAMPLE_EVERY)
            late = self._clock() - before - SAMPLE_EVERY
            if late > STALL:
                fault = books.Fault("busy machine", None, before, books.ANY_FAILURE, self._clock())
                fault.ends_life = fault.slows = True
                self._ledger.fault(fault)


def windows(samples: Sequence[tuple[float, int]]) -> list[float]:
    """Mean bytes in each of so many equal parts of the time, the highest tenth of each left out."""
    size = len(samples) // WINDOWS
    if not size:
        return []
    parts = [sorted(rss for _, rss in samples[size * i : size * (i + 1)]) for i in range(WINDOWS)]
    return [mean(part[: max(1, len(part) * 9 // 10)]) for part in parts]


def judge_memory(samples: Sequence[tuple[float, int]]) -> list[str]:
    """Whether it grew by more than it may, or goes on growing."""
    means = windows(samples)
    if not means:
        return []
    problems = []
    growth = means[-1] - means[0]
    if growth > GROWTH_LIMIT:
        problems.append(f"memory grew by {growth / MIB:.0f} MiB from the first part to the last")
    second_half = means[WINDOWS // 2 :]
    long_enough = samples[-1][0] - samples[0][0] >= TREND_LEAST
    if long_enough and all(late - early > TREND_STEP for early, late in pairwise(second_half)):
        shown = ", ".join(f"{one / MIB:.0f}" for one in means)
        problems.append(f"memory goes on growing: {shown} MiB in the parts of the run")
    return problems


def judge_held(before: Held, after: Held, expected: frozenset[int]) -> list[str]:
    """Whether the workbench holds what it held before, with these servers running."""
    problems = []
    if after.descriptors > before.descriptors:
        problems.append(
            f"descriptors leaked: {before.descriptors} at first, {after.descriptors} at the end "
            f"({before.kinds} and {after.kinds})"
        )
    if after.threads > before.threads:
        problems.append(f"threads leaked: {before.threads} at first, {after.threads} at the end")
    if strange := after.children - expected:
        described = [processes.command_of(pid) or "a zombie" for pid in sorted(strange)]
        problems.append(f"processes leaked: children that are no running server: {described}")
    if missing := expected - after.children:
        problems.append(f"running servers that are no children of the workbench: {sorted(missing)}")
    if len(after.guards) > 1:
        problems.append(f"{len(after.guards)} guards in place of one")
    return problems
