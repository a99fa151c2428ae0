"""Properties of a file descriptor: whether the event loop can watch it, and how much its pipe holds."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

WIDE_PIPE_BYTES = 1024 * 1024
"""Capacity of a pipe after something long went through it, so that the next needs few reads."""


def can_be_watched(file: BinaryIO) -> bool:
    """Whether the event loop can watch a file: pipes, sockets and terminals, not regular files."""
    if sys.platform == "win32":
        return False
    mode = os.fstat(file.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or (stat.S_ISCHR(mode) and file.isatty())


def widen(pipe: BinaryIO | None) -> None:
    """Let a pipe hold more, if the system allows it.

    Not from the start: Linux limits what all pipes of a user hold together, and beyond that limit new
    pipes, of any program, hold next to nothing.
    """
    if pipe is not None and sys.platform == "linux":
        import fcntl  # noqa: PLC0415 - not on every platform

        with suppress(OSError):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, WIDE_PIPE_BYTES)
