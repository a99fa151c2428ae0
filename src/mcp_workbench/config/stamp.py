"""Whether a file is still the one that was read, told without reading it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NewType

if TYPE_CHECKING:
    import os

Stamp = NewType("Stamp", tuple[int, ...])
"""Good for comparing only: another one means another file under the path, or other content."""


def stamp_of(status: os.stat_result) -> Stamp:
    """The state of a file at the time of its status."""
    # With the time of its last change of any kind: a file that may be read only now is a change too.
    return Stamp((status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev))
