"""Reads the audit: the newest lines, all of them, or those that are added while it is read.

Owns the order of what is read, by time, and what happens to lines that cannot be read: they are counted. At
most a few files' worth of lines are in memory, however many there are.
"""

from __future__ import annotations

import heapq
import itertools
import os
from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from mcp_workbench.storage.audit.audit_entry import MAX_LINE_BYTES, AuditEntry, decode_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from mcp_workbench.storage.audit.audit_files import AuditFiles

WINDOW_LINES: Final = 2000
"""Lines that are put in order by time. Processes write theirs within a second of each other."""


class AuditedCall(NamedTuple):
    """A line of the audit, with its time in seconds since the epoch."""

    at: float
    entry: AuditEntry


class _Position(NamedTuple):
    """How far the newest file has been read."""

    number: int = 0
    inode: int = 0
    offset: int = 0


class AuditReader:
    """Reads the lines of the audit that are wanted. Methods block, and raise OSError."""

    def __init__(self, files: AuditFiles, is_wanted: Callable[[AuditedCall], bool]) -> None:
        self._files = files
        self._is_wanted = is_wanted
        self._position = _Position()
        self.broken = 0
        """Lines that could not be read: a process was killed while it wrote them, or they were damaged."""

    def newest(self, limit: int) -> list[AuditedCall]:
        """Return the newest lines, at most so many, the oldest of them first."""
        found: list[AuditedCall] = []
        for number in reversed(self._files.numbers()):
            found = [*deque(self._wanted(number), maxlen=limit - len(found)), *found]
            if len(found) >= limit:
                break
        return sorted(found, key=_time)

    def all(self) -> Iterator[AuditedCall]:
        """Yield all lines in the order of their times, as far as they are near each other."""
        window: list[tuple[float, int, AuditedCall]] = []
        places = itertools.count()
        for number in self._files.numbers():
            for call in self._wanted(number):
                heapq.heappush(window, (call.at, next(places), call))
                if len(window) > WINDOW_LINES:
                    yield heapq.heappop(window)[2]
        while window:
            yield heapq.heappop(window)[2]

    def more(self) -> list[AuditedCall]:
        """Return the lines that were added since the newest were read, whichever process wrote them."""
        numbers = self._files.numbers()
        if numbers and numbers[-1] < self._position.number:
            self._position = _Position()  # the directory was deleted, and the numbers begin anew
        found: list[AuditedCall] = []
        for number in numbers:
            if number >= self._position.number:
                found += self._wanted(number, is_more=True)
        return sorted(found, key=_time)

    def _wanted(self, number: int, *, is_more: bool = False) -> Iterator[AuditedCall]:
        """Yield the wanted lines of a file, or those beyond the position, which moves to the last one."""
        try:
            file = self._files.open(number)
        except FileNotFoundError:
            return  # it was the oldest, and is deleted
        with file:
            inode = os.fstat(file.fileno()).st_ino
            position = self._position
            offset = position.offset if is_more and (number, inode) == position[:2] else 0
            for line, end in _lines(file, offset):
                offset = end
                if (call := self._read(line)) is not None and self._is_wanted(call):
                    yield call
            if number >= position.number:
                self._position = _Position(number, inode, offset)

    def _read(self, line: bytes) -> AuditedCall | None:
        try:
            entry = decode_entry(line)
            return AuditedCall(datetime.fromisoformat(entry.time).timestamp(), entry)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError, OverflowError, RecursionError):
            self.broken += bool(line.strip())
            return None


def _lines(file: BinaryIO, offset: int) -> Iterator[tuple[bytes, int]]:
    """Yield the complete lines of a file, each with the offset of its end. Overlong ones are cut."""
    file.seek(offset)
    while line := file.readline(MAX_LINE_BYTES):
        cut = line
        while not cut.endswith(b"\n"):
            offset += len(cut)
            if not (cut := file.readline(MAX_LINE_BYTES)):
                return  # it is being written, or was never finished
        offset += len(cut)
        yield line, offset


def _time(call: AuditedCall) -> float:
    return call.at
