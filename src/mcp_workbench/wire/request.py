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

    __slots__ = ("_idle", "_idle_end", "_total", "_total_end", "id")

    @abstractmethod
    def settle(self, outcome: msgspec.Raw | WireError) -> None:
        """It has ended, with the result of the answer or with what went wrong."""

    def begin(self, request_id: int, now: float, idle: float, total: float) -> None:
        """It is about to be sent; what it may take, counted from now, is in seconds."""
        self.id = request_id
        self._idle = idle
        self._idle_end = now + idle
        self._total = total
        self._total_end = now + total

    def touch(self) -> None:
        """Something was heard about this request: its idle time starts anew."""
        # The peer's timer is left where it is and looks at the new end when it fires: progress may come in
        # floods.
        self._idle_end = asyncio.get_running_loop().time() + self._idle

    @property
    def end(self) -> float:
        """When it times out, if nothing is heard until then."""
        return min(self._idle_end, self._total_end)

    def timeout(self) -> RequestTimeout:
        """What is wrong when that time has come."""
        if self._idle_end <= self._total_end:
            return RequestTimeout(self._idle, capped=False)
        return RequestTimeout(self._total, capped=True)


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
