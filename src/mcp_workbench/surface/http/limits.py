"""Limits the requests of one principal: how many are in flight, and how many begin per loop turn.

Beginning a thousand requests takes 100 ms. Without a limit other principals would wait for all of them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Final

from mcp_workbench.errors import ShareUsedUp
from mcp_workbench.fairness import RETRY_SECONDS, FairQueue
from mcp_workbench.protocol.names import INTERNAL_ERROR
from mcp_workbench.surface.http.exchange import Rejected

if TYPE_CHECKING:
    from mcp_workbench.fairness import Shares
    from mcp_workbench.wire.message import Id


MAX_BEGUN_PER_TURN: Final = 50
"""Requests of one principal that begin in one turn of the event loop; they take about 5 ms."""


class PerTurnLimit:
    """Limits how many requests of a principal begin per turn of the event loop. The others wait."""

    def __init__(self) -> None:
        self._begun: Counter[str] = Counter()
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()

    def may_begin(self, principal: str) -> bool:
        """Whether a request of a principal may begin in this turn. Counts it if so."""
        if principal in self._waiting or not self._has_share(principal):
            return False
        if not self._begun:
            asyncio.get_running_loop().call_soon(self._next_turn)
        self._begun[principal] += 1
        return True

    async def wait(self, principal: str) -> None:
        """Wait for a turn of the event loop in which a request may begin."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(principal, turn)
        try:
            await turn
        finally:
            self._waiting.discard(principal, turn)

    def _next_turn(self) -> None:
        self._begun.clear()
        while (found := self._waiting.take(self._has_share)) is not None:
            principal, turn = found
            if not turn.done():
                self._begun[principal] += 1
                turn.set_result(None)
        if self._begun:
            asyncio.get_running_loop().call_soon(self._next_turn)

    def _has_share(self, principal: str) -> bool:
        return self._begun[principal] < MAX_BEGUN_PER_TURN


class PrincipalRequests:
    """Counts the requests of one principal that are in flight."""

    def __init__(self, principal: str, shares: Shares) -> None:
        self._principal = principal
        self._shares = shares
        self._count = 0

    def add(self, count: int, request_id: Id) -> None:
        """Count more requests. Raises Rejected, and counts none, if the principal's share is used up."""
        total, limit = self._count + count, self._shares.limits.requests
        if self._principal and total > limit:
            taken = f"Too Many Requests: {total:,} requests of yours would be in flight, more than {limit:,}"
            reason = str(ShareUsedUp(taken, "requests", RETRY_SECONDS))
            later = (b"retry-after", b"%d" % RETRY_SECONDS)
            raise Rejected(429, INTERNAL_ERROR, reason, later, request_id=request_id)
        self._count += count

    def remove(self, count: int) -> None:
        """Stop counting requests that were answered or given up."""
        self._count -= count
