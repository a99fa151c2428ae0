"""Finds the processes that our children have started. Linux only: on other systems none is found.

Owns the reading of `/proc`, and sends no signals. A process is identified by its number and its start
time, because numbers are reused.
"""

from __future__ import annotations

import asyncio
import os
from time import monotonic

import msgspec

from mcp_workbench.wire.shared import outcome_of

BATCH_SECONDS = 0.01
"""Seconds that a scan waits, so that one scan serves many callers: servers are mostly stopped together."""
RECENT_SECONDS = 0.05
"""Age in seconds up to which a snapshot is reused by callers that cannot wait."""

_CHUNK = 64 * 1024


class LiveProcess(msgspec.Struct, frozen=True):
    """A running process, not a zombie."""

    pid: int
    parent: int
    group: int
    started: int

    def is_alive(self) -> bool:
        """Whether the process still runs, and its number is not that of another process."""
        now = identify(self.pid)
        return now is not None and now.started == self.started


class ProcessSnapshot(msgspec.Struct, frozen=True):
    """The processes at one moment."""

    marked: dict[int, list[int]]
    """The processes that carry the mark of a child, by the number of the child."""
    sessions: dict[int, int]
    """The session of each process."""
    origins: dict[int, int]
    """For each session that has a leader, the session of the leader's parent."""

    def descendants(self, number: int, child: int) -> set[int]:
        """Return all processes that a child has started.

        These are the processes with its mark, and those in its session or in a session that was started
        from there. A process that has cleared its environment is found by its session, while its parent
        lives.
        """
        marked = set(self.marked.get(number, ()))
        sessions = {child} | {session for pid in marked if (session := self.sessions.get(pid))}
        while more := {session for session, origin in self.origins.items() if origin in sessions} - sessions:
            sessions |= more
        return marked | {pid for pid, session in self.sessions.items() if session in sessions}


class ProcessScanner:
    """Scans for marked processes. Callers at the same time share one scan."""

    def __init__(self, run: str) -> None:
        self._run = f"{run}.".encode()
        self._next: asyncio.Future[ProcessSnapshot] | None = None
        self._latest = ProcessSnapshot({}, {}, {})
        self._taken = float("-inf")

    async def fresh(self) -> ProcessSnapshot:
        """Return a snapshot that is taken after this call."""
        if self._next is None:
            loop = asyncio.get_running_loop()
            self._next = loop.create_future()
            loop.call_later(BATCH_SECONDS, self._answer, self._next)
        return await outcome_of(self._next)

    def recent(self) -> ProcessSnapshot:
        """Return the last snapshot, or take one now if the last is too old."""
        if monotonic() - self._taken > RECENT_SECONDS:
            self._take()
        return self._latest

    def _answer(self, waiting: asyncio.Future[ProcessSnapshot]) -> None:
        self._next = None
        self._take()
        waiting.set_result(self._latest)

    def _take(self) -> None:
        self._taken = monotonic()
        self._latest = self._look()

    def _look(self) -> ProcessSnapshot:
        look = ProcessSnapshot({}, {}, {})
        for pid in process_ids():
            # Whatever its age: reading the start time from `stat` would take twice as long as this.
            if (number := self._mark_in(read_proc(f"/proc/{pid}/environ"))) is not None:
                look.marked.setdefault(number, []).append(pid)
            try:
                look.sessions[pid] = os.getsid(pid)
            except OSError:
                continue
        for session in {*look.sessions.values()} & {*look.sessions}:
            if (leader := identify(session)) is not None and leader.parent in look.sessions:
                look.origins[session] = look.sessions[leader.parent]
        return look

    def _mark_in(self, environ: bytes) -> int | None:
        number = environ.partition(self._run)[2].partition(b"/")[0]
        return int(number) if number.isdigit() else None


def identify(pid: int) -> LiveProcess | None:
    """Return the process that has this number now, if any."""
    # The name of a program may contain anything, including closing parentheses.
    fields = read_proc(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if len(fields) < 20 or fields[0] in b"ZX":
        return None
    return LiveProcess(pid, parent=int(fields[1]), group=int(fields[2]), started=int(fields[19]))


def process_ids() -> list[int]:
    """Return the numbers of all processes; empty on systems without a `/proc` of their own."""
    try:
        # A container may have been given the `/proc` of its host, where the same numbers are other processes.
        if os.readlink("/proc/self") != str(os.getpid()):
            return []
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def read_proc(path: str) -> bytes:
    """Return the content of a file in `/proc`; empty if the process has ended or belongs to another user."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        data = part = os.read(descriptor, _CHUNK)
        while len(part) == _CHUNK:
            part = os.read(descriptor, _CHUNK)
            data += part
    except OSError:
        return b""
    else:
        return data
    finally:
        os.close(descriptor)
