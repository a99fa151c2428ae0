"""Writing lines to a file descriptor: never blocking, in order, in few writes.

What the event loop can watch it watches; the rest gets a thread, see `threads`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol, cast

from mcp_workbench.wire import threads
from mcp_workbench.wire.lines import LONG_BYTES
from mcp_workbench.wire.pipes import can_be_watched, widen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import BinaryIO

    from mcp_workbench.wire.lines import Line
    from mcp_workbench.wire.message import Body, Outgoing

FULL_BYTES = 4 * 1024 * 1024
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


async def open_writer(
    file: BinaryIO,
    on_lost: Callable[[], None],
    on_full: Callable[[bool], None],
    on_unwritten: Callable[[bytes], None] | None = None,
    *,
    read_too: bool = False,
) -> Writer:
    """A writer onto `file`, which it closes in the end. `on_lost` is called when it has ended, `on_full` when
    it is full, and when it is not any more, and `on_unwritten` with lines of which nothing has arrived, as
    far as that can be told.

    `read_too` says that somebody reads from the same socket: a transport for writing would read it empty to
    notice its end.
    """
    loop = asyncio.get_running_loop()
    if read_too or not can_be_watched(file):
        return threads.ThreadWriter(file, on_lost, on_full, FULL_BYTES)
    _, writer = await loop.connect_write_pipe(lambda: _PipeWriter(loop, on_lost, on_full, on_unwritten), file)
    return writer


_collecting: list[_PipeWriter] | None = None
"""The writers that have something to write at the end of what is done together."""


def write_together(lines: Iterable[Line], on_line: Callable[[Line], None]) -> None:
    """Passes lines on. What is written on account of them goes out in one write for each writer."""
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


class _PipeWriter(asyncio.BaseProtocol):
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        on_lost: Callable[[], None],
        on_full: Callable[[bool], None],
        on_unwritten: Callable[[bytes], None] | None,
    ) -> None:
        self._on_lost = on_lost
        self._on_full = on_full
        self._on_unwritten = on_unwritten
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
                elif self._transport.is_closing():
                    self._tell_unwritten(line)
            else:
                self._tell_unwritten(line)
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
            self._tell_unwritten(b"".join(parts))
            return
        if not self._is_wide and sum(map(len, parts)) > LONG_BYTES:
            self._is_wide = True
            widen(self._transport.get_extra_info("pipe"))
        self._transport.writelines(memoryview(part) for part in parts)
        if self._is_behind:
            self._look_at_what_waits()
        elif self._transport.is_closing():
            self._tell_unwritten(b"".join(parts))

    def _tell_unwritten(self, lines: bytes) -> None:
        """Nobody reads any more, and nobody has read these."""
        if self._on_unwritten is not None:
            self._on_unwritten(lines)

    def _look_at_what_waits(self) -> None:
        if not self._is_full and self.waiting > FULL_BYTES:
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
