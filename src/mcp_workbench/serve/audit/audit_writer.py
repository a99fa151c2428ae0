"""The thread that writes the audit: many calls at once, and again later if the disk refuses them.

Owns what is lost when the disk fails or is too slow: it is counted, and said once when it begins and once
when it is over, in the log and in the audit itself.
"""

from __future__ import annotations

import itertools
import logging
import queue
import threading
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_workbench.serve.audit.audit_entries import NO_BODIES, Bodies
from mcp_workbench.storage.audit.audit_entry import encode_entries
from mcp_workbench.storage.audit.audit_files import MAX_CHUNK_BYTES, AuditFiles
from mcp_workbench.workbench.text.counting import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcp_workbench.serve.audit.audit_entries import AuditEntries
    from mcp_workbench.storage.audit.audit_entry import AuditEntry

MAX_WAITING: Final = 100_000
"""Calls that wait to be written: twice as many as one client may have in flight. More are dropped."""
MAX_WAITING_IN_OUTAGE: Final = 5000
"""Calls that wait to be written while the disk refuses it, which may last."""
MAX_WAITING_BODY_BYTES: Final = 32 * 1024 * 1024
"""Bytes that wait to be written before calls are recorded without their arguments and results."""
MAX_WAITING_BYTES: Final = 64 * 1024 * 1024
"""Bytes that wait to be written. Calls beyond that are dropped, too: names may be long."""
COLLECT_SECONDS: Final = 0.2
"""How long the thread waits for more before it writes: to open and lock a file takes 0.1 ms."""
RETRY_SECONDS: Final = 5.0
"""Time between two attempts to write while the disk refuses it."""

log = logging.getLogger(__name__)


class _Batch(NamedTuple):
    """Calls that are written together."""

    calls: int
    lines: bytes
    """The lines of the calls, without that of the last one if it has yet to be made."""
    last: AuditEntry | None = None
    """The last call, if its line has yet to be made."""
    bodies: Bodies = NO_BODIES
    """The arguments and the result of the last call."""

    @property
    def size(self) -> int:
        """Bytes of the lines, the arguments and the result."""
        return len(self.lines) + self.bodies.size


