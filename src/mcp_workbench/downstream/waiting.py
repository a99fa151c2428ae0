"""The room in which calls wait for a server that is not ready for them, and how many it holds."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcp_workbench.errors import Overloaded, size_of

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_CALLS = 10_000
MOST_BYTES = 64 * 1024 * 1024
"""Of the arguments of all that wait together; one call alone may have more."""


class WaitingRoom:
    """Calls that wait for one server."""

    def __init__(self) -> None:
        self.calls = 0
        self.bytes = 0

    @contextmanager
    def seat(self, size: int) -> Iterator[None]:
        """Keeps a place for a call with arguments of that size while it waits. Raises Overloaded."""
        if self.calls >= MOST_CALLS or (self.calls and self.bytes + size > MOST_BYTES):
            waiting = f"{self.calls:,} calls with {size_of(self.bytes)} of arguments"
            remedy = "Wait for some of their answers first"
            raise Overloaded(f"{waiting} wait for this server already, and no more are taken. {remedy}")
        self.calls += 1
        self.bytes += size
        try:
            yield
        finally:
            self.calls -= 1
            self.bytes -= size
