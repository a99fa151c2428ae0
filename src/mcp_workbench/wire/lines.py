"""Splits a byte stream into lines, in time linear in its size and with bounded memory."""

from __future__ import annotations

import codecs
from contextlib import suppress
from typing import Protocol

from mcp_workbench.wire import byte_search

Line = bytes | memoryview
"""A line without its newline: a view of its `LongLine` if it is long and UTF-8, else bytes."""

MAX_LINE_BYTES = 64 * 1024 * 1024
EDGE_BYTES = 4096
"""Bytes that are kept of the beginning, and of the end, of a line that is too long."""

LONG_BYTES = 64 * 1024
"""Size from which on a line is not copied out of its buffer. A pipe holds as much by default."""

GROWTH_BYTES = 256 * 1024
"""Bytes by which the buffer of a long line grows."""
MAX_EXPECTED_BYTES = 4 * 1024 * 1024
"""Maximum size of a buffer that is allocated before it is needed."""

_ZEROS = bytes(GROWTH_BYTES)


class OnOverlong(Protocol):
    """The callback for a line that is longer than the limit."""

    def __call__(self, edges: bytes, /, *, is_over: bool) -> None:
        """Take the beginning of the line, and with `is_over` also its end."""


class LongLine(bytearray):
    """The buffer that a long line is read into."""

    lacks_watched = False
    """Whether the complete line contains none of the watched byte strings."""


def lacks_watched(line: Line) -> bool:
    """Whether a line is known to contain none of the byte strings that its splitter searches for."""
    return isinstance(line, memoryview) and isinstance(line.obj, LongLine) and line.obj.lacks_watched


