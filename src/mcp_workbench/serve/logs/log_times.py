"""The time of a log event as people read it: local, ISO 8601, with the offset from UTC.

Owns the question whether a line needs a time at all: the journal of systemd adds its own to every line.
"""

from __future__ import annotations

import os
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

JOURNAL_VARIABLE: Final = "JOURNAL_STREAM"
"""Set by systemd to the device and inode of the stream that it reads, as `8:1234`."""


def local_time(created: float) -> str:
    """Return a time in seconds since the epoch as local time: `2026-07-28T09:30:00+02:00`."""
    return "".join(local_parts(int(created)))


def local_time_in_milliseconds(created: float) -> str:
    """Return a time in seconds since the epoch as local time: `2026-07-28T09:30:00.042+02:00`."""
    seconds, thousandths = divmod(int(created * 1000), 1000)
    until_second, offset = local_parts(seconds)
    return f"{until_second}.{thousandths:03d}{offset}"


# Many lines have the same second, and to format it takes longer than the rest of a line.
@lru_cache(maxsize=2)
def local_parts(seconds: int) -> tuple[str, str]:
    """Return a time in whole seconds since the epoch as local time, and its offset from UTC."""
    local = time.localtime(seconds)
    east, minutes = "+-"[local.tm_gmtoff < 0], abs(local.tm_gmtoff) // 60
    return time.strftime("%Y-%m-%dT%H:%M:%S", local), f"{east}{minutes // 60:02d}:{minutes % 60:02d}"


def is_read_by_journal(descriptor: int, environ: Mapping[str, str]) -> bool:
    """Whether the journal of systemd reads a descriptor. A child process may inherit only the variable."""
    if (stream := environ.get(JOURNAL_VARIABLE)) is None:
        return False
    try:
        status = os.fstat(descriptor)
    except OSError:
        return False
    return stream == f"{status.st_dev}:{status.st_ino}"
