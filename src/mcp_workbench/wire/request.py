"""A request of ours while it is in flight: how long it may take, and who is told how it ended."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from math import inf
from typing import TYPE_CHECKING, Protocol

import msgspec

from mcp_workbench.errors import RequestTimeout

if TYPE_CHECKING:
    from mcp_workbench.errors import WireError


class InFlightCount(Protocol):
    """Counts the requests in flight of whoever they are made for. Requests on hold are not counted."""

    def enter(self) -> None:
        """Count one more."""

    def leave(self) -> None:
        """Count one less."""


class Request(msgspec.Struct, kw_only=True, eq=False):
    """A request of ours in flight, and its times. Of its two ends exactly one comes, once.

    The time runs from before the write, so that a peer which has stopped reading is noticed too.

    A struct because there is one for each call, and a struct is made without a call of `__init__`. It is the
    type checker who sees that subclasses have what is abstract here.
    """

    idle: float = 0.0
    """Seconds that it may take without a sign of life."""
    total: float = 0.0
    """Seconds that it may take with such signs; not less than `idle`."""

    tally: InFlightCount | None = None
    """Where it is counted while it is in flight, if anywhere."""

    lacks_watched: bool = False
    """Whether its answer is known to have none of the watched byte strings in it, see `LineSplitter`."""

    # Set by the peer that sends it.
    id: int = 0
    started: float = 0.0
    heard: float = 0.0
    held_at: float | None = None
    """Since when its time does not count, if it does not: the other side waits for something itself."""
    held_for: float = 0.0
    """Seconds that did not count because of that, until then."""

    @abstractmethod
    def succeed(self, result: msgspec.Raw) -> None:
        """It was answered."""

    @abstractmethod
    def fail(self, error: WireError) -> None:
        """It will not be answered, or was answered with an error."""

    @property
    def end(self) -> float:
        """When it times out, if nothing is heard until then."""
        if self.held_at is not None:
            return inf
        return min(self.heard + self.idle, self.started + self.total)

    def touch(self) -> None:
        """Something was heard about this request: its idle time starts anew."""
        # The peer's timer is left where it is and looks at the new end when it fires: progress may come in
        # floods.
        self.heard = asyncio.get_running_loop().time()

    def timeout(self) -> RequestTimeout:
        """What is wrong when that time has come."""
        if self.heard + self.idle <= self.started + self.total:
            return RequestTimeout(self.idle, capped=False)
        return RequestTimeout(self.total, capped=True)


class AwaitedRequest(Request):
    """A request whose answer can be awaited."""

    answer: asyncio.Future[msgspec.Raw]

    def succeed(self, result: msgspec.Raw) -> None:
        """Ends the wait, unless it has ended already."""
        if not self.answer.done():
            self.answer.set_result(result)

    def fail(self, error: WireError) -> None:
        """Ends the wait, unless it has ended already."""
        if not self.answer.done():
            self.answer.set_exception(error)

    def drop(self) -> None:
        """Nobody waits for the answer any more."""
        if not self.answer.cancel() and not self.answer.cancelled():
            self.answer.exception()  # seen, or asyncio would complain that it never was
