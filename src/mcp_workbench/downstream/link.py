"""The way to one server, for one life of it: what a server's owner holds, whatever is at the other end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mcp_workbench.downstream.connection import Channel
from mcp_workbench.downstream.program import ProgramLink

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    import httpx2

    from mcp_workbench.config import Secrets, ServerConfig
    from mcp_workbench.downstream.connection import Connection
    from mcp_workbench.wire.processes.guard import Guard


class Link(Channel, Protocol):
    """As a context manager it is sure to be taken down."""

    closed: asyncio.Future[str]
    """Done, with what happened, when the server can no longer be talked to."""
    closing: asyncio.Future[None]
    """Done at the first sign of that: nothing new should be sent, but answers may still come."""

    @property
    def last_stderr_lines(self) -> Sequence[str]:
        """What the server has said last beside the protocol, masked."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exception: object) -> None: ...

    async def open(self, connection: Connection) -> None:
        """Makes the way, for a conversation that is yet to begin. Raises StartError."""

    def kill(self) -> None:
        """Ends what there is at the other end of ours, without asking."""


def link_to(
    origin: tuple[str, str],
    config: ServerConfig,
    environ: Mapping[str, str],
    guard: Guard,
    *,
    mask: Callable[[str], str],
    hide: Callable[[Secrets], None],
    on_stderr: Callable[[str], None],
) -> Link:
    """The way to the server of that toolbox and name. Nothing is started or connected yet."""
    if config.url is None:
        return ProgramLink(origin[1], config, environ, guard, mask=mask, on_stderr=on_stderr)
    from mcp_workbench.downstream.remote.link import RemoteLink  # noqa: PLC0415 - few have such servers

    def authorize() -> httpx2.Auth | None:
        from mcp_workbench.downstream.oauth import authorization  # noqa: PLC0415 - loaded with HTTP by then

        return authorization(origin, config, environ, hide)

    return RemoteLink(origin[1], config, authorize, mask)
