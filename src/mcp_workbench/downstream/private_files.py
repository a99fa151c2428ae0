"""Files that their owner alone can read, and a lock that nobody can leave behind.

Owns permissions, replacing a file in one step, and waiting for other processes. Knows nothing of the content.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

OWNER_ONLY = 0o600
OTHERS = 0o077
DRAFT = ".draft"
PAUSE = 0.02
"""Seconds between two looks at a lock that another process has."""

log = logging.getLogger(__name__)


def read(path: str) -> bytes | None:
    """What is in the file; None if there is none. Raises OSError, also for the file of somebody else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if sys.platform != "win32":
            state = os.fstat(descriptor)
            if state.st_uid != os.geteuid():
                raise PermissionError(f"{path} belongs to another user")
            if stat.S_IMODE(state.st_mode) & OTHERS:
                os.fchmod(descriptor, OWNER_ONLY)
                log.warning("%s could be read by other users, and now cannot: consider a new login", path)
        return file.read()


def replace(path: str, data: bytes) -> None:
    """Puts a file there with this in it: whoever reads it sees the old one or the new one. Raises OSError.

    To be called under the file's lock: only one draft is made at a time, so that none is left over.
    """
    make_directory(os.path.dirname(path))
    draft = f"{path}{DRAFT}"
    with suppress(FileNotFoundError):
        os.remove(draft)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(descriptor)
    os.replace(draft, path)


def replace_unlocked(path: str, pieces: Iterable[bytes]) -> os.stat_result:
    """The same by whoever comes, where the last one counts; not synchronised with the disk, so it is for what
    can be done without. The state of what was written, which another may have replaced since. Raises OSError.
    """
    make_directory(os.path.dirname(path))
    # Containers that share the directory may have the same process ids.
    draft = f"{path}.{os.urandom(6).hex()}{DRAFT}"
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY), "wb") as file:
            file.writelines(pieces)
        state = os.stat(draft)
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            os.remove(draft)
        raise
    return state


def remove(path: str) -> bool:
    """Whether there was such a file."""
    try:
        os.remove(path)
    except FileNotFoundError:
        return False
    return True


def make_directory(path: str) -> None:
    """Makes sure that it is there, and that others see nothing of it."""
    os.makedirs(path, mode=0o700, exist_ok=True)
    if sys.platform != "win32" and stat.S_IMODE(os.stat(path).st_mode) & OTHERS:
        os.chmod(path, 0o700)


@asynccontextmanager
async def locked(path: str, limit: float) -> AsyncIterator[None]:
    """While this is held, no other process has it, nor another task of ours. TimeoutError after the limit.

    The lock is the system's, on an open file: it ends with its process, however that ends. The file stays.
    """
    make_directory(os.path.dirname(path))
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, OWNER_ONLY)
    try:
        async with asyncio.timeout(limit):
            # Asked again and again: a thread that waits for it could not be called back.
            while not _try_lock(descriptor):  # noqa: ASYNC110 - another process gives it back
                await asyncio.sleep(PAUSE)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    if sys.platform == "win32":
        return True  # there the tasks of one process are kept apart by `bearer`, and processes are not
    import fcntl  # noqa: PLC0415 - not on every platform

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
