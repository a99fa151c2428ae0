"""Where messages to a client are written: to one stream, or to one stream for each request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.wire.message import Id, Outgoing

    Write = Callable[[Outgoing], None]


class ClientOutput(Protocol):
    """Writes messages to one client."""

    @property
    def write(self) -> Write:
        """Write an answer, or a message that belongs to no request."""

    def about(self, request_id: Id) -> Write:
        """Return the function that writes messages about a request in flight."""

    def drop(self, request_id: Id) -> None:
        """Take note that a cancelled request gets no answer."""


class SingleOutput:
    """Writes all messages to one stream, as over stdio."""

    def __init__(self, write: Write) -> None:
        self.write = write

    def about(self, request_id: Id) -> Write:  # noqa: ARG002 - all requests share one stream
        """Return the function that writes to the one stream."""
        return self.write

    def drop(self, request_id: Id) -> None:
        """Do nothing: the stream stays open without the answer."""
