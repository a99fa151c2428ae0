"""Reads a file, or reports why it cannot be read; recognises a file that has changed since."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NewType

from mcp_workbench.errors import ConfigError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_FILE_BYTES: Final = 16 * 1024 * 1024
"""Size of the largest file that is read: thousands of times a usual one. A device may have no end."""


def read(
    path: str, *, usual_name: str, explain_missing: Callable[[], Problem]
) -> tuple[bytes, os.stat_result]:
    """Return the content of a file, and its status from before it was read. Raises ConfigError."""
    try:
        with open(path, "rb") as file:
            # Before reading, so that what is written meanwhile counts as a change.
            status = os.fstat(file.fileno())
            data = file.read(MAX_FILE_BYTES + 1)
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


Stamp = NewType("Stamp", tuple[int, ...])
"""The state of a file. A different stamp means other content, or another file under the path."""


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the state of a file at the time of its status, to compare with a later one."""
    # With the change time, because new permissions may make a file readable.
    return Stamp((status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev))
