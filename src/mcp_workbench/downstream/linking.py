"""Which way leads to a configured server: the one place where that makes a difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.downstream.program import ProgramLink

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx2

    from mcp_workbench.config import Secrets, ServerConfig
    from mcp_workbench.downstream.link import Link
    from mcp_workbench.wire.guard import Guard


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
