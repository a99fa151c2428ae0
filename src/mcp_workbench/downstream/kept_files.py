"""Files of this process alone, for what is too much for its memory, in the user's cache directory.

Owns their permissions, and that none outlives its process for long: what a process that was killed has left
behind is removed by the next one that writes here. Knows nothing of the content.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mcp_workbench.downstream.private_files import OWNER_ONLY, make_directory

if TYPE_CHECKING:
    from mcp_workbench.errors import StrPath

LOCK: Final = "lock"
"""The file that a process holds for as long as it lives: the lock is the system's, and ends with it."""


class KeptFiles:
    """A directory that is made with the first file. Everything here may block."""

    def __init__(self, cache: StrPath) -> None:
        self._root = os.path.join(cache, "results")
        self._own: str | None = None
        self._lock = -1
        self._is_closed = False

    def write(self, name: str, data: bytes) -> None:
        """Writes a file that is not there yet. Raises OSError."""
        if self._is_closed:
            raise OSError("the workbench is ending")
        path = os.path.join(self._directory(), name)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
        try:
            with os.fdopen(descriptor, "wb", 0) as file:
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
        except OSError:
            self.remove(name)
            raise

    def read(self, name: str) -> bytes:
        """Raises OSError."""
        if self._own is None:
            raise FileNotFoundError(name)
        with open(os.path.join(self._own, name), "rb") as file:
            return file.read()

    def remove(self, name: str) -> None:
        """If it is there."""
        with suppress(OSError):
            os.remove(os.path.join(self._own or self._root, name))

    def close(self) -> None:
        """Removes the directory and all that is in it."""
        self._is_closed = True
        if self._own is not None:
            _remove_tree(self._own)
            os.close(self._lock)

    def _directory(self) -> str:
        if self._own is None:
            make_directory(self._root)
            # While this is held nobody else looks around, so that no directory is seen before it is locked.
            gate = os.open(os.path.join(self._root, LOCK), os.O_RDWR | os.O_CREAT, OWNER_ONLY)
            try:
                _lock(gate, wait=True)
                self._remove_abandoned()
                own = os.path.join(self._root, f"{os.getpid()}-{os.urandom(8).hex()}")
                os.mkdir(own, 0o700)
                self._lock = os.open(os.path.join(own, LOCK), os.O_RDWR | os.O_CREAT, OWNER_ONLY)
                _lock(self._lock, wait=True)
                self._own = own
            finally:
                os.close(gate)
        return self._own

    def _remove_abandoned(self) -> None:
        """What processes have left that are no more."""
        with os.scandir(self._root) as entries:
            others = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        for other in others:
            if _is_abandoned(other):
                _remove_tree(other)


def _is_abandoned(directory: str) -> bool:
    try:
        descriptor = os.open(os.path.join(directory, LOCK), os.O_RDWR)
    except FileNotFoundError:
        return True  # its process ended before it could lock it
    except OSError:
        return False
    try:
        return _lock(descriptor, wait=False)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, *, wait: bool) -> bool:
    """Whether nobody else has it. Where there are no such locks nobody is taken to be gone."""
    if sys.platform == "win32":
        return wait
    import fcntl  # noqa: PLC0415 - not on every platform

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _remove_tree(directory: str) -> None:
    import shutil  # noqa: PLC0415 - only where something was too much for the memory

    shutil.rmtree(directory, ignore_errors=True)
