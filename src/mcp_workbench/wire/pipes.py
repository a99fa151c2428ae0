"""What a file descriptor can do: be watched by the event loop, and hold more."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

WIDE_PIPE_BYTES = 1024 * 1024
"""What a pipe is made to hold once something long has come through it: most of that in one go."""


def can_be_watched(file: BinaryIO) -> bool:
    """Whether the loop can say when there is something to read or room to write: it can of pipes, sockets and
    terminals, and not of regular files."""
    if sys.platform == "win32":
        return False
    mode = os.fstat(file.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or (stat.S_ISCHR(mode) and file.isatty())


def widen(pipe: BinaryIO | None) -> None:
    """Lets a pipe hold more, where that can be had.

    Not from the start: what all the pipes of a user may hold together is limited on Linux, and beyond that
    new ones, of whatever program, hold next to nothing.
    """
    if pipe is not None and sys.platform == "linux":
        import fcntl  # noqa: PLC0415 - not on every platform

        with suppress(OSError):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, WIDE_PIPE_BYTES)
