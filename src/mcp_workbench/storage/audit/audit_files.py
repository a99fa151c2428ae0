"""The files of the audit: lines are appended to the newest one, and the oldest one is deleted.

Owns where lines go, and that those of several processes never mix. The files have numbers for names, which
only grow. A process that writes locks the newest file, and begins the next one when that is full. So nothing
is ever renamed, and neither a reader nor another writer can be confused. Nothing depends on the clock.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mcp_workbench.storage.directories import data_directory
from mcp_workbench.storage.open_directory import UnsafeDirectory
from mcp_workbench.storage.private_files import PrivateDirectory, try_lock

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

DIRECTORY: Final = "audit"
MAX_FILES: Final = 10
MAX_FILE_BYTES: Final = 10_000_000
MAX_CHUNK_BYTES: Final = 512 * 1024
"""Bytes that are best written at once. A longer line is written alone."""

_NAME: Final = re.compile(r"calls-(\d{6,18})\.jsonl")
_UNUSABLE: Final = {errno.ELOOP, errno.EPERM, errno.EACCES, errno.EISDIR, errno.ENXIO}
"""What opening a name costs that is not a file of ours: a link, a device, a directory."""


class AuditFiles:
    """The files of the audit in one data directory, shared by all processes of the user. Methods block."""

    def __init__(self, environ: Mapping[str, str], max_file_bytes: int = MAX_FILE_BYTES) -> None:
        self._root = data_directory(environ)
        self._directory = PrivateDirectory(self._root, DIRECTORY)
        self._max_file_bytes = max_file_bytes
        self.path = self._directory.path

    def numbers(self) -> list[int]:
        """Return the numbers of the files, the oldest first. Raises OSError."""
        return sorted(
            int(found[1])
            for name, status in self._directory.scan()
            if (found := _NAME.fullmatch(name)) and stat.S_ISREG(status.st_mode)
        )

    def open(self, number: int) -> BinaryIO:
        """Open a file for reading. Raises OSError."""
        return self._directory.open_to_read(_name_of(number))

    def append(self, data: bytes) -> None:
        """Write whole lines at the end of the newest file. Raises OSError, and then none of them is there."""
        number = max(self.numbers(), default=1)
        refused: OSError | None = None
        for _ in range(MAX_FILES):
            try:
                descriptor = self._directory.open_to_append(_name_of(number))
            except OSError as error:
                if error.errno not in _UNUSABLE:
                    raise
                # Somebody has put something else in its place. It is not touched, and goes with its number.
                refused = error
                number += 1
                continue
            try:
                if self._write(descriptor, data):
                    if os.fstat(descriptor).st_size == len(data):
                        self._delete_before(number - MAX_FILES)
                    return
            finally:
                os.close(descriptor)
            number += 1
        raise refused or OSError(errno.EBUSY, os.strerror(errno.EBUSY), self.path)

    def explain(self, error: OSError) -> str:
        """Say why lines cannot be written, for a person."""
        if self._root == os.devnull:
            return "there is no home directory"
        return str(error) if isinstance(error, UnsafeDirectory) else f"{error.strerror}: {self.path}"

    def _write(self, descriptor: int, data: bytes) -> bool:
        """Write to a file unless it is full, or deleted meanwhile. Return whether that was done."""
        try_lock(descriptor, wait=True)
        status = os.fstat(descriptor)
        size = status.st_size
        if (size and size + len(data) > self._max_file_bytes) or status.st_nlink != 1:
            return False
        if size and _last_byte(descriptor, size) != b"\n":
            # A process was killed while it wrote. Its half line stays alone on its line.
            data = b"\n" + data
        try:
            rest = memoryview(data)
            while rest:  # what does not fit is refused the second time, which says why
                rest = rest[os.write(descriptor, rest) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(descriptor, size)
            raise
        return True

    def _delete_before(self, number: int) -> None:
        """Delete the files up to a number: there are enough newer ones."""
        for name, status in self._directory.scan():
            found = _NAME.fullmatch(name)
            if found and int(found[1]) <= number and not stat.S_ISDIR(status.st_mode):
                with suppress(OSError):
                    self._directory.remove(name)


def _last_byte(descriptor: int, size: int) -> bytes:
    os.lseek(descriptor, size - 1, os.SEEK_SET)  # writes go to the end in any case
    return os.read(descriptor, 1)


def _name_of(number: int) -> str:
    return f"calls-{number:06d}.jsonl"
