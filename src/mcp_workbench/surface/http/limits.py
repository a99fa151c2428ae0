"""Limits on the requests of one principal: how many are in flight, and how many begin in one loop turn.

A thousand requests that arrive at once take 100 ms to begin. Other principals would wait for all of them.
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


BEGUN_PER_TURN: Final = 50
"""Requests of one principal that are begun in one turn of the loop, in about 5 ms."""


class PerTurnLimit:
    """Requests that are begun in this turn of the loop, and those that wait for a later one."""

    def __init__(self) -> None:
        self._begun: Counter[str] = Counter()
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()

    def takes(self, principal: str) -> bool:
        """Whether a request of a principal can be begun in this turn."""
        if principal in self._waiting or not self._may(principal):
            return False
        if not self._begun:
            asyncio.get_running_loop().call_soon(self._turn)
        self._begun[principal] += 1
        return True

    async def wait(self, principal: str) -> None:
        """Wait for the turn in which a request can be begun."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(principal, turn)
        try:
            await turn
        finally:
            self._waiting.discard(principal, turn)

    def _turn(self) -> None:
        self._begun.clear()
        while (found := self._waiting.take(self._may)) is not None:
            principal, turn = found
            if not turn.done():
                self._begun[principal] += 1
                turn.set_result(None)
        if self._begun:
            asyncio.get_running_loop().call_soon(self._turn)

    def _may(self, principal: str) -> bool:
        return self._begun[principal] < BEGUN_PER_TURN


class PrincipalRequests:
    """The requests of one principal between their arrival and their answers."""

    def __init__(self, principal: str, shares: Shares) -> None:
        self._principal = principal
        self._shares = shares
        self._count = 0

    def add(self, count: int, request_id: Id) -> None:
        """Count more requests. Raises Rejected, and counts none, if that is more than the share."""
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
