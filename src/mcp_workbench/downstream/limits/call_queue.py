"""The queue of calls on one connection, and how many of each principal are in flight there.

A principal has at most its share of the connection in flight, and never more than half of what the server
accepts: slow calls cannot be taken back, so there must be capacity left for others. Calls over the share
wait in the principal's own queue. Principals take turns.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from mcp_workbench.fairness import FairQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.fairness import Shares


class PrincipalCount:
    """The number of calls of one principal in flight on one connection. The peer updates it."""

    def __init__(self, on_leave: Callable[[], None]) -> None:
        self.count = 0
        self._on_leave = on_leave

    def enter(self) -> None:
        """Count a call that is sent, or that the server works on again."""
        self.count += 1

    def leave(self) -> None:
        """Stop counting a call that has ended, or for which the server waits for us."""
        self.count -= 1
        self._on_leave()


class CallQueue:
    """Calls that wait for their turn on one connection."""

    def __init__(self, shares: Shares, on_change: Callable[[], None]) -> None:
        self._shares = shares
        self._on_change = on_change
        """Called when a waiting call may have become the next."""
        self._tallies: dict[str, PrincipalCount] = {}
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()
        self.call_limit = sys.maxsize
        """Maximum number of calls that the server works on at once, for all principals."""
        self.granted = 0
        """Turns that were given and not yet used: a call is sent when its task runs."""

    @property
    def has_next(self) -> bool:
        """Whether a call waits that only needs capacity on the connection."""
        return self._waiting.has_next(self._is_within_share)

    def tally(self, principal: str) -> PrincipalCount:
        """Return the count of a principal's calls."""
        tally = self._tallies.get(principal)
        if tally is None:
            tally = self._tallies[principal] = PrincipalCount(self._on_leave)
        return tally

    def may_pass(self, principal: str) -> bool:
        """Whether a principal may send a call without waiting for other calls of its own."""
        return principal not in self._waiting and self._is_within_share(principal)

    async def wait(self, principal: str) -> None:
        """Wait for a turn, which has to be used at once."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.add(principal, turn)
        self._on_change()
        try:
            await turn
        except asyncio.CancelledError:
            self._waiting.discard(principal, turn)
            raise
        finally:
            if not turn.cancelled():
                self._count(principal, -1)
            # Later: by then the call is sent, or the next call can have its place.
            loop.call_soon(self._on_change)

    def grant(self, count: int) -> None:
        """Give turns to that many waiting calls, if there are as many."""
        while count > 0 and (found := self._waiting.take(self._is_within_share)) is not None:
            principal, turn = found
            if not turn.done():
                turn.set_result(None)
                self._count(principal, 1)
                count -= 1

    def release(self) -> None:
        """Give a turn to every waiting call, because the connection has ended."""
        while (found := self._waiting.take(lambda _: True)) is not None:
            principal, turn = found
            if not turn.done():
                turn.set_result(None)
                self._count(principal, 1)

    def _count(self, principal: str, number: int) -> None:
        self.granted += number
        if principal:
            self.tally(principal).count += number

    def _is_within_share(self, principal: str) -> bool:
        tally = self._tallies.get(principal)
        return tally is None or tally.count < min(self._shares.limits.calls, max(self.call_limit // 2, 1))

    def _on_leave(self) -> None:
        if self._waiting:
            self._on_change()
