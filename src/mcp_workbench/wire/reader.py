"""Reads lines from a file descriptor: long lines without copying them, and in turns with other tasks.

The event loop watches the descriptor if it can; otherwise a thread reads, see `threads`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from mcp_workbench.wire import threads
from mcp_workbench.wire.lines import LONG_BYTES, MAX_LINE_BYTES, LineSplitter
from mcp_workbench.wire.pipes import can_be_watched, for_transport, widen
from mcp_workbench.wire.writer import write_together

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from mcp_workbench.wire.lines import Line, OnOverlong

FIRST_BATCH_LINES = 4
MAX_BATCH_LINES = 16
"""Maximum number of lines whose responses are written together. It begins small, because the sender waits."""
LINES_PER_TURN = 1000
"""Number of lines of one read after which other tasks get their turn."""


async def read_lines(file: BinaryIO, reader: LineReader) -> None:
    """Start to feed `reader` from `file`, which is closed at the end."""
    if can_be_watched(file):
        await asyncio.get_running_loop().connect_read_pipe(lambda: reader, for_transport(file))
    else:
        threads.ReadThread(file, reader)


class LineReader(asyncio.Protocol):
    """Calls `on_line` for each line, `on_rest` for the bytes after the last newline, and `on_end` once."""

    def __init__(
        self,
        on_line: Callable[[Line], None],
        on_end: Callable[[], None],
        on_overlong: OnOverlong,
        limit: int = MAX_LINE_BYTES,
        on_rest: Callable[[Line], None] | None = None,
        *,
        watched: tuple[bytes, ...] = (),
    ) -> None:
        self._on_line = on_line
        self._on_end = on_end
        self._on_rest = on_rest or on_line
        self._splitter = LineSplitter(on_overlong, limit, watched)
        self._in_place: _InPlace | None = None
        self._backlog: list[Line] = []
        """Lines that were received and not passed on yet."""
        self._is_paused = False
        self._is_closed = False
        self.transport: asyncio.ReadTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio's.
        self.transport = cast("asyncio.ReadTransport", transport)
        if self._is_paused:
            self._update_reading()

    def data_received(self, data: bytes) -> None:
        splitter = self._splitter
        end = len(data) - 1
        if data.find(b"\n") == end and not splitter.is_inside and end <= splitter.limit:
            # The usual case: exactly one line.
            if end:
                self._on_line(data[:end])
            return
        lines = [line for line in splitter.feed(data) if line]
        if len(lines) > LINES_PER_TURN:
            self._pass_on_in_turns(lines)
        else:
            _pass_on(lines, self._on_line)
        if splitter.held >= LONG_BYTES and self.transport is not None:
            self._read_in_place(self.transport)

    def _pass_on_in_turns(self, lines: list[Line]) -> None:
        """Pass lines on in several turns, so that other tasks run in between."""
        self._backlog = lines
        self._update_reading()
        self._pass_on_some()

    def _pass_on_some(self) -> None:
        lines, self._backlog = self._backlog[:LINES_PER_TURN], self._backlog[LINES_PER_TURN:]
        _pass_on(lines, self._on_line)
        if self._backlog:
            asyncio.get_running_loop().call_soon(self._pass_on_some)
        else:
            self._update_reading()

    def _update_reading(self) -> None:
        if self.transport is None:
            return
        if self._is_paused or self._backlog:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    def hand_over(self, protocol: asyncio.BaseProtocol) -> None:
        """Let another protocol receive the next bytes."""
        if self.transport is None or self.transport.is_closing():
            return
        # uvloop looks at the kind of the protocol when it begins to read.
        self.transport.pause_reading()
        self.transport.set_protocol(protocol)
        self._update_reading()

    def _read_in_place(self, transport: asyncio.ReadTransport) -> None:
        if self._in_place is None:
            self._in_place = _InPlace(self, self._on_line, self._splitter)
            widen(transport.get_extra_info("pipe"))
        # asyncio's own loops and threads deliver chunks only.
        is_by_loop = not isinstance(transport, threads.ReadThread)
        if is_by_loop and not isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop):
            self.hand_over(self._in_place)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        rest = self._splitter.finish()
        if not self._is_closed:
            lines, self._backlog = self._backlog, []
            _pass_on(lines, self._on_line)
            if rest:
                self._on_rest(rest)
        self._on_end()

    def pause(self) -> None:
        """Stop reading, so that the writer of the pipe has to wait."""
        self._is_paused = True
        self._update_reading()

    def resume(self) -> None:
        """Read again after a pause."""
        self._is_paused = False
        self._update_reading()

    def close(self) -> None:
        """Stop reading for good. An incomplete line is dropped."""
        self._is_closed = True
        self._backlog = []
        if self.transport is not None:
            self.transport.close()


class _InPlace(asyncio.BufferedProtocol):
    """Replaces a reader while a long line arrives: the bytes are read directly into the buffer of the
    line.

    A short line takes two calls less through the loop's own buffer.
    """

    def __init__(
        self,
        reader: LineReader,
        on_line: Callable[[Line], None],
        splitter: LineSplitter,
    ) -> None:
        self._reader = reader
        self._on_line = on_line
        self._splitter = splitter

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        return self._splitter.space()

    def buffer_updated(self, nbytes: int) -> None:
        lines = self._splitter.filled(nbytes)
        if self._splitter.held < LONG_BYTES:
            self._reader.hand_over(self._reader)
        _pass_on(lines, self._on_line)

    def connection_lost(self, exc: Exception | None) -> None:
        self._reader.connection_lost(exc)


def _pass_on(lines: list[Line], on_line: Callable[[Line], None]) -> None:
    """Pass on the lines of one read. What is written because of them goes out in few writes, too."""
    start, count = 0, FIRST_BATCH_LINES
    while start < len(lines):
        write_together(lines[start : start + count], on_line)
        start += count
        count = min(2 * count, MAX_BATCH_LINES)
