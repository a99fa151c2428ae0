"""Progress of a request as its client hears of it: all of it, except in a flood, and always the last word."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

BURST: Final = 100
"""Reports that are passed on however fast they come."""
RATE: Final = 20.0
"""Reports a second that are passed on after that. Of the others only the latest is kept."""


class Progress:
    """The reports on one request. The last of them always arrives, and before the answer."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._send = send
        self._allowed = float(BURST)
        self._counted_at = self._loop.time()
        self._latest: bytes | None = None
        self._timer: asyncio.TimerHandle | None = None

    def report(self, report: bytes) -> None:
        """Passes one on, now or when its time has come, unless a later one comes first."""
        now = self._loop.time()
        self._allowed = min(self._allowed + (now - self._counted_at) * RATE, BURST)
        self._counted_at = now
        if self._timer is None and self._allowed >= 1:
            self._allowed -= 1
            self._send(report)
            return
        self._latest = report
        if self._timer is None:
            self._timer = self._loop.call_later((1 - self._allowed) / RATE, self._send_latest)

    def end(self) -> None:
        """There will be no more, for the request is about to be answered."""
        if self._timer is not None:
            self._timer.cancel()
            self._send_latest()

    def drop(self) -> None:
        """Nobody wants to hear any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _send_latest(self) -> None:
        self._timer = None
        if self._latest is not None:
            self._allowed -= 1
            report, self._latest = self._latest, None
            self._send(report)
