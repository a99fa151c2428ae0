"""When a server that keeps failing may be tried again. Time is passed in, nothing is waited for here."""

from __future__ import annotations

import os
from math import inf

FIRST_SECONDS = 0.5
MAX_SECONDS = 60.0
"""Seconds before the next try: after the second failure in a row, and at most."""
JITTER = 0.2
"""By this share it is longer or shorter, so that many that fail together are not tried together."""
HEALTHY_SECONDS = 60.0
"""Seconds after which a life counts as a good one, whatever ended it."""


class Backoff:
    """The failures in a row of one server.

    The first is forgiven: whatever ended a server, its next use finds it again. It is the next ones, without
    anything good between them, that make it wait.
    """

    def __init__(self) -> None:
        self.failures = 0
        self._not_before = -inf

    def fail(self, now: float) -> None:
        """It could not be started, or has ended."""
        self.failures += 1
        if self.failures > 1:
            # Doubled no more often than it takes to be the longest, or the number would grow without end.
            steady = min(FIRST_SECONDS * 2 ** min(self.failures - 2, 10), MAX_SECONDS)
            self._not_before = now + min(steady * (1 - JITTER + 2 * JITTER * _chance()), MAX_SECONDS)

    def end(self, now: float, *, up: float, served: bool) -> None:
        """A life has ended that was `up` for so many seconds, and has `served` somebody or not."""
        if served or up >= HEALTHY_SECONDS:
            self.failures = 0
        self.fail(now)

    def remaining(self, now: float) -> float:
        """Seconds until it may be tried again."""
        return max(self._not_before - now, 0.0)


def _chance() -> float:
    # The module `random` takes longer to load than all else that a start of a server needs.
    return int.from_bytes(os.urandom(2), "big") / 0xFFFF
