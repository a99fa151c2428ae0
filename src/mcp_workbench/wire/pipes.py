"""What event loops need of a descriptor: whether it can be watched, who closes it, what its pipe holds."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from typing import BinaryIO

FIRST_OWN_DESCRIPTOR = 3
"""The descriptors before are stdin, stdout and stderr."""
WIDE_PIPE_BYTES = 1024 * 1024
"""Capacity of a pipe after something long went through it, so that the next needs few reads."""


def can_be_watched(file: BinaryIO) -> bool:
    """Whether the event loop can watch a file: pipes, sockets and terminals, not regular files."""
    if sys.platform == "win32":
        return False
    mode = os.fstat(file.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or (stat.S_ISCHR(mode) and file.isatty())


def for_transport(file: BinaryIO) -> BinaryIO:
    """Return a file for a transport of the running event loop, which closes it. `file` is used up.

    uvloop closes the descriptor first, and then the file, which closes the descriptor again. In between, a
    thread may have opened another file with the same number, and that would be closed. It leaves stdin,
    stdout and stderr to the file.
    """
    is_asyncio = isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop)
    if is_asyncio or file.fileno() < FIRST_OWN_DESCRIPTOR:
        return file
    return cast("BinaryIO", _ClosedByLoop(file))


class _ClosedByLoop:
    """A descriptor that nobody but the event loop closes."""

    def __init__(self, file: BinaryIO) -> None:
        import fcntl  # noqa: PLC0415 - not on every platform

        with file:
            # libuv ends the process if it has to close one of the first three.
            self._descriptor = fcntl.fcntl(file.fileno(), fcntl.F_DUPFD_CLOEXEC, FIRST_OWN_DESCRIPTOR)

    def fileno(self) -> int:
        return self._descriptor

    def close(self) -> None:
        """Do nothing: the descriptor is closed already."""


def widen(pipe: BinaryIO | None) -> None:
    """Let a pipe hold more, if the system allows it.

    Not from the start: Linux limits what all pipes of a user hold together, and beyond that limit new
    pipes, of any program, hold next to nothing.
    """
    if pipe is not None and sys.platform == "linux":
        import fcntl  # noqa: PLC0415 - not on every platform

        with suppress(OSError):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, WIDE_PIPE_BYTES)
