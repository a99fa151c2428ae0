"""Progress reports of a request: thinned out if there are too many, but the last one always arrives."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

BURST_REPORTS: Final = 100
"""Reports of one request that are sent without a limit on their rate."""
REPORTS_PER_SECOND: Final = 20.0
"""Reports that are sent each second after the burst. Of the others only the latest is kept."""


class Progress:
    """The progress reports of one request. The last one is always sent, and before the answer."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._send = send
        self._allowed = float(BURST_REPORTS)
        self._counted_at = self._loop.time()
        self._latest: bytes | None = None
        self._timer: asyncio.TimerHandle | None = None

    def report(self, report: bytes) -> None:
        """Send a report now, or as soon as the rate allows unless a later one replaces it."""
        now = self._loop.time()
        self._allowed = min(self._allowed + (now - self._counted_at) * REPORTS_PER_SECOND, BURST_REPORTS)
        self._counted_at = now
        if self._timer is None and self._allowed >= 1:
            self._allowed -= 1
            self._send(report)
            return
        self._latest = report
        if self._timer is None:
            self._timer = self._loop.call_later((1 - self._allowed) / REPORTS_PER_SECOND, self._send_latest)

    def end(self) -> None:
        """Send the latest report if it still waits: the request is about to be answered."""
        if self._timer is not None:
            self._timer.cancel()
            self._send_latest()

    def drop(self) -> None:
        """Drop the report that still waits: the request is cancelled."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _send_latest(self) -> None:
        self._timer = None
        if self._latest is not None:
            self._allowed -= 1
            report, self._latest = self._latest, None
            self._send(report)
