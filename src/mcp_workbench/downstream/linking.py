"""Which way leads to a configured server: the one place where that makes a difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.downstream.program import ProgramLink

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.downstream.link import Link
    from mcp_workbench.wire.guard import Guard


def link_to(
    name: str,
    config: ServerConfig,
    environ: Mapping[str, str],
    guard: Guard,
    *,
    mask: Callable[[str], str],
    on_stderr: Callable[[str], None],
) -> Link:
    """The way to the server of that name. Nothing is started or connected yet."""
    if config.url is None:
        return ProgramLink(name, config, environ, guard, mask=mask, on_stderr=on_stderr)
    from mcp_workbench.downstream.remote.link import RemoteLink  # noqa: PLC0415 - few have such servers

    return RemoteLink(name, config, None, mask)
