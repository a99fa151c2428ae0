"""Reads a file, or reports why it cannot be read; recognises a file that has changed since."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final, NewType

from mcp_workbench.errors import ConfigError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_FILE_BYTES: Final = 16 * 1024 * 1024
"""Size of the largest file that is read: thousands of times a usual one. A device may have no end."""

PIPE_TIMEOUT_SECONDS: Final = 10.0
"""Time that the writer of a pipe has for its next piece: without a writer, a start would wait forever."""


def read(
    path: str, *, usual_name: str, explain_missing: Callable[[], Problem]
) -> tuple[bytes, os.stat_result]:
    """Return the content of a file, and its status from before it was read. Raises ConfigError."""
    try:
        with open(path, "rb", opener=_open) as file:
            # Before reading, so that what is written meanwhile counts as a change.
            status = os.fstat(file.fileno())
            is_pipe = stat.S_ISFIFO(status.st_mode)
            data = _read_pipe(file.fileno()) if is_pipe else file.read(MAX_FILE_BYTES + 1)
        if len(data) <= MAX_FILE_BYTES:
            return data, status
        problem = Problem(
            "", f"the file is larger than {MAX_FILE_BYTES:,} bytes", "Check that it is the right one."
        )
    except FileNotFoundError:
        problem = explain_missing()
    except IsADirectoryError:
        problem = Problem("", "this is a directory", f"Name the file in it: {os.path.join(path, usual_name)}")
    except PermissionError:
        problem = Problem(
            "", "the file cannot be read: permission denied", "Give yourself the right to read it."
        )
    except OSError as error:
        problem = Problem("", f"the file cannot be read: {error.strerror}", "Check the path.")
    raise ConfigError(path, [problem])


def _open(path: str, flags: int) -> int:
    # To open a pipe would otherwise wait for a writer.
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if os.name != "nt":
        os.set_blocking(descriptor, True)
    return descriptor


def _read_pipe(descriptor: int) -> bytes:
    """Return what is written into a pipe until its end. Raises TimeoutError if nothing comes for a while."""
    import select  # noqa: PLC0415 - hardly any configuration is a pipe

    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    data = bytearray()
    while len(data) <= MAX_FILE_BYTES:
        if not poller.poll(PIPE_TIMEOUT_SECONDS * 1000):
            silence = f"nothing was written into this pipe for {PIPE_TIMEOUT_SECONDS:g} s"
            raise TimeoutError(errno.ETIMEDOUT, silence)
        piece = os.read(descriptor, 65536)
        if not piece:
            break
        data += piece
    return bytes(data)


Stamp = NewType("Stamp", tuple[int, ...])
"""The state of a file. A different stamp means other content, or another file under the path."""


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the state of a file at the time of its status, to compare with a later one."""
    # With the change time, because new permissions may make a file readable.
    return Stamp((status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev))
