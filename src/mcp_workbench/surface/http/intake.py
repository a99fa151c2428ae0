"""How many requests of one principal are begun in one turn of the event loop, so that others get theirs soon.

A thousand requests that arrive at once take 100 ms to begin. Others would wait for all of them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

from mcp_workbench.downstream.shares import FairQueue

BEGUN_PER_TURN: Final = 50
"""Requests of one principal that are begun in one turn of the loop, in about 5 ms."""


class Intake:
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