class AuditWriter:
    """Writes calls that have ended to the files of the audit, in a daemon thread of its own."""

    def __init__(self, entries: AuditEntries, environ: Mapping[str, str]) -> None:
        self._entries = entries
        self._files = AuditFiles(environ)
        self._batches: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        """What is to be written. None ends the thread."""
        self._is_closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self._max_waiting = MAX_WAITING
        # Each number is changed by one thread only.
        self._put_calls = self._put_bytes = 0
        """What was put into the queue, by the event loop."""
        self._dropped = 0
        """Calls that were not put into the queue because too many wait in it."""
        self._done_calls = self._done_bytes = 0
        """What was taken from the queue and is written or lost."""
        self._lost = 0
        """Calls that were taken from the queue and not written."""
        self._told = 0
        """Calls that are missing in the audit, as it says itself."""
        self._failure = ""
        """Why the disk refuses lines; empty while it takes them."""
        self._has_given_up = False
        """Whether the disk has refused the last attempt, at the end of the workbench."""

    def start(self) -> None:
        """Begin to write, in the thread."""
        self._thread.start()

    def put(self, entries: list[AuditEntry], bodies: Bodies) -> None:
        """Let the thread write calls, the last one with these arguments and this result.

        If too many calls wait already, these are dropped, and counted.
        """
        if self._put_calls - self._done_calls + len(entries) > self._max_waiting:
            self._dropped += len(entries)
            return
        calls, last = len(entries), None
        waiting = self._put_bytes - self._done_bytes
        if 0 < bodies.size <= MAX_WAITING_BODY_BYTES - waiting:
            last = entries.pop()
        else:
            bodies = NO_BODIES
        batch = _Batch(calls, encode_entries(entries), last, bodies)
        if waiting + batch.size > MAX_WAITING_BYTES:
            self._dropped += calls
            return
        self._put_calls += calls
        self._put_bytes += batch.size
        self._batches.put(batch)

    def finish(self, seconds: float) -> bool:
        """Write what waits and end the thread. Return whether it has ended in this time."""
        self._is_closing.set()
        self._batches.put(None)
        self._thread.join(seconds)
        if self._thread.is_alive():
            log.warning("the disk is too slow for the audit: the last calls may be missing in it")
            return False
        return True

    def _run(self) -> None:
        is_last = False
        while not is_last:
            batches, is_last = self._next_batches()
            for lines, calls in _gathered(itertools.chain.from_iterable(map(self._pieces, batches))):
                self._write(lines, calls)
            self._done_calls += sum(batch.calls for batch in batches)
            self._done_bytes += sum(batch.size for batch in batches)
        if self._missing:
            self._write(b"", 0)  # no call comes any more with which it could be said
        if missing := self._missing:
            lost = count(missing, "call was", "calls were")
            log.warning("%s not recorded in the audit: %s", lost, self._failure)

    def _next_batches(self) -> tuple[list[_Batch], bool]:
        """Return what is to be written, and whether it is the last. Waits a moment for more to come."""
        batches: list[_Batch] = []
        batch = self._batches.get()
        self._is_closing.wait(COLLECT_SECONDS)
        try:
            while batch is not None:
                batches.append(batch)
                batch = self._batches.get_nowait()
        except queue.Empty:
            return batches, False
        return batches, True

    def _pieces(self, batch: _Batch) -> Iterator[tuple[bytes, int]]:
        """Yield the lines of a batch, and how many calls they are of."""
        if batch.last is None:
            yield batch.lines, batch.calls
            return
        try:
            self._entries.add_bodies(batch.last, batch.bodies)
        except Exception:
            log.exception("the arguments and the result of a call could not be recorded")
        yield batch.lines + encode_entries([batch.last]), batch.calls

    @property
    def _missing(self) -> int:
        """Calls that are missing in the audit, which does not say so yet."""
        return self._dropped + self._lost - self._told

    def _write(self, lines: bytes, calls: int) -> None:
        """Write lines, again and again while the disk refuses them, until the workbench ends."""
        while not self._has_given_up:
            missing = self._missing
            try:
                # At once: if the second of two writes failed, the first would be done twice.
                self._files.append(lines + self._note_of(missing))
            except OSError as error:
                self._begin_outage(error)
                self._has_given_up = self._is_closing.is_set()
                self._is_closing.wait(RETRY_SECONDS)
                continue
            self._told += missing
            self._end_outage(missing)
            return
        self._lost += calls

    def _note_of(self, missing: int) -> bytes:
        """Return the line that says how many calls are missing; nothing if none is."""
        return encode_entries([self._entries.of_missing(missing)]) if missing else b""

    def _begin_outage(self, error: OSError) -> None:
        self._max_waiting = MAX_WAITING_IN_OUTAGE
        if not self._failure:
            self._failure = self._files.explain(error)
            log.warning("calls are not recorded now, because the audit cannot be written: %s", self._failure)

    def _end_outage(self, missing: int) -> None:
        lost = count(missing, "call is", "calls are")
        if self._failure:
            log.warning("the audit can be written again: %s missing in it", lost if missing else "no call is")
        elif missing:
            log.warning("%s missing in the audit: they came faster than it could be written", lost)
        self._failure = ""
        self._max_waiting = MAX_WAITING


def _gathered(pieces: Iterable[tuple[bytes, int]]) -> Iterator[tuple[bytes, int]]:
    """Yield lines in pieces of a size to be written at once, and how many calls they are of."""
    gathered: list[bytes] = []
    size = calls = 0
    for lines, number in pieces:
        if size and size + len(lines) > MAX_CHUNK_BYTES:
            yield b"".join(gathered), calls
            gathered, size, calls = [], 0, 0
        gathered.append(lines)
        size += len(lines)
        calls += number
    if gathered:
        yield b"".join(gathered), calls
