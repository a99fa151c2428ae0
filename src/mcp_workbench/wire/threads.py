"""Threads for what the event loop cannot watch. Only `storage.secrets` has others, for calls of a keyring.

They serve regular files and the null device on all systems, every pipe on Windows, the end of a process on
systems without descriptors for it, and work that may block. All are daemon threads, so that none delays
the end of the workbench.
"""

from __future__ import annotations

import asyncio
import os
import queue
import select
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeVar

from mcp_workbench.wire.shared import outcome_of

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from typing import BinaryIO

    from mcp_workbench.wire.message import Outgoing

T = TypeVar("T")

CHUNK_BYTES = 256 * 1024


class DataReceiver(Protocol):
    """Receives what a thread reads. asyncio's protocols have these methods."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called once with the transport, before any data."""

    def data_received(self, data: bytes) -> None:
        """Called with each piece of data."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Called once at the end of the data."""


class ReadThread(asyncio.ReadTransport):
    """A transport that reads a file in a thread. The next piece is read when the last was processed and
    reading is not paused.
    """

    def __init__(self, file: BinaryIO, reader: DataReceiver) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._file = file
        self._reader = reader
        self._may_read = threading.Event()
        self._may_read.set()
        self._is_paused = self._is_closing = False
        reader.connection_made(self)
        threading.Thread(target=self._run, daemon=True).start()

    def is_closing(self) -> bool:
        """Whether `close` was called, so that no more data is passed on."""
        return self._is_closing

    def close(self) -> None:
        """Pass on no more data. The thread may stay blocked in a read until the process ends."""
        self._is_closing = True
        self._may_read.set()

    def pause_reading(self) -> None:
        """Stop reading after the current piece."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Read again after a pause."""
        self._is_paused = False
        self._may_read.set()

    def _run(self) -> None:
        try:
            while not self._is_closing and (data := os.read(self._file.fileno(), CHUNK_BYTES)):
                self._may_read.clear()
                if not _tell(self._loop, self._take, data):
                    break
                self._may_read.wait()
        except OSError:
            pass  # a failed read counts as the end of the stream
        finally:
            self._file.close()
            _tell(self._loop, self._reader.connection_lost, None)

    def _take(self, data: bytes) -> None:
        if not self._is_closing:
            self._reader.data_received(data)
        if not self._is_paused:
            self._may_read.set()


def wait_in_thread(process: subprocess.Popen[bytes], on_exit: Callable[[int], None]) -> None:
    """Wait for a process in a thread, and call `on_exit` with its exit code."""
    loop = asyncio.get_running_loop()
    threading.Thread(target=lambda: _tell(loop, on_exit, process.wait()), daemon=True).start()


class ThreadWriter:
    """A `Writer` that writes to a file in a thread."""

    def __init__(
        self, file: BinaryIO, on_lost: Callable[[], None], on_full: Callable[[bool], None], full: int
    ) -> None:
        loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._end: asyncio.Future[None] = loop.create_future()
        self._on_lost = on_lost
        self._on_full = on_full
        self._full = full
        self._is_full = False
        # Each of the two counters is changed by one thread only.
        self._taken = 0
        self._written = 0
        threading.Thread(target=self._run, args=(loop, file), daemon=True).start()

    @property
    def waiting(self) -> int:
        """Number of bytes that the thread has not written yet."""
        return self._taken - self._written

    def write(self, line: Outgoing) -> None:
        """Queue a line for the thread to write."""
        if self._end.done():
            return
        data = line if isinstance(line, bytes) else b"".join(line)
        self._taken += len(data)
        self._queue.put(data)
        if not self._is_full and self.waiting > self._full:
            self._is_full = True
            self._on_full(True)
            # The thread may have written everything before it could see that the writer is full.
            self._on_written()

    def close(self) -> None:
        """End the thread after everything in the queue is written."""
        self._queue.put(None)

    def abort(self) -> None:
        """End the thread after the write in progress, and drop the rest of the queue."""
        with suppress(queue.Empty):
            while True:
                self._queue.get_nowait()
        self._queue.put(None)

    async def closed(self) -> None:
        """Wait until the thread has ended."""
        await outcome_of(self._end)

    def _run(self, loop: asyncio.AbstractEventLoop, file: BinaryIO) -> None:
        try:
            while (data := self._queue.get()) is not None:
                rest = memoryview(data)
                while rest:
                    rest = rest[_write(file.fileno(), rest) :]
                self._written += len(data)
                if self._is_full and not self.waiting:
                    _tell(loop, self._on_written)
        except OSError:
            pass  # the reader is gone, which ends the stream too
        finally:
            file.close()
            _tell(loop, self._on_end)

    def _on_written(self) -> None:
        if self._is_full and not self.waiting:
            self._is_full = False
            self._on_full(False)

    def _on_end(self) -> None:
        self._written = self._taken
        self._on_written()
        if not self._end.done():
            self._end.set_result(None)
        self._on_lost()


async def in_thread(work: Callable[[], T], limit: float) -> T:
    """Run the work in a thread, and return its result. Raises TimeoutError after `limit` seconds."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - raised in the task that waits
            _tell(loop, _settle, done.set_exception, error)
        else:
            _tell(loop, _settle, done.set_result, result)

    def _settle(settle: Callable[[object], None], outcome: object) -> None:
        if not done.done():
            settle(outcome)

    threading.Thread(target=run, daemon=True).start()
    async with asyncio.timeout(limit):
        return await done


def _write(descriptor: int, data: memoryview) -> int:
    try:
        return os.write(descriptor, data)
    except BlockingIOError:
        # The event loop reads from the same socket, and has made it non-blocking.
        select.select([], [descriptor], [])
        return 0


def _tell(loop: asyncio.AbstractEventLoop, callback: Callable[..., object], *args: object) -> bool:
    """Call back on the loop's thread, and return whether the loop still runs."""
    try:
        loop.call_soon_threadsafe(callback, *args)
    except RuntimeError:
        return False
    return True
