"""Questions about processes that are not our children."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from collections.abc import Iterable


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A container's first process may never reap: an orphan that has ended stays there as a zombie.
    try:
        return _state(pid) != "Z"
    except (FileNotFoundError, ProcessLookupError):
        # It has gone since it was asked for, or there is no /proc on this system.
        return not Path("/proc/self").exists()


def is_stopped(pid: int) -> bool:
    """Whether a signal has stopped a process; True where there is no /proc to ask."""
    try:
        return _state(pid) == "T"
    except (FileNotFoundError, ProcessLookupError):
        return not Path("/proc/self").exists()


def ignores(pid: int, number: int) -> bool:
    """Whether a process ignores a signal; True where there is no /proc to ask."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return True
    (mask,) = [line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:")]
    return bool(int(mask, 16) >> (number - 1) & 1)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


async def wait_until_gone(pids: Iterable[int], within: float = PATIENCE) -> None:
    wanted = list(pids)
    await poll(lambda: not any(map(is_running, wanted)), within)
