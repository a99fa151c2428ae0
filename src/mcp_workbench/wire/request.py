"""A request in flight: its timeout, and what happens when it ends."""

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
    """Counts requests in flight, such as those of one principal. Requests on hold are not counted."""

    def enter(self) -> None:
        """Count one more request in flight."""

    def leave(self) -> None:
        """Count one request in flight less."""


class Request(msgspec.Struct, kw_only=True, eq=False):
    """A request in flight with its timeouts. Either `succeed` or `fail` is called, once.

    The time runs from before the write, so that a peer that has stopped reading is noticed too.

    A struct because there is one for each call, and a struct is made without a call of `__init__`. Only
    the type checker makes sure that subclasses implement the abstract methods.
    """

    idle: float = 0.0
    """Seconds that the request may take without progress."""
    total: float = 0.0
    """Seconds that the request may take with progress; not less than `idle`."""

    tally: InFlightCount | None = None
    """The count that includes the request while it is in flight, if any."""

    lacks_watched: bool = False
    """Whether the response is known to contain none of the watched byte strings, see `LineSplitter`."""

    # Set by the peer that sends the request.
    id: int = 0
    started: float = 0.0
    heard: float = 0.0
    held_at: float | None = None
    """Time since when the request is on hold, because the remote end waits for an answer."""
    held_for: float = 0.0
    """Seconds that the request was on hold before."""

    @abstractmethod
    def succeed(self, result: msgspec.Raw) -> None:
        """End the request with its result."""

    @abstractmethod
    def fail(self, error: WireError) -> None:
        """End the request with an error: a JSON-RPC error, or no response at all."""

    @property
    def end(self) -> float:
        """Time at which the request times out; infinite while it is on hold."""
        if self.held_at is not None:
            return inf
        return min(self.heard + self.idle, self.started + self.total)

    def touch(self) -> None:
        """Restart the idle timeout, because there was progress."""
        # The peer's timer is not moved, but looks at the new end when it fires: there may be thousands of
        # progress notifications.
        self.heard = asyncio.get_running_loop().time()

    def timeout(self) -> RequestTimeout:
        """Return the error for the timeout that has passed."""
        if self.heard + self.idle <= self.started + self.total:
            return RequestTimeout(self.idle, capped=False)
        return RequestTimeout(self.total, capped=True)


class AwaitedRequest(Request):
    """A request whose response can be awaited."""

    answer: asyncio.Future[msgspec.Raw]

    def succeed(self, result: msgspec.Raw) -> None:
        """Set the result, unless the request has ended already."""
        if not self.answer.done():
            self.answer.set_result(result)

    def fail(self, error: WireError) -> None:
        """Set the error, unless the request has ended already."""
        if not self.answer.done():
            self.answer.set_exception(error)

    def drop(self) -> None:
        """Cancel the future, because its result is not awaited any more."""
        if not self.answer.cancel() and not self.answer.cancelled():
            self.answer.exception()  # retrieved, or asyncio would log that it never was