class LineSplitter:
    """Splits incoming bytes into complete lines, without their newlines.

    Bytes arrive as chunks. Once `LONG_BYTES` of a line are held they arrive in place, in the buffer that
    is offered for them, so that a long line is not copied as a whole.

    A line longer than `limit` is discarded as it arrives. Its beginning goes to `on_overlong` as soon as
    the line is too long, and its beginning and end in one piece when it ends, so that the request it
    answers can be found and failed.

    Long lines are searched for the byte strings in `watched` as they arrive. A search of the whole line
    would have to fetch it from memory once more, which takes several times as long.
    """

    def __init__(
        self, on_overlong: OnOverlong, limit: int = MAX_LINE_BYTES, watched: tuple[bytes, ...] = ()
    ) -> None:
        self._on_overlong = on_overlong
        self.limit = limit
        self._watched = watched
        self._overlap = max(map(len, watched), default=1) - 1
        """How many bytes of a watched byte string can be at the end of what was searched last."""
        self._may_hold_watched = False
        self.is_inside = False
        """Whether a line has begun and not ended yet. Its beginning is in the buffer."""
        self._buffer = bytearray()
        self.held = 0
        """Bytes of the current line that are in the buffer."""
        self._checked = 0
        """Bytes in the buffer that are known to be UTF-8, once the line is long."""
        self._is_text = True
        self._head = b""
        """The beginning of a line that is too long. The buffer has the latest part of the line then."""
        self._last_long = 0

    def space(self) -> memoryview:
        """Return the buffer for the next bytes. The view must not be kept after `filled` is called."""
        self._reserve(LONG_BYTES)
        return memoryview(self._buffer)[self.held : self.held + GROWTH_BYTES]

    def filled(self, count: int) -> list[Line]:
        """Return the lines that are complete with the bytes that were read into the buffer."""
        filled = self.held + count
        end = self._buffer.find(b"\n", self.held, filled)
        self.held = filled if end < 0 else end
        rest = b"" if end < 0 else bytes(memoryview(self._buffer)[end + 1 : filled])
        self._check_new_bytes()
        return [] if end < 0 else self._with_first(self.finish(), rest)

    def feed(self, chunk: bytes) -> list[Line]:
        """Return the lines that are complete with `chunk`."""
        # `find` takes next to no time, `split` a nanosecond for each byte.
        end = chunk.find(b"\n")
        if end < 0:
            self._hold(chunk)
            return []
        if self.is_inside:
            self._hold(chunk[:end])
            return self._with_first(self.finish(), chunk[end + 1 :])
        *lines, rest = chunk.split(b"\n")
        if rest:
            self._hold(rest)
        return self._within_limit(lines) if len(chunk) > self.limit else [*lines]

    def finish(self) -> Line | None:
        """Return the bytes since the last newline, or None if they were too long."""
        head = self._head
        line: Line = memoryview(self._buffer)[: self.held]
        if self.held >= LONG_BYTES:
            self._last_long = self.held
        if self.held < LONG_BYTES or not self._is_text or self._checked < self.held:
            line = bytes(line)
        elif isinstance(self._buffer, LongLine):
            self._buffer.lacks_watched = bool(self._watched) and not self._may_hold_watched
        self.is_inside = False
        self._buffer = bytearray()
        self.held = 0
        self._checked = 0
        self._is_text = True
        self._may_hold_watched = False
        self._head = b""
        if not head:
            return line
        self._on_overlong(head + line, is_over=True)
        return None

    def _with_first(self, first: Line | None, rest: bytes) -> list[Line]:
        lines = self.feed(rest) if rest else []
        return lines if first is None else [first, *lines]

    def _within_limit(self, lines: list[bytes]) -> list[Line]:
        for line in lines:
            if len(line) > self.limit:
                edges = line if len(line) <= 2 * EDGE_BYTES else line[:EDGE_BYTES] + line[-EDGE_BYTES:]
                self._on_overlong(edges, is_over=True)
        return [line for line in lines if len(line) <= self.limit]

    def _hold(self, part: bytes) -> None:
        self.is_inside = True
        self._reserve(len(part))
        memoryview(self._buffer)[self.held : self.held + len(part)] = part
        self.held += len(part)
        self._check_new_bytes()

    def _reserve(self, count: int) -> None:
        needed = self.held + count
        if needed <= len(self._buffer):
            return
        if needed >= LONG_BYTES:
            # The next long line is likely to be as long as the last.
            needed = max(
                needed,
                min(self._last_long + LONG_BYTES, MAX_EXPECTED_BYTES),
                len(self._buffer) + GROWTH_BYTES,
            )
        if self.held >= GROWTH_BYTES:
            # The system can move the buffer of a long line without copying it.
            with suppress(BufferError):  # there is still a view of the buffer
                self._buffer.extend(_ZEROS if count <= GROWTH_BYTES else bytes(count))
                return
        buffer = LongLine(needed) if needed >= LONG_BYTES else bytearray(needed)
        memoryview(buffer)[: self.held] = memoryview(self._buffer)[: self.held]
        self._buffer = buffer

    def _check_new_bytes(self) -> None:
        """Check the new bytes at once, while they are in the processor's cache."""
        if self.held > (EDGE_BYTES if self._head else self.limit):
            self._discard()
        elif self.held >= LONG_BYTES and self._is_text:
            start = self._checked
            try:
                came = memoryview(self._buffer)[start : self.held]
                self._checked += codecs.utf_8_decode(came, "strict", False)[1]
            except UnicodeDecodeError:
                self._is_text = False
            if self._watched and not self._may_hold_watched:
                start = max(0, start - self._overlap)
                came = memoryview(self._buffer)[start : self.held]
                self._may_hold_watched = byte_search.may_hold(bytes(came), self._watched)

    def _discard(self) -> None:
        tail = self.held - EDGE_BYTES
        if not self._head:
            self._head = bytes(memoryview(self._buffer)[: min(EDGE_BYTES, self.held)])
            tail = max(tail, EDGE_BYTES)
            self._on_overlong(self._head, is_over=False)
        self._buffer = self._buffer[tail : self.held]
        self.held = len(self._buffer)
