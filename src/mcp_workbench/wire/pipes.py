"""Byte streams on file descriptors, as asyncio transports.

What the event loop can watch (pipes, sockets, terminals) it watches; the rest gets a thread, see `threads`.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from typing import TYPE_CHECKING, Protocol, cast

from mcp_workbench.wire import threads
from mcp_workbench.wire.lines import LINE_LIMIT, LineSplitter

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO


class Writer(Protocol):
    """Where bytes go. Never blocks, keeps order, and is silent about a reader that is gone."""

    def write(self, data: bytes) -> None:
        """Takes `data` to be written as soon as the other side reads."""

    def close(self) -> None:
        """Ends the stream after what was written so far."""

    async def closed(self) -> None:
        """Returns when the stream has ended: all is written, or nobody reads it."""


class LineReader(asyncio.Protocol):
    """Turns what arrives into calls: `on_line` for each line, `on_end` once."""

    def __init__(
        self,
        on_line: Callable[[bytes], None],
        on_end: Callable[[], None],
        on_overlong: Callable[[bytes], None],
        limit: int = LINE_LIMIT,
    ) -> None:
        self._on_line = on_line
        self._on_end = on_end
        self._splitter = LineSplitter(on_overlong, limit)
        self.transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        for line in self._splitter.feed(data):
            if line and not line.isspace():
                self._on_line(line)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        rest = self._splitter.finish()
        if rest and not rest.isspace():
            self._on_line(rest)
        self._on_end()

    def close(self) -> None:
        """Stops reading."""
        if self.transport is not None:
            self.transport.close()


async def read_lines(file: BinaryIO, reader: LineReader) -> None:
    """Starts to feed `reader` from `file`, which it closes in the end."""
    if _can_be_watched(file):
        await asyncio.get_running_loop().connect_read_pipe(lambda: reader, file)
    else:
        threads.read_in_thread(file, reader)


async def open_writer(file: BinaryIO, on_lost: Callable[[], None], *, read_too: bool = False) -> Writer:
    """A writer onto `file`, which it closes in the end. `on_lost` is called when it has ended.

    `read_too` says that somebody reads from the same socket: a transport for writing would read it empty to
    notice its end.
    """
    loop = asyncio.get_running_loop()
    if read_too or not _can_be_watched(file):
        return threads.ThreadWriter(file, on_lost)
    _, writer = await loop.connect_write_pipe(lambda: _PipeWriter(loop, on_lost), file)
    return writer


def _can_be_watched(file: BinaryIO) -> bool:
    if sys.platform == "win32":
        return False
    mode = os.fstat(file.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or (stat.S_ISCHR(mode) and file.isatty())


class _PipeWriter(asyncio.BaseProtocol):
    def __init__(self, loop: asyncio.AbstractEventLoop, on_lost: Callable[[], None]) -> None:
        self._on_lost = on_lost
        self._end: asyncio.Future[None] = loop.create_future()
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # asyncio hands a write pipe a transport that is not a subclass of WriteTransport under uvloop.
        self._transport = cast("asyncio.WriteTransport", transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._transport = None
        if not self._end.done():
            self._end.set_result(None)
        self._on_lost()

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    async def closed(self) -> None:
        await asyncio.shield(self._end)
