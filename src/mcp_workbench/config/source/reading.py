"""The bytes of a file, or why they cannot be had, in the words of a problem."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NewType

from mcp_workbench.errors import ConfigError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable


def read(
    path: str, *, usual_name: str, explain_missing: Callable[[], Problem]
) -> tuple[bytes, os.stat_result]:
    """The content, and the status of the file before it was read. Raises ConfigError."""
    try:
        with open(path, "rb") as file:
            # Before reading: what is written meanwhile is then a change, and not lost.
            status = os.fstat(file.fileno())
            return file.read(), status
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
"""Good for comparing only: another one means another file under the path, or other content."""


def stamp_of(status: os.stat_result) -> Stamp:
    """The state of a file at the time of its status."""
    # With the time of its last change of any kind: a file that may be read only now is a change too.
    return Stamp((status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev))
