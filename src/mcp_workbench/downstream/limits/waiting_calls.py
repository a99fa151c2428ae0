"""The calls that wait for a server that is not ready for them, and how many may wait."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcp_workbench.errors import Overloaded, ShareUsedUp, size_of
from mcp_workbench.fairness import RETRY_SECONDS, Shares

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CALLS = 10_000
MAX_BYTES = 64 * 1024 * 1024
"""Maximum size of the arguments of all waiting calls together. One call alone may have more."""
MAX_BYTES_PER_PRINCIPAL = 8 * 1024 * 1024
"""Maximum size of the arguments of one principal's waiting calls. One call alone may have more."""


class WaitingCalls:
    """Counts the calls that wait for one server, and refuses too many."""

    def __init__(self, shares: Shares | None = None) -> None:
        self._shares = shares or Shares()
        self.calls = 0
        self.bytes = 0
        self._calls_of: Counter[str] = Counter()
        self._bytes_of: Counter[str] = Counter()

    @contextmanager
    def place(self, size: int, principal: str = "") -> Iterator[None]:
        """Count a call with arguments of that size for as long as it waits. Raises Overloaded."""
        self._require_room(size, principal)
        self.calls += 1
        self.bytes += size
        self._calls_of[principal] += 1
        self._bytes_of[principal] += size
        try:
            yield
        finally:
            self.calls -= 1
            self.bytes -= size
            self._bytes_of[principal] -= size
            self._calls_of[principal] -= 1
            if not self._calls_of[principal]:
                del self._calls_of[principal], self._bytes_of[principal]

    def _require_room(self, size: int, principal: str) -> None:
        calls, used = self._calls_of[principal], self._bytes_of[principal]
        is_over = calls >= self._shares.limits.waiting or (calls and used + size > MAX_BYTES_PER_PRINCIPAL)
        if principal and is_over:
            taken = f"{calls:,} calls of yours with {size_of(used)} of arguments already wait for this server"
            raise Overloaded(str(ShareUsedUp(taken, "waiting", RETRY_SECONDS)))
        if self.calls >= MAX_CALLS or (self.calls and self.bytes + size > MAX_BYTES):
            waiting = f"{self.calls:,} calls with {size_of(self.bytes)} of arguments"
            remedy = "Wait until some of them are answered"
            raise Overloaded(f"{waiting} already wait for this server, and no more are accepted. {remedy}")
