"""Private directories and files: everything that the workbench creates, replaces or deletes on disk.

Owns permissions, atomic replacement and file locks. `open_directory` opens directories without following
links. File contents are not known here.

A directory is 0700 and a file 0600, whatever the umask. A file has to be a regular file of the current user;
one that others can write to is not trusted.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import stat
import sys
import time
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from mcp_workbench.storage.open_directory import (
    FILE_MODE,
    OTHERS_MODE,
    UnsafeDirectory,
    checked_name,
    opened_directory,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from contextlib import AbstractContextManager
    from typing import BinaryIO

    from mcp_workbench.errors import StrPath
    from mcp_workbench.storage.open_directory import OpenDirectory

DRAFT: Final = ".draft"
"""Suffix of the name of a file that is being written."""
POLL_SECONDS: Final = 0.02
"""Seconds between two attempts to get a lock that another process holds."""

_DRAFT_DIGITS: Final = 12
_HEX: Final = frozenset("0123456789abcdef")

log = logging.getLogger(__name__)


def warn_if_unsafe(error: OSError) -> None:
    """Log a warning about an unsafe directory, once per process. Other errors are not logged."""
    if isinstance(error, UnsafeDirectory):
        _warn_once(str(error))


@lru_cache(maxsize=64)
def _warn_once(text: str) -> None:
    log.warning("nothing is kept on disk there: %s", text)


class PrivateDirectory:
    """A directory of the current user, given as a root and the names of the directories below it.

    It is opened anew for each operation, and created by those that write. So it may vanish at any time, and
    no descriptor is left open. Every method can block, and can raise OSError.
    """

    def __init__(self, root: StrPath, *below: str) -> None:
        path = os.fspath(root)
        # With a slash at the end of the path the system would follow a link.
        self._root = path.rstrip(os.sep) or path
        self._below = below
        self.path = os.path.join(self._root, *below)

    def below(self, name: str) -> PrivateDirectory:
        """Return a directory inside this one."""
        return PrivateDirectory(self._root, *self._below, checked_name(name))

    def read(
        self, name: str, *, max_bytes: int | None = None, is_secret: bool = False
    ) -> tuple[bytes, os.stat_result] | None:
        """Return the content and the status of a file; None if it does not exist.

        With `is_secret`, a file that others can read is made private, with a warning.
        """
        try:
            with self._opened() as here:
                descriptor = here.open_file(name, os.O_RDONLY)
        except FileNotFoundError:
            return None
        with open(descriptor, "rb", 0) as file:
            status = os.fstat(descriptor)
            if is_secret:
                _hide_secret(descriptor, status, os.path.join(self.path, name))
            if max_bytes is not None and status.st_size > max_bytes:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), name)
            return file.readall(), status

    def replace(self, name: str, pieces: Iterable[bytes], *, durable: bool = False) -> os.stat_result:
        """Write a file in one step: readers see the old content or the new, and the last writer wins.

        Returns the status of the new file. `durable` waits until the disk has it.
        """
        draft = f"{checked_name(name)}.{os.urandom(_DRAFT_DIGITS // 2).hex()}{DRAFT}"
        with self._opened(make=True) as here:
            descriptor = here.open_file(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                status = _write(descriptor, pieces, durable=durable)
                here.rename(draft, name)
            except OSError:
                with suppress(OSError):
                    here.unlink(draft)
                raise
            if durable and here.descriptor is not None:
                with suppress(OSError):  # not every file system synchronises directories
                    os.fsync(here.descriptor)
            return status

    def create(self, name: str, data: bytes) -> None:
        """Write a new file in an existing directory. Raises FileExistsError if the name is taken."""
        with self._opened() as here:
            descriptor = here.open_file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                _write(descriptor, (data,), durable=False)
            except OSError:
                with suppress(OSError):
                    here.unlink(name)
                raise

    def remove(self, name: str) -> bool:
        """Delete a file, and return whether it existed."""
        try:
            with self._opened() as here:
                here.unlink(name)
        except FileNotFoundError:
            return False
        return True

    def remove_empty_directory(self, name: str) -> None:
        """Delete a directory inside this one, if it is empty."""
        with self._opened() as here:
            os.rmdir(here.at(name), dir_fd=here.descriptor)

    def remove_drafts(self, *, of: str | None = None, older_than_seconds: float = 0.0) -> None:
        """Delete drafts that killed processes left behind, of all files or of one."""
        for name in self.drafts(of=of, older_than_seconds=older_than_seconds):
            with suppress(OSError):
                self.remove(name)

    def drafts(self, *, of: str | None = None, older_than_seconds: float = 0.0) -> list[str]:
        """Return the names of drafts: those that processes are writing, and those of killed ones."""
        latest = time.time() - older_than_seconds
        return [
            name
            for name, status in self.scan()
            if (target := drafted_name(name)) is not None
            and (of is None or target == of)
            and stat.S_ISREG(status.st_mode)
            and status.st_mtime <= latest
        ]

    def scan(self) -> list[tuple[str, os.stat_result]]:
        """Return the names in the directory with their status; empty if it does not exist."""
        found: list[tuple[str, os.stat_result]] = []
        try:
            with self._opened() as here, os.scandir(here.scannable) as entries:
                for entry in entries:
                    with suppress(OSError):  # other processes remove theirs meanwhile
                        found.append((entry.name, entry.stat(follow_symlinks=False)))
        except FileNotFoundError:
            return []
        return found

    def open_lock(self, name: str, *, make: bool = True) -> int:
        """Return a descriptor of a file that can be locked. The caller closes it."""
        with self._opened(make=make) as here:
            return here.open_file(name, os.O_RDWR | (os.O_CREAT if make else 0))

    def open_to_append(self, name: str) -> int:
        """Return a descriptor of a file that grows at its end. The caller closes it."""
        with self._opened(make=True) as here:
            descriptor = here.open_file(name, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            _restrict(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def open_to_read(self, name: str) -> BinaryIO:
        """Open a file to be read piece by piece. Raises FileNotFoundError if it does not exist."""
        with self._opened() as here:
            return open(here.open_file(name, os.O_RDONLY), "rb")

    @asynccontextmanager
    async def locked(self, name: str, seconds: float) -> AsyncIterator[None]:
        """Hold a lock that excludes other processes and tasks. Raises TimeoutError after `seconds`.

        The system releases the lock when the process ends, however it ends. The file stays.
        """
        descriptor = self.open_lock(name)
        try:
            async with asyncio.timeout(seconds):
                # Polled: a thread that blocks on the lock could not be cancelled. Windows has no such locks:
                # there the callers exclude tasks of their own process, and other processes are not excluded.
                while sys.platform != "win32" and not try_lock(descriptor):  # noqa: ASYNC110 - see above
                    await asyncio.sleep(POLL_SECONDS)
            yield
        finally:
            os.close(descriptor)

    def _opened(self, *, make: bool = False) -> AbstractContextManager[OpenDirectory]:
        return opened_directory(self._root, self._below, make=make)


def drafted_name(name: str) -> str | None:
    """Return the name of the file that a draft was to replace; None if the name is not that of a draft."""
    if not name.endswith(DRAFT):
        return None
    rest = name.removesuffix(DRAFT)
    target, _, digits = rest.rpartition(".")
    # Earlier versions made drafts without digits.
    return target if is_hexadecimal(digits, _DRAFT_DIGITS) else rest


def is_hexadecimal(text: str, length: int) -> bool:
    """Whether a text has that many characters, all of them hexadecimal digits in lower case."""
    return len(text) == length and _HEX.issuperset(text)


def try_lock(descriptor: int, *, wait: bool = False) -> bool:
    """Lock an open file, and return whether that succeeded. On Windows, only `wait` succeeds."""
    if sys.platform == "win32":
        return wait
    import fcntl  # noqa: PLC0415 - not on every platform

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _hide_secret(descriptor: int, status: os.stat_result, path: str) -> None:
    if sys.platform == "win32" or not status.st_mode & OTHERS_MODE:
        return
    if status.st_nlink > 1:
        # It may be a hard link to another file of the user that is meant to be readable.
        raise PermissionError(errno.EPERM, f"other users can read {path}, and it has another name. Delete it")
    os.fchmod(descriptor, FILE_MODE)
    log.warning("%s could be read by other users, and now cannot: consider new logins and secrets", path)


def _restrict(descriptor: int) -> None:
    """Give a file of ours the mode that all have, if it was created with an unusual umask."""
    if sys.platform != "win32" and stat.S_IMODE(os.fstat(descriptor).st_mode) != FILE_MODE:
        os.fchmod(descriptor, FILE_MODE)


def _write(descriptor: int, pieces: Iterable[bytes], *, durable: bool) -> os.stat_result:
    """Write the content of a new file, close it, and return its status."""
    with open(descriptor, "wb") as file:
        _restrict(descriptor)
        file.writelines(pieces)
        file.flush()
        if durable:
            os.fsync(descriptor)
        return os.fstat(descriptor)
