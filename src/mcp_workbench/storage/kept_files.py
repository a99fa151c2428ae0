"""Files with the kept results of this process, for what is too large to keep in memory.

Each process has a directory of its own below `results` in the user's cache directory. It holds a lock in the
directory for as long as it lives, and deletes the directory when it ends. The next process that writes here
deletes what killed processes left behind: only directories and files whose names have the form that this
module gives them. The module knows nothing of the content.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mcp_workbench.storage.private_files import PrivateDirectory, try_lock, warn_if_unsafe

if TYPE_CHECKING:
    from mcp_workbench.errors import StrPath

LOCK: Final = "lock"
"""Name of the file that a process locks while it lives. The system releases the lock when the process ends.
"""

_DIRECTORY_NAME: Final = re.compile(r"[0-9]+-[0-9a-f]{16}")
_FILE_NAME: Final = re.compile(r"[0-9]+")


class KeptFiles:
    """The directory of this process, created with the first file. All methods may block."""

    def __init__(self, cache: StrPath) -> None:
        self._results = PrivateDirectory(cache, "results")
        self._own: str | None = None
        self._lock = -1
        self._is_closed = False

    def write(self, name: str, data: bytes) -> None:
        """Write a new file, whose name is a number. Raises OSError."""
        if self._is_closed:
            raise OSError("the workbench is ending")
        try:
            try:
                self._directory().create(name, data)
            except FileNotFoundError:
                # The user has cleaned up the cache: the files are lost, and new ones can be written.
                self._abandon()
                if self._is_closed:
                    raise
                self._directory().create(name, data)
        except OSError as error:
            warn_if_unsafe(error)
            raise

    def read(self, name: str) -> bytes:
        """Return the content of a file. Raises OSError."""
        found = None if self._own is None else self._results.below(self._own).read(name)
        if found is None:
            raise FileNotFoundError(name)
        return found[0]

    def remove(self, name: str) -> None:
        """Delete a file, if it exists. Errors are ignored."""
        if self._own is not None:
            with suppress(OSError):
                self._results.below(self._own).remove(name)

    def close(self) -> None:
        """Delete the directory and all files in it. Later writes raise OSError."""
        self._is_closed = True
        if self._own is not None:
            with suppress(OSError):
                self._remove_directory(self._own)
            self._abandon()

    def _abandon(self) -> None:
        """Release the lock of the directory, and forget the directory."""
        self._own = None
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)

    def _directory(self) -> PrivateDirectory:
        if self._own is None:
            # While this is held no other process cleans up: none sees a directory before it is locked.
            gate = self._results.open_lock(LOCK)
            try:
                try_lock(gate, wait=True)
                self._remove_abandoned()
                own = f"{os.getpid()}-{os.urandom(8).hex()}"
                self._lock = self._results.below(own).open_lock(LOCK)
                try_lock(self._lock, wait=True)
                self._own = own
            finally:
                os.close(gate)
            if self._is_closed:  # meanwhile, by another thread
                self.close()
                raise OSError("the workbench is ending")
        return self._results.below(self._own)

    def _remove_abandoned(self) -> None:
        """Delete the directories of processes that have ended."""
        for name, status in self._results.scan():
            if _DIRECTORY_NAME.fullmatch(name) and stat.S_ISDIR(status.st_mode):
                with suppress(OSError):
                    self._remove_if_abandoned(name)

    def _remove_if_abandoned(self, name: str) -> None:
        try:
            lock = self._results.below(name).open_lock(LOCK, make=False)
        except FileNotFoundError:
            # Its process ended before it could write anything. If there are files, another program deleted
            # the lock and the process may still run: then the files stay.
            self._results.remove_empty_directory(name)
            return
        try:
            if try_lock(lock):
                self._remove_directory(name)
        finally:
            os.close(lock)

    def _remove_directory(self, name: str) -> None:
        """Delete the files that this module makes in a directory, and the directory if it is empty then."""
        directory = self._results.below(name)
        for file, status in directory.scan():
            if _FILE_NAME.fullmatch(file) and stat.S_ISREG(status.st_mode):
                directory.remove(file)
        directory.remove(LOCK)
        self._results.remove_empty_directory(name)
