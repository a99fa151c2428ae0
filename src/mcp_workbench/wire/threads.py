"""Threads for what the event loop cannot watch: the only ones in the workbench.

That is regular files and the null device anywhere, every pipe on Windows, the end of a process on systems
that have no descriptor for it, and work that may block. They are daemons: none can hold up our own end.
"""

from __future__ import annotations

import asyncio
import os
import queue
import select
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from typing import BinaryIO

    from mcp_workbench.wire.message import Outgoing

T = TypeVar("T")

CHUNK_BYTES = 256 * 1024


class DataReceiver(Protocol):
    """What a thread feeds."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """What comes can be held up from now on."""

    def data_received(self, data: bytes) -> None:
        """Something has come."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more will come."""


class ReadThread(asyncio.ReadTransport):
    """A transport for reading a file that may block. One piece at a time: the next is read when the last was
    taken, and reading is not paused."""

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
        """Whether it will pass on nothing more."""
        return self._is_closing

    def close(self) -> None:
        """Passes on nothing more. The thread may stay in a read that nobody can end."""
        self._is_closing = True
        self._may_read.set()

    def pause_reading(self) -> None:
        """Reads no further."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Reads on."""
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
            pass  # the same to us as the end of the stream
        finally:
            self._file.close()
            _tell(self._loop, self._reader.connection_lost, None)

    def _take(self, data: bytes) -> None:
        if not self._is_closing:
            self._reader.data_received(data)
        if not self._is_paused:
            self._may_read.set()


def wait_in_thread(process: subprocess.Popen[bytes], on_exit: Callable[[int], None]) -> None:
    """Reports the exit code of a process."""
    loop = asyncio.get_running_loop()
    threading.Thread(target=lambda: _tell(loop, on_exit, process.wait()), daemon=True).start()


class ThreadWriter:
    """A `Writer` onto a file that may block."""

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
        # Each is written by one thread only.
        self._taken = 0
        self._written = 0
        threading.Thread(target=self._run, args=(loop, file), daemon=True).start()

    @property
    def waiting(self) -> int:
        """How many bytes wait for the thread."""
        return self._taken - self._written

    def write(self, line: Outgoing) -> None:
        """Takes a line to be written by the thread."""
        if self._end.done():
            return
        data = line if isinstance(line, bytes) else b"".join(line)
        self._taken += len(data)
        self._queue.put(data)
        if not self._is_full and self.waiting > self._full:
            self._is_full = True
            self._on_full(True)
            # The thread may have written it all before it could see that it is to say so.
            self._on_written()

    def close(self) -> None:
        """Ends the thread after what was written so far."""
        self._queue.put(None)

    def abort(self) -> None:
        """Ends the thread after what it is writing just now."""
        with suppress(queue.Empty):
            while True:
                self._queue.get_nowait()
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
                self._written += len(data)
                if self._is_full and not self.waiting:
                    _tell(loop, self._on_written)
        except OSError:
            pass  # nobody reads any more, which is the end too
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
    """What the work comes to, done beside the loop. TimeoutError after the limit: it then goes on alone."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
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
        # The loop reads from the same socket, and has put it into its mode.
        select.select([], [descriptor], [])
        return 0


def _tell(loop: asyncio.AbstractEventLoop, callback: Callable[..., object], *args: object) -> bool:
    """Calls back on the loop's thread; False if it has ended, and with it everyone who could care."""
    try:
        loop.call_soon_threadsafe(callback, *args)
    except RuntimeError:
        return False
    return True
