"""The output to a client: one for all messages, or one for each of its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.wire.message import Id, Outgoing

    Write = Callable[[Outgoing], None]
    Respond = Callable[[Id, Outgoing, int | None], None]
    """Takes the id of a request, the line of the response, and the error code if it is an error."""


class ClientOutput(Protocol):
    """Writes messages to one client."""

    @property
    def write(self) -> Write:
        """Write a message that belongs to no request."""

    @property
    def respond(self) -> Respond | None:
        """Write the response to a request; None if `write` takes responses like all other messages."""

    def about(self, request_id: Id) -> Write:
        """Return a function that writes messages about a request in flight."""

    def drop(self, request_id: Id) -> None:
        """End a request without a response."""


class SingleOutput:
    """Writes all messages of a client to one stream, as stdio does."""

    respond = None

    def __init__(self, write: Write) -> None:
        self.write = write

    def about(self, request_id: Id) -> Write:  # noqa: ARG002 - all messages go to one stream
        """Return the only write function, whatever the request."""
        return self.write

    def drop(self, request_id: Id) -> None:
        """Do nothing: a cancelled request gets no response."""
