"""A link to one server: a child process or HTTP, behind one interface."""

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
    """The transport of one connection, from its start to its end. The context manager closes it."""

    closed: asyncio.Future[str]
    """Done when the server can no longer be used. The result says what happened."""
    closing: asyncio.Future[None]
    """Done at the first sign of the end: nothing new should be sent, but responses may still arrive."""

    @property
    def exit_code(self) -> int | None:
        """The exit code of the process, negative for a signal; None if it runs, or for a remote server."""

    @property
    def last_stderr_lines(self) -> Sequence[str]:
        """The last lines of the server's stderr, with secrets masked; empty for a remote server."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exception: object) -> None: ...

    async def open(self, connection: Connection) -> None:
        """Start the process, or prepare the HTTP client. Raises StartError."""

    def kill(self) -> None:
        """End the process, or all requests, at once."""


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
    """Return the link to a server, given by toolbox and name. Nothing is started or connected yet."""
    if config.url is None:
        return ProgramLink(origin[1], config, environ, guard, mask=mask, on_stderr=on_stderr)
    from mcp_workbench.downstream.remote.link import RemoteLink  # noqa: PLC0415 - few configurations have remote servers

    def authorize() -> httpx2.Auth | None:
        from mcp_workbench.downstream.oauth import authorization  # noqa: PLC0415 - loaded with HTTP by then

        return authorization(origin, config, environ, hide)

    return RemoteLink(origin[1], config, authorize, mask)
