"""A request of ours while it is in flight: how long it may take, and who is told how it ended."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.errors import RequestTimeout

if TYPE_CHECKING:
    from mcp_workbench.errors import WireError


class Request(ABC):
    """A request of ours in flight, and its times. How it ends is told once, to `settle`.

    The time runs from before the write, so that a peer which has stopped reading is noticed too.
    """

    __slots__ = ("end", "id", "idle", "idle_end", "total", "total_end")

    # Set by the peer that sends it.
    id: int
    idle: float
    """Seconds that it may take without a sign of life."""
    idle_end: float
    total: float
    total_end: float
    end: float
    """When it times out, if nothing is heard until then."""

    @abstractmethod
    def settle(self, outcome: msgspec.Raw | WireError) -> None:
        """It has ended, with the result of the answer or with what went wrong."""

    def touch(self) -> None:
        """Something was heard about this request: its idle time starts anew."""
        # The peer's timer is left where it is and looks at the new end when it fires: progress may come in
        # floods.
        self.idle_end = asyncio.get_running_loop().time() + self.idle
        self.end = min(self.idle_end, self.total_end)

    def timeout(self) -> RequestTimeout:
        """What is wrong when that time has come."""
        if self.idle_end <= self.total_end:
            return RequestTimeout(self.idle, capped=False)
        return RequestTimeout(self.total, capped=True)


class Question(Request):
    """A request whose answer can be awaited."""

    __slots__ = ("answer",)

    def __init__(self) -> None:
        self.answer: asyncio.Future[msgspec.Raw] = asyncio.get_running_loop().create_future()

    def settle(self, outcome: msgspec.Raw | WireError) -> None:
        """Ends the wait, unless it has ended already."""
        if self.answer.done():
            return
        if isinstance(outcome, msgspec.Raw):
            self.answer.set_result(outcome)
        else:
            self.answer.set_exception(outcome)

    def drop(self) -> None:
        """Nobody waits for the answer any more."""
        if not self.answer.cancel() and not self.answer.cancelled():
            self.answer.exception()  # seen, or asyncio would complain that it never was
