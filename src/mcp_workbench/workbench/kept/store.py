"""Stores all kept results of all clients: in memory, then in files, with limits on size and time.

Owns which contents are where, and which are dropped. `storage` owns the files themselves.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Protocol

from mcp_workbench.config import ResultsConfig
from mcp_workbench.fairness import FairSemaphore, Shares
from mcp_workbench.wire.shared import outcome_of
from mcp_workbench.wire.threads import in_thread
from mcp_workbench.workbench.kept.client_results import ClientResults

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from mcp_workbench.workbench.kept.client_results import KeptContent

MAX_WORKERS: Final = 4
"""Contents that threads work on at once: thousands of calls may ask for it."""
MAX_WORKERS_PER_PRINCIPAL: Final = 2
"""Contents of one principal that threads work on at once."""
LARGE_BYTES: Final = 1024 * 1024
"""In a larger content a regular expression search may use most of a gigabyte."""
MAX_SEARCHES: Final = 4
"""Searches at once in smaller contents; each uses up to 120 MB."""
FILE_TIMEOUT_SECONDS: Final = 60.0
"""Time for a file to be written, read or removed."""

log = logging.getLogger(__name__)


class ContentFiles(Protocol):
    """Files for contents that do not fit into memory. All methods may block."""

    def write(self, name: str, data: bytes) -> None:
        """Write a file. Raises OSError."""

    def read(self, name: str) -> bytes:
        """Return the content of a file. Raises OSError."""

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""

    def close(self) -> None:
        """Remove all files that were written."""


class ResultStore:
    """All kept contents, in memory and in files."""

    def __init__(
        self, files: ContentFiles, shares: Shares | None = None, clock: Callable[[], float] | None = None
    ) -> None:
        limits = shares or Shares()
        self._files = files
        self._clock = clock or asyncio.get_running_loop().time
        self._config = ResultsConfig()
        self._kept: OrderedDict[str, KeptContent] = OrderedDict()
        """All kept contents, the least recently used first."""
        self._in_memory = 0
        self._in_files = 0
        self._memory_of: Counter[str] = Counter()
        """Bytes in memory by principal: the principal with most makes space first."""
        self._files_of: Counter[str] = Counter()
        self._numbers = count(1)
        """Names of files: a new one each time, so that a file can be removed while the next is written."""
        self.workers = FairSemaphore(MAX_WORKERS, lambda: MAX_WORKERS_PER_PRINCIPAL)
        self._searches = FairSemaphore(MAX_SEARCHES, lambda: limits.limits.searches)
        self._large_searches = FairSemaphore(1, lambda: 1)
        self._settling = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_warned = False
        self._is_stuck = False
        """Whether writing a file took too long, so that no more are written."""

    def adopt(self, config: ResultsConfig) -> None:
        """Apply a changed configuration: sizes and lifetime."""
        self._config = config
        if self._timer is not None:
            self._timer.cancel()
            self._on_timer()

    def client_results(self, principal: str = "") -> ClientResults:
        """Return the kept results of a new client of a principal."""
        return ClientResults(self, principal)

    def searches(self, size: int) -> FairSemaphore:
        """Return the semaphore for regular expression searches in a content of this size."""
        return self._searches if size <= LARGE_BYTES else self._large_searches

    def has_room(self, size: int) -> bool:
        """Whether `size` more bytes fit into memory as it is."""
        return self._in_memory + size <= self._config.memory

    def add(self, kept: KeptContent) -> None:
        """Add a content in memory. `settle` makes space if that is more than fits."""
        kept.used_at = self._clock()
        self._kept[kept.handle] = kept
        self._enter_memory(kept)
        self._watch()

    def drop(self, kept: KeptContent) -> None:
        """Remove a content from memory and files."""
        if self._kept.pop(kept.handle, None) is not None:
            kept.client_results.forget(kept)
            self._leave_memory(kept)
            self._leave_file(kept)

    async def read(self, kept: KeptContent) -> bytes | None:
        """Return the whole content, which counts as a use of it; None if it was dropped."""
        if kept.handle not in self._kept:
            return None
        kept.used_at = self._clock()
        self._kept.move_to_end(kept.handle)
        if kept.data is not None:
            return kept.data
        try:
            data = await in_thread(partial(self._files.read, kept.file or ""), FILE_TIMEOUT_SECONDS)
        except OSError as error:
            log.warning("a kept result could not be read from its file: %s", error)
            self.drop(kept)
            return None
        if kept.handle in self._kept and kept.data is None:
            kept.data = data
            self._enter_memory(kept)
            await self.settle()
        return data

    async def settle(self) -> None:
        """Move contents to files that do not fit into memory, and drop those that do not fit there either."""
        if self._in_memory > self._config.memory:
            # It is done for all clients, even if this one is cancelled.
            await outcome_of(self._begin(self._settle()))

    def sweep(self) -> None:
        """Drop contents that were not used for too long."""
        oldest = self._clock() - self._config.lifetime
        while self._kept and (kept := next(iter(self._kept.values()))).used_at <= oldest:
            self.drop(kept)

    def close(self) -> None:
        """Drop all contents and remove their files."""
        if self._timer is not None:
            self._timer.cancel()
        self._kept.clear()
        for task in self._tasks:
            task.cancel()
        self._files.close()

    def _watch(self) -> None:
        """Start the timer for the expiry of the oldest content."""
        if self._timer is None and self._kept:
            oldest = next(iter(self._kept.values()))
            wait = max(0.0, oldest.used_at + self._config.lifetime - self._clock())
            self._timer = asyncio.get_running_loop().call_later(wait, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self.sweep()
        self._watch()

    async def _settle(self) -> None:
        async with self._settling:
            while self._in_memory > self._config.memory:
                latest = next(reversed(self._kept.values())).client_results.principal
                most = _largest(self._memory_of, latest)
                in_memory = (other for other in self._kept.values() if other.data is not None)
                kept = next(other for other in in_memory if other.client_results.principal == most)
                if kept.file is not None or await self._file(kept):
                    self._leave_memory(kept)
                else:
                    self.drop(kept)

    async def _file(self, kept: KeptContent) -> bool:
        """Write a content to a file, if it is allowed and there is space. Returns whether it was written."""
        data = kept.data
        if data is None or kept.is_private or kept.size > self._config.quota or self._is_stuck:
            return False
        if not self._make_space(kept.size, kept.client_results.principal):
            return False
        name = str(next(self._numbers))
        try:
            kept.is_private = not await in_thread(
                partial(self._write, name, kept, data), FILE_TIMEOUT_SECONDS
            )
        except OSError as error:
            # A full disk may have space again. A disk that hangs would hold up every result.
            self._is_stuck = isinstance(error, TimeoutError)
            if not self._is_warned:
                self._is_warned = True
                reason = f"no answer within {FILE_TIMEOUT_SECONDS:g} s" if self._is_stuck else error
                log.warning("results are kept in memory only, because no file can be written: %s", reason)
            return False
        if kept.is_private:
            return False
        kept.file = name
        self._in_files += kept.size
        self._files_of[kept.client_results.principal] += kept.size
        if kept.handle not in self._kept:
            self._leave_file(kept)  # it was dropped meanwhile
        return True

    def _write(self, name: str, kept: KeptContent, data: bytes) -> bool:
        """Write a file, in a thread, unless the content holds a secret. Returns whether it was written."""
        holds_secret = kept.source.holds_secret
        if holds_secret(data) or (kept.content.kind == "binary" and holds_secret(_decoded(data))):
            return False
        self._files.write(name, data)
        return True

    def _make_space(self, size: int, principal: str) -> bool:
        """Make space in files for a content of a principal. Returns whether there is space.

        The principal that would hold most drops what it has not used for longest. Nothing is dropped for a
        principal that holds more than all others.
        """
        while self._in_files + size > self._config.quota:
            wanted = self._files_of + Counter({principal: size})
            most = _largest(wanted, principal)
            in_files = (other for other in self._kept.values() if other.file is not None)
            kept = next((other for other in in_files if other.client_results.principal == most), None)
            if kept is None:
                return False
            if kept.data is not None:
                self._leave_file(kept)
            else:
                self.drop(kept)
        return True

    def _enter_memory(self, kept: KeptContent) -> None:
        self._in_memory += kept.size
        self._memory_of[kept.client_results.principal] += kept.size

    def _leave_memory(self, kept: KeptContent) -> None:
        if kept.data is not None:
            kept.data = None
            self._in_memory -= kept.size
            _subtract(self._memory_of, kept)

    def _leave_file(self, kept: KeptContent) -> None:
        if kept.file is not None:
            removal = in_thread(partial(self._files.remove, kept.file), FILE_TIMEOUT_SECONDS)
            kept.file = None
            self._in_files -= kept.size
            _subtract(self._files_of, kept)
            self._begin(removal)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _largest(held: Counter[str], principal: str) -> str:
    """Return the principal that holds most; of several, the one that needs space."""
    return max(held, key=lambda name: (held[name], name == principal))


def _subtract(held: Counter[str], kept: KeptContent) -> None:
    principal = kept.client_results.principal
    held[principal] -= kept.size
    if not held[principal]:
        del held[principal]


def _decoded(data: bytes) -> bytes:
    from binascii import Error, a2b_base64  # noqa: PLC0415 - only for what is neither text nor JSON

    try:
        return a2b_base64(data)
    except Error:
        return data
