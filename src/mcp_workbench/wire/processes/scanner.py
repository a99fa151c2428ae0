"""Which processes came from our children, wherever they have gone. Linux only: elsewhere none is found.

Owns the reading of `/proc`, and signals nobody. A process is known by its number and the time of its start,
because numbers are used again.
"""

from __future__ import annotations

import asyncio
import os
from time import monotonic

import msgspec

BATCH_SECONDS = 0.01
"""Seconds that a look waits for others who want one: servers are mostly stopped many at a time."""
RECENT_SECONDS = 0.05
"""Seconds for which a look is good enough for someone who cannot wait."""

_CHUNK = 64 * 1024


class LiveProcess(msgspec.Struct, frozen=True):
    """One that is no zombie."""

    pid: int
    parent: int
    group: int
    started: int

    def is_alive(self) -> bool:
        """Whether it is still there, and no other with its number."""
        now = identify(self.pid)
        return now is not None and now.started == self.started


class ProcessSnapshot(msgspec.Struct, frozen=True):
    """What was there at one moment."""

    marked: dict[int, list[int]]
    """The processes that carry the mark of a child, by the number of the child."""
    sessions: dict[int, int]
    """The session of each process."""
    origins: dict[int, int]
    """Of each session that has a leader: the session that the leader came from."""

    def descendants(self, number: int, child: int) -> set[int]:
        """All that came from a child.

        Those with its mark, and those in its session and the sessions that were begun there: one that has
        cleared its environment is found by that, while its parent lives.
        """
        marked = set(self.marked.get(number, ()))
        ours = {child} | {session for pid in marked if (session := self.sessions.get(pid))}
        while more := {session for session, origin in self.origins.items() if origin in ours} - ours:
            ours |= more
        return marked | {pid for pid, session in self.sessions.items() if session in ours}


class ProcessScanner:
    """Looks for the marks of one run, for all who need that at the same time."""

    def __init__(self, run: str) -> None:
        self._run = f"{run}.".encode()
        self._next: asyncio.Future[ProcessSnapshot] | None = None
        self._latest = ProcessSnapshot({}, {}, {})
        self._taken = float("-inf")

    async def fresh(self) -> ProcessSnapshot:
        """A look that begins after this call."""
        if self._next is None:
            loop = asyncio.get_running_loop()
            self._next = loop.create_future()
            loop.call_later(BATCH_SECONDS, self._answer, self._next)
        return await asyncio.shield(self._next)

    def recent(self) -> ProcessSnapshot:
        """The last look, or one now if that is long ago."""
        if monotonic() - self._taken > RECENT_SECONDS:
            self._take()
        return self._latest

    def _answer(self, asked: asyncio.Future[ProcessSnapshot]) -> None:
        self._next = None
        self._take()
        asked.set_result(self._latest)

    def _take(self) -> None:
        self._taken = monotonic()
        self._latest = self._look()

    def _look(self) -> ProcessSnapshot:
        look = ProcessSnapshot({}, {}, {})
        for pid in _processes():
            # Of whichever age: to read that from its `stat` would take twice as long as this.
            if (number := self._mark_in(_read(f"/proc/{pid}/environ"))) is not None:
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
    """The process that has this number now."""
    # Its name may hold anything, also what looks like the end of the name.
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if len(fields) < 20 or fields[0] in b"ZX":
        return None
    return LiveProcess(pid, parent=int(fields[1]), group=int(fields[2]), started=int(fields[19]))


def _processes() -> list[int]:
    try:
        # A container may have been given the `/proc` of its host, where the same numbers are other processes.
        if os.readlink("/proc/self") != str(os.getpid()):
            return []
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _read(path: str) -> bytes:
    """Empty when the process is gone, or a stranger's."""
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
