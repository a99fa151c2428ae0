"""Reading lines from a file descriptor: as they come, long ones without a copy, and nobody's turn for long.

What the event loop can watch it watches; the rest gets a thread, see `threads`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from mcp_workbench.wire import threads
from mcp_workbench.wire.lines import LONG_BYTES, MAX_LINE_BYTES, LineSplitter
from mcp_workbench.wire.pipes import can_be_watched, widen
from mcp_workbench.wire.writer import write_together

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from mcp_workbench.wire.lines import Line, OnOverlong

FIRST_BATCH_LINES = 4
MAX_BATCH_LINES = 16
"""Of so many lines what they cause to be written goes out together. Of few at first: the other side waits."""
LINES_PER_TURN = 1000
"""After so many lines of one read others get their turn."""


async def read_lines(file: BinaryIO, reader: LineReader) -> None:
    """Starts to feed `reader` from `file`, which it closes in the end."""
    if can_be_watched(file):
        await asyncio.get_running_loop().connect_read_pipe(lambda: reader, file)
    else:
        threads.ReadThread(file, reader)


class LineReader(asyncio.Protocol):
    """Turns what arrives into calls: `on_line` for each line that is not empty, `on_rest` for what comes
    after the last newline, if that is to be told apart, and `on_end` once.
    """

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
        """Lines that have come and are yet to be passed on."""
        self._is_paused = False
        self._is_closed = False
        self.transport: asyncio.ReadTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio's.
        self.transport = cast("asyncio.ReadTransport", transport)
        if self._is_paused:
            self._read_or_not()

    def data_received(self, data: bytes) -> None:
        splitter = self._splitter
        end = len(data) - 1
        if data.find(b"\n") == end and not splitter.is_inside and end <= splitter.limit:
            # One line and no more, as nearly always.
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
        """Others get their turn too: of a flood the loop would read on and on."""
        self._backlog = lines
        self._read_or_not()
        self._pass_on_some()

    def _pass_on_some(self) -> None:
        lines, self._backlog = self._backlog[:LINES_PER_TURN], self._backlog[LINES_PER_TURN:]
        _pass_on(lines, self._on_line)
        if self._backlog:
            asyncio.get_running_loop().call_soon(self._pass_on_some)
        else:
            self._read_or_not()

    def _read_or_not(self) -> None:
        if self.transport is None:
            return
        if self._is_paused or self._backlog:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    def hand_over(self, protocol: asyncio.BaseProtocol) -> None:
        """Lets another protocol take what comes next."""
        if self.transport is None or self.transport.is_closing():
            return
        # uvloop looks at the kind of the protocol when it begins to read.
        self.transport.pause_reading()
        self.transport.set_protocol(protocol)
        self._read_or_not()

    def _read_in_place(self, transport: asyncio.ReadTransport) -> None:
        if self._in_place is None:
            self._in_place = _InPlace(self, self._on_line, self._splitter)
            widen(transport.get_extra_info("pipe"))
        # asyncio's own loops know chunks only, and so do threads.
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
        """Leaves what comes where it is: the other side will have to wait."""
        self._is_paused = True
        self._read_or_not()

    def resume(self) -> None:
        """Reads on."""
        self._is_paused = False
        self._read_or_not()

    def close(self) -> None:
        """Stops reading. What has come of a line is forgotten: it is we who do not take the rest of it."""
        self._is_closed = True
        self._backlog = []
        if self.transport is not None:
            self.transport.close()


class _InPlace(asyncio.BufferedProtocol):
    """Stands in for a reader while a long line comes: it is read to where it will stay.

    Only for that: for a short line, the loop's own buffer takes two calls less.
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
        return self._splitter.room()

    def buffer_updated(self, nbytes: int) -> None:
        lines = self._splitter.filled(nbytes)
        if self._splitter.held < LONG_BYTES:
            self._reader.hand_over(self._reader)
        _pass_on(lines, self._on_line)

    def connection_lost(self, exc: Exception | None) -> None:
        self._reader.connection_lost(exc)


def _pass_on(lines: list[Line], on_line: Callable[[Line], None]) -> None:
    """Passes on what came in one read. What is written on account of it goes out in few writes, too."""
    start, count = 0, FIRST_BATCH_LINES
    while start < len(lines):
        write_together(lines[start : start + count], on_line)
        start += count
        count = min(2 * count, MAX_BATCH_LINES)
