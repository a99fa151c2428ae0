"""Threads for what the event loop cannot watch: the only ones in the workbench.

That is regular files and the null device anywhere, every pipe on Windows, and the end of a process on systems
that have no descriptor for it. They are daemons: none of them can hold up our own end.
"""

from __future__ import annotations

import asyncio
import os
import queue
import select
import threading
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from typing import BinaryIO

    from mcp_workbench.wire.message import Outgoing

CHUNK = 256 * 1024


class Reader(Protocol):
    """What a thread feeds."""

    def data_received(self, data: bytes) -> None:
        """Something has come."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more will come."""


def read_in_thread(file: BinaryIO, reader: Reader) -> None:
    """Feeds `reader` from `file`, which it closes in the end."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            while data := os.read(file.fileno(), CHUNK):
                _tell(loop, reader.data_received, data)
        except OSError:
            pass  # the same to us as the end of the stream
        finally:
            file.close()
            _tell(loop, reader.connection_lost, None)

    threading.Thread(target=read, daemon=True).start()


def wait_in_thread(process: subprocess.Popen[bytes], on_exit: Callable[[int], None]) -> None:
    """Reports the exit code of a process."""
    loop = asyncio.get_running_loop()
    threading.Thread(target=lambda: _tell(loop, on_exit, process.wait()), daemon=True).start()


class ThreadWriter:
    """A `Writer` onto a file that may block."""

    def __init__(self, file: BinaryIO, on_lost: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._end: asyncio.Future[None] = loop.create_future()
        self._on_lost = on_lost
        threading.Thread(target=self._run, args=(loop, file), daemon=True).start()

    def write(self, line: Outgoing) -> None:
        """Takes a line to be written by the thread."""
        self._queue.put(line if isinstance(line, bytes) else b"".join(line))

    def close(self) -> None:
        """Ends the thread after what was written so far."""
        self._queue.put(None)

    async def closed(self) -> None:
        """Returns when the thread has ended."""
        await asyncio.shield(self._end)

    def _run(self, loop: asyncio.AbstractEventLoop, file: BinaryIO) -> None:
        try:
            while (data := self._queue.get()) is not None:
                rest = memoryview(data)
                while rest:
                    rest = rest[_write(file.fileno(), rest) :]
        except OSError:
            pass  # nobody reads any more, which is the end too
        finally:
            file.close()
            _tell(loop, self._on_end)

    def _on_end(self) -> None:
        if not self._end.done():
            self._end.set_result(None)
        self._on_lost()


def _write(descriptor: int, data: memoryview) -> int:
    try:
        return os.write(descriptor, data)
    except BlockingIOError:
        # The loop reads from the same socket, and has put it into its mode.
        select.select([], [descriptor], [])
        return 0


def _tell(loop: asyncio.AbstractEventLoop, callback: Callable[..., object], *args: object) -> None:
    try:
        loop.call_soon_threadsafe(callback, *args)
    except RuntimeError:
        return  # the loop has ended: so has everyone who could care
