"""Measures how long something takes, without the time that other processes held the cores."""

from __future__ import annotations

import time
from pathlib import Path

BUSIEST = 6
"""How many times as long as on an idle machine a step may take. Waits are given up after that."""


class Stopwatch:
    """Counts the seconds in which some processes work or wait for events.

    The seconds in which one of them was ready and the machine gave it no core do not count, so that a limit
    means the same on a busy machine. At least a sixth of the time always counts: a limit stays a limit.
    """

    def __init__(self, *pids: int) -> None:
        self._queued = dict.fromkeys(pids, 0.0)
        """For how long each had waited for a core when that was last looked up."""
        self._queued_before = self._look_up()
        self._began = time.monotonic()

    def seconds(self) -> float:
        passed = time.monotonic() - self._began
        return max(passed - (self._look_up() - self._queued_before), passed / BUSIEST)

    def _look_up(self) -> float:
        for pid in self._queued:
            try:
                told = Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii")
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended
            self._queued[pid] = int(told.split()[1]) / 1e9
        return sum(self._queued.values())
