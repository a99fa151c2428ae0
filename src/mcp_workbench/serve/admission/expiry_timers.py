"""Timers for credentials that expire while the workbench runs.

Owns when an expiry is reported, not what is done about it. `Admission` checks each request against the clock;
these timers are for streams and sessions that stay open without a request.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_WAIT_SECONDS: Final = 300.0
"""The longest timer: the system's clock may be set while it runs, and the event loop uses another clock."""


class ExpiryTimers:
    """Calls back with the name of a principal whose last credential has expired."""

    def __init__(self, on_expired: Callable[[str], None]) -> None:
        self._on_expired = on_expired
        self._ends: dict[str, float] = {}
        """When the last credential of a name expires, in seconds since 1970."""
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def extend(self, name: str, end: float) -> None:
        """Expect the expiry of a credential. A name with several expires with the last of them."""
        self._ends[name] = max(end, self._ends.get(name, 0))
        if name not in self._timers:
            self._look(name)

    def clear(self) -> None:
        """Cancel all timers and forget all credentials."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._ends.clear()

    def _look(self, name: str) -> None:
        """Report the expiry if it is due. Wait on if it is not, or if it was extended since."""
        remaining = self._ends[name] - time.time()
        if remaining > 0:
            wait = min(remaining, MAX_WAIT_SECONDS)
            self._timers[name] = asyncio.get_running_loop().call_later(wait, self._look, name)
        else:
            del self._ends[name]
            self._timers.pop(name, None)
            self._on_expired(name)
