"""When a server that keeps failing may be started again. The time is passed in; nothing waits here."""

from __future__ import annotations

import os
from math import inf

FIRST_SECONDS = 0.5
"""Seconds before the next start after the second failure in a row."""
MAX_SECONDS = 60.0
"""Maximum number of seconds before the next start. Each wait is twice the last."""
JITTER = 0.2
"""Share by which a wait varies, so that servers that fail together are not started together."""
HEALTHY_SECONDS = 60.0
"""Seconds after which a connection counts as healthy, whatever ended it."""


class Backoff:
    """Counts the failures in a row of one server.

    The first failure is forgiven: the next use starts the server again at once. Only further failures,
    with nothing good between them, make the next use wait.
    """

    def __init__(self) -> None:
        self.failures = 0
        self._not_before = -inf

    def fail(self, now: float) -> None:
        """Record that the server could not be started, or has ended."""
        self.failures += 1
        if self.failures > 1:
            # The exponent is limited, or the number would grow without end.
            steady = min(FIRST_SECONDS * 2 ** min(self.failures - 2, 10), MAX_SECONDS)
            self._not_before = now + min(steady * (1 - JITTER + 2 * JITTER * _chance()), MAX_SECONDS)

    def end(self, now: float, *, up: float, served: bool) -> None:
        """Record the end of a connection that was `up` for that many seconds, and whether it `served` a
        call.
        """
        if served or up >= HEALTHY_SECONDS:
            self.failures = 0
        self.fail(now)

    def remaining(self, now: float) -> float:
        """Return the seconds until the server may be started again."""
        return max(self._not_before - now, 0.0)


def _chance() -> float:
    # Importing `random` takes longer than everything else that the start of a server needs.
    return int.from_bytes(os.urandom(2), "big") / 0xFFFF
