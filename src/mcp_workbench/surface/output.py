"""Where a client is told things: one way for all of them, or one for each of its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.wire.message import Id, Outgoing

    Write = Callable[[Outgoing], None]


class ClientOutput(Protocol):
    """Takes lines for one client."""

    @property
    def write(self) -> Write:
        """Takes an answer, or what belongs to no request."""

    def about(self, request_id: Id) -> Write:
        """Takes what belongs to a request of the client's that is in flight."""

    def drop(self, request_id: Id) -> None:
        """A request of the client's gets no answer."""


class SingleOutput:
    """One way for everything."""

    def __init__(self, write: Write) -> None:
        self.write = write

    def about(self, request_id: Id) -> Write:  # noqa: ARG002 - it makes no difference
        """The same as for everything else."""
        return self.write

    def drop(self, request_id: Id) -> None:
        """Nobody waits for an answer to what was cancelled."""
