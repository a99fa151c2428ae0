"""How many requests of one principal are in flight, by all of its sessions and connections together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.downstream.shares import RETRY_SECONDS
from mcp_workbench.errors import ShareUsedUp
from mcp_workbench.protocol import INTERNAL_ERROR
from mcp_workbench.surface.http.visit import Rejected

if TYPE_CHECKING:
    from mcp_workbench.downstream.shares import Shares
    from mcp_workbench.wire.message import Id


class InFlight:
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
