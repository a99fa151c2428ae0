"""Writes lines to a file descriptor: without blocking, in order, and in few writes.

The event loop watches the descriptor if it can; otherwise a thread writes, see `threads`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol, cast

from mcp_workbench.wire import threads
from mcp_workbench.wire.lines import LONG_BYTES
from mcp_workbench.wire.pipes import can_be_watched, for_transport, widen
from mcp_workbench.wire.shared import outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import BinaryIO

    from mcp_workbench.wire.lines import Line
    from mcp_workbench.wire.message import Body, Outgoing

FULL_BYTES = 4 * 1024 * 1024
"""Number of unread bytes above which a writer counts as full, until all of them are read."""


class Writer(Protocol):
    """Writes lines without blocking, in order. Ignores lines for a reader that is gone.

    It accepts everything, however much is unread: callers have to observe whether it is full.
    """

    @property
    def waiting(self) -> int:
        """Number of bytes that the reader has not read yet."""

    def write(self, line: Outgoing) -> None:
        """Write a line as soon as the reader has read what is before it."""

    def close(self) -> None:
        """End the stream after what was written so far."""

    def abort(self) -> None:
        """End the stream now, and drop what is not written yet."""

    async def closed(self) -> None:
        """Wait until the stream has ended: everything is written, or the reader is gone."""


async def open_writer(
    file: BinaryIO,
    on_lost: Callable[[], None],
    on_full: Callable[[bool], None],
    on_unwritten: Callable[[bytes], None] | None = None,
    *,
    read_too: bool = False,
) -> Writer:
    """Return a writer for `file`, which is closed at the end.

    `on_lost` is called when the stream has ended, `on_full` when the writer becomes full and when it is
    empty again, and `on_unwritten` with lines of which nothing was delivered, if that is known.

    `read_too` says that another transport reads from the same socket: a transport for writing would read
    it empty to notice its end.
    """
    loop = asyncio.get_running_loop()
    if read_too or not can_be_watched(file):
        return threads.ThreadWriter(file, on_lost, on_full, FULL_BYTES)
    _, writer = await loop.connect_write_pipe(
        lambda: _PipeWriter(loop, on_lost, on_full, on_unwritten), for_transport(file)
    )
    return writer


_collecting: list[_PipeWriter] | None = None
"""The writers that have lines to write when the current batch ends."""


def write_together(lines: Iterable[Line], on_line: Callable[[Line], None]) -> None:
    """Pass lines on. Everything that is written because of them goes out in one write for each writer."""
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
        """Whether anything waits for the reader."""
        self._is_full = False
        self._end: asyncio.Future[None] = loop.create_future()
        self._transport: asyncio.WriteTransport | None = None
        self._collected: list[Outgoing] = []
        self._is_wide = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = cast("asyncio.WriteTransport", transport)
        # uvloop writes at once what is above the limit, and the rest when there is nothing more to read.
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
                    self._update_is_full()
                elif self._transport.is_closing():
                    self._tell_unwritten(line)
            else:
                self._tell_unwritten(line)
        else:
            self._write_parts(line)

    def flush(self) -> None:
        """Write the lines that were collected in the current batch."""
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
            self._update_is_full()
        elif self._transport.is_closing():
            self._tell_unwritten(b"".join(parts))

    def _tell_unwritten(self, lines: bytes) -> None:
        """Report lines that were not delivered, because the reader is gone."""
        if self._on_unwritten is not None:
            self._on_unwritten(lines)

    def _update_is_full(self) -> None:
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
        await outcome_of(self._end)
