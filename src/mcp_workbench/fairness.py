"""Fair use of what all principals share: limits for each, and queues in which principals take turns.

Owns the current limits, and a queue and a semaphore that are fair between principals. What is in use is
counted where it is used. Requests without a principal (stdio, or HTTP without authentication) have no limit
of their own: they share with no one.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from mcp_workbench.config.model.shares import SharesConfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable

T = TypeVar("T", bound="Hashable")

RETRY_SECONDS = 5
"""Seconds after which a principal that is over its share is told to try again."""


class Shares:
    """The current limits for each principal. A reload replaces them."""

    def __init__(self) -> None:
        self.limits = SharesConfig()

    def adopt(self, config: SharesConfig) -> None:
        """Apply new limits from now on."""
        self.limits = config


class FairQueue(Generic[T]):
    """Waiting items by principal. Principals take turns; the items of one principal keep their order."""

    def __init__(self) -> None:
        self._items: dict[str, OrderedDict[T, None]] = {}
        """Waiting items by principal. The order of the principals is the order of their turns."""

    def __contains__(self, principal: str) -> bool:
        return principal in self._items

    def __bool__(self) -> bool:
        return bool(self._items)

    def add(self, principal: str, item: T) -> None:
        """Put an item at the end of its principal's queue."""
        self._items.setdefault(principal, OrderedDict())[item] = None

    def discard(self, principal: str, item: T) -> None:
        """Remove an item, if it still waits."""
        if (items := self._items.get(principal)) is not None:
            items.pop(item, None)
            if not items:
                del self._items[principal]

    def has_next(self, may: Callable[[str], bool]) -> bool:
        """Whether an item waits whose principal may have a turn."""
        return any(map(may, self._items))

    def take(self, may: Callable[[str], bool]) -> tuple[str, T] | None:
        """Remove and return the next item of the first principal that may have a turn."""
        principal = next(filter(may, self._items), None)
        if principal is None:
            return None
        items = self._items.pop(principal)
        item, _ = items.popitem(last=False)
        if items:
            self._items[principal] = items  # behind the others
        return principal, item


class FairSemaphore:
    """A semaphore that is fair between principals. Each principal may hold a limited share of the places."""

    def __init__(self, places: int, share: Callable[[], int]) -> None:
        self._free = places
        self._share = share
        """Returns the maximum number of places for one principal."""
        self._taken: Counter[str] = Counter()
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()

    @asynccontextmanager
    async def place(self, principal: str) -> AsyncIterator[None]:
        """Hold a place for the block, after waiting for one."""
        await self.enter(principal)
        try:
            yield
        finally:
            self.leave(principal)

    async def enter(self, principal: str) -> None:
        """Wait for a place, and take it. The caller calls `leave` afterwards."""
        if self._free and self._may(principal):
            self._take(principal)
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.add(principal, turn)
        try:
            await turn
        except asyncio.CancelledError:
            self._waiting.discard(principal, turn)
            if not turn.cancelled():
                self.leave(principal)  # its turn came in the same moment
            raise

    def leave(self, principal: str) -> None:
        """Give a place back, and pass it on to the next in the queue."""
        self._free += 1
        self._taken[principal] -= 1
        if not self._taken[principal]:
            del self._taken[principal]
        while self._free and (found := self._waiting.take(self._may)) is not None:
            following, turn = found
            if not turn.done():
                self._take(following)
                turn.set_result(None)

    def _take(self, principal: str) -> None:
        self._free -= 1
        self._taken[principal] += 1

    def _may(self, principal: str) -> bool:
        return not principal or self._taken[principal] < self._share()
