"""Byte streams on file descriptors, as asyncio transports.

What the event loop can watch (pipes, sockets, terminals) it watches; the rest gets a thread, see `threads`.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, cast

from mcp_workbench.wire import threads
from mcp_workbench.wire.lines import LINE_LIMIT, LONG, LineSplitter

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from mcp_workbench.wire.lines import Line, OnOverlong
    from mcp_workbench.wire.message import Body, Outgoing

FIRST_BATCH = 4
MOST_IN_BATCH = 16
"""Of so many lines what they cause to be written goes out together. Of few at first: the other side waits."""
MANY = 1000
"""After so many lines of one read others get their turn."""
WIDE = 1024 * 1024
"""What a pipe is made to hold once something long has come through it: most of that in one go."""
FULL = 4 * 1024 * 1024
"""With more than this waiting for the other side to read, a writer counts as full until all of it is read."""


class Writer(Protocol):
    """Where bytes go. Never blocks, keeps order, and is silent about a reader that is gone.

    It takes everything, however much waits already: whoever writes has to look at whether it is full.
    """

    @property
    def waiting(self) -> int:
        """How many bytes wait for the other side to read."""

    def write(self, line: Outgoing) -> None:
        """Takes a line to be written as soon as the other side reads."""

    def close(self) -> None:
        """Ends the stream after what was written so far."""

    def abort(self) -> None:
        """Ends the stream now, and forgets what is not written yet."""

    async def closed(self) -> None:
        """Returns when the stream has ended: all is written, or nobody reads it."""


class LineReader(asyncio.Protocol):
    """Turns what arrives into calls: `on_line` for each line that is not empty, `on_rest` for what comes
    after the last newline, if that is to be told apart, and `on_end` once.
    """

    def __init__(
        self,
        on_line: Callable[[Line], None],
        on_end: Callable[[], None],
        on_overlong: OnOverlong,
        limit: int = LINE_LIMIT,
        on_rest: Callable[[Line], None] | None = None,
    ) -> None:
        self._on_line = on_line
        self._on_end = on_end
        self._on_rest = on_rest or on_line
        self._splitter = LineSplitter(on_overlong, limit)
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
        if len(lines) > MANY:
            self._pass_on_in_turns(lines)
        else:
            _pass_on(lines, self._on_line)
        if splitter.held >= LONG and self.transport is not None:
            self._read_in_place(self.transport)

    def _pass_on_in_turns(self, lines: list[Line]) -> None:
        """Others get their turn too: of a flood the loop would read on and on."""
        self._backlog = lines
        self._read_or_not()
        self._pass_on_some()

    def _pass_on_some(self) -> None:
        lines, self._backlog = self._backlog[:MANY], self._backlog[MANY:]
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
            _widen(transport.get_extra_info("pipe"))
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
        if self._splitter.held < LONG:
            self._reader.hand_over(self._reader)
        _pass_on(lines, self._on_line)

    def connection_lost(self, exc: Exception | None) -> None:
        self._reader.connection_lost(exc)


_collecting: list[_PipeWriter] | None = None
"""The writers that have something to write at the end of the lines that are being passed on."""


def _pass_on(lines: list[Line], on_line: Callable[[Line], None]) -> None:
    """Passes on what came in one read. What is written on account of it goes out in few writes, too."""
    start, count = 0, FIRST_BATCH
    while start < len(lines):
        _pass_on_together(lines[start : start + count], on_line)
        start += count
        count = min(2 * count, MOST_IN_BATCH)


def _pass_on_together(lines: list[Line], on_line: Callable[[Line], None]) -> None:
    global _collecting  # noqa: PLW0603 - it is set only while this function runs, on the loop's thread
    _collecting = []
    try:
        for line in lines:
            if line:
                on_line(line)
    finally:
        writers, _collecting = _collecting, None
        for writer in writers:
            writer.flush()


async def read_lines(file: BinaryIO, reader: LineReader) -> None:
    """Starts to feed `reader` from `file`, which it closes in the end."""
    if _can_be_watched(file):
        await asyncio.get_running_loop().connect_read_pipe(lambda: reader, file)
    else:
        threads.ReadThread(file, reader)


async def open_writer(
    file: BinaryIO, on_lost: Callable[[], None], on_full: Callable[[bool], None], *, read_too: bool = False
) -> Writer:
    """A writer onto `file`, which it closes in the end. `on_lost` is called when it has ended, `on_full` when
    it is full, and when it is not any more.

    `read_too` says that somebody reads from the same socket: a transport for writing would read it empty to
    notice its end.
    """
    loop = asyncio.get_running_loop()
    if read_too or not _can_be_watched(file):
        return threads.ThreadWriter(file, on_lost, on_full, FULL)
    _, writer = await loop.connect_write_pipe(lambda: _PipeWriter(loop, on_lost, on_full), file)
    return writer


def _can_be_watched(file: BinaryIO) -> bool:
    if sys.platform == "win32":
        return False
    mode = os.fstat(file.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or (stat.S_ISCHR(mode) and file.isatty())


def _widen(pipe: BinaryIO | None) -> None:
    """Lets a pipe hold more, where that can be had.

    Not from the start: what all the pipes of a user may hold together is limited on Linux, and beyond that
    new ones, of whatever program, hold next to nothing.
    """
    if pipe is not None and sys.platform == "linux":
        import fcntl  # noqa: PLC0415 - not on every platform

        with suppress(OSError):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, WIDE)


class _PipeWriter(asyncio.BaseProtocol):
    def __init__(
        self, loop: asyncio.AbstractEventLoop, on_lost: Callable[[], None], on_full: Callable[[bool], None]
    ) -> None:
        self._on_lost = on_lost
        self._on_full = on_full
        self._is_behind = False
        """Whether anything waits."""
        self._is_full = False
        self._end: asyncio.Future[None] = loop.create_future()
        self._transport: asyncio.WriteTransport | None = None
        self._collected: list[Outgoing] = []
        self._is_wide = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # asyncio hands a write pipe a transport that is not a subclass of WriteTransport under uvloop.
        self._transport = cast("asyncio.WriteTransport", transport)
        # uvloop writes what is above the limit at once, and all else when it has nothing more to read.
        self._transport.set_write_buffer_limits(high=0)

    def pause_writing(self) -> None:
        self._is_behind = True

    def resume_writing(self) -> None:
        self._is_behind = False
        if self._is_full:
            self._is_full = False
            self._on_full(False)

    @property
    def waiting(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._transport = None
        self.resume_writing()
        if not self._end.done():
            self._end.set_result(None)
        self._on_lost()

    def write(self, line: Outgoing) -> None:
        if _collecting is not None:
            if not self._collected:
                _collecting.append(self)
            self._collected.append(line)
        elif isinstance(line, bytes):
            if self._transport is not None:
                self._transport.write(line)
                if self._is_behind:
                    self._look_at_what_waits()
        else:
            self._write_parts(line)

    def flush(self) -> None:
        """Writes what was collected."""
        lines, self._collected = self._collected, []
        parts: list[Body] = []
        for line in lines:
            if isinstance(line, bytes):
                parts.append(line)
            else:
                parts += line
        if len(parts) == len(lines):
            self.write(b"".join(parts))
        else:
            self._write_parts(parts)

    def _write_parts(self, parts: list[Body]) -> None:
        if self._transport is None:
            return
        if not self._is_wide and sum(map(len, parts)) > LONG:
            self._is_wide = True
            _widen(self._transport.get_extra_info("pipe"))
        self._transport.writelines(memoryview(part) for part in parts)
        if self._is_behind:
            self._look_at_what_waits()

    def _look_at_what_waits(self) -> None:
        if not self._is_full and self.waiting > FULL:
            self._is_full = True
            self._on_full(True)

    def close(self) -> None:
        self.flush()
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def closed(self) -> None:
        await asyncio.shield(self._end)
