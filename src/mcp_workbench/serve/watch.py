"""Notices that a file has changed.

Owns when a change counts, not what is done about it. Polls the file's status: that costs next to nothing,
works on every file system, and follows symbolic links that are swapped to change a file.
"""

from __future__ import annotations

import asyncio
import os
import stat
from typing import TYPE_CHECKING

from mcp_workbench.config import stamp_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.config import Stamp

INTERVAL_SECONDS = 1.0
"""Time between two looks at the file."""
LOOKS_WHEN_CHANGED = 2
"""How often a new state has to be seen before it counts: a file that is being written changes again."""
LOOKS_WHEN_GONE = 5
"""How often a file has to be missing before it counts: many programs remove a file to replace it."""


class Watcher:
    """Watches a file until it is closed, and calls back when it has changed."""

    def __init__(self, path: str, stamp: Stamp | None, on_change: Callable[[], None]) -> None:
        self._path = path
        self._on_change = on_change
        self._known: Stamp | None = stamp
        self._new: Stamp | None = stamp
        self._was_special = is_special(path)
        """Whether the path was not a regular file from the start, such as a pipe made by a shell."""
        self._looks = 0
        """How often the new state has been seen in a row."""
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start to watch. The callback is also called, once, for a file that is gone."""
        self._timer = asyncio.get_running_loop().call_later(INTERVAL_SECONDS, self._look)

    def close(self) -> None:
        """Stop watching the file and cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        self.start()
        try:
            status = os.stat(self._path)  # noqa: PTH116 - pathlib costs start-up
        except OSError:
            seen = None
        else:
            is_file = stat.S_ISREG(status.st_mode)
            if not is_file and self._was_special:
                return  # a pipe can be read only once
            seen = stamp_of(status) if is_file else None
        self._looks = self._looks + 1 if seen == self._new else 1
        self._new = seen
        enough = LOOKS_WHEN_GONE if seen is None else LOOKS_WHEN_CHANGED
        if seen != self._known and self._looks >= enough:
            self._known = seen
            self._on_change()


def stamp_at(path: str) -> Stamp | None:
    """Return the present state of a file; None if there is none."""
    try:
        return stamp_of(os.stat(path))  # noqa: PTH116 - pathlib costs start-up
    except OSError:
        return None


def is_special(path: str) -> bool:
    """Whether a path leads to a pipe, a device or a socket. Reading one may block, or never end."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - pathlib costs start-up
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
