"""The way to one server, for one life of it: what a server's owner holds, whatever is at the other end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mcp_workbench.downstream.connection import Channel

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence
    from typing import Self

    from mcp_workbench.downstream.connection import Connection


class Link(Channel, Protocol):
    """As a context manager it is sure to be taken down."""

    closed: asyncio.Future[str]
    """Done, with what happened, when the server can no longer be talked to."""
    parting: asyncio.Future[None]
    """Done at the first sign of that: nothing new should be sent, but answers may still come."""

    @property
    def last_words(self) -> Sequence[str]:
        """What the server has said last beside the protocol, masked."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exception: object) -> None: ...

    async def open(self, connection: Connection) -> None:
        """Makes the way, for a conversation that is yet to begin. Raises StartError."""

    def kill(self) -> None:
        """Ends what there is at the other end of ours, without asking."""
