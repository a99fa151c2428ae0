"""Timers for credentials that expire while the workbench runs.

Owns when an expiry is acted upon, not what is done about it. A request is checked against the clock by
whoever admits it; these timers are for what stays open without a request.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_WAIT_SECONDS: Final = 300.0
"""The system's clock may be set while a timer runs, and the loop's clock is another one."""


class Expiries:
    """Calls back with the name of whoever has no valid credential any more."""

    def __init__(self, on_expired: Callable[[str], None]) -> None:
        self._on_expired = on_expired
        self._ends: dict[str, float] = {}
        """When the last credential of a name expires, in seconds since 1970."""
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def extend(self, name: str, end: float) -> None:
        """Expect the end of a credential; a name with several ends with the last of them."""
        self._ends[name] = max(end, self._ends.get(name, 0))
        if name not in self._timers:
            self._look(name)

    def clear(self) -> None:
        """Cancel all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._ends.clear()

    def _look(self, name: str) -> None:
        """Report the end if its time has come; wait on if not, or if it was extended since."""
        remaining = self._ends[name] - time.time()
        if remaining > 0:
            wait = min(remaining, LONGEST_WAIT_SECONDS)
            self._timers[name] = asyncio.get_running_loop().call_later(wait, self._look, name)
        else:
            del self._ends[name]
            self._timers.pop(name, None)
            self._on_expired(name)
