"""`mcp-workbench check`: validates the configuration, and with `--connect` starts its servers."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.cli.display import Display
from mcp_workbench.cli.servers import attempt, count, load_or_report, rows_of
from mcp_workbench.cli.terminal import print_json
from mcp_workbench.serve.signals import cancel_on_request_to_end
from mcp_workbench.storage.directories import cache_directory
from mcp_workbench.workbench.registry import build

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.cli.servers import Rows
    from mcp_workbench.config import LoadedConfig


def run(option: str | None, *, connect: bool, as_json: bool, log_level: str, log_format: str) -> int:
    """Check the configuration and print the result. Return 0, 1 (a server failed) or 2 (a bad file)."""
    loaded = load_or_report(option, as_json=as_json, log_level=log_level, log_format=log_format)
    if loaded is None:
        return 2
    rows = rows_of(loaded)
    if as_json:
        if connect:
            asyncio.run(_connect(loaded, rows, lambda: None))
        servers = [msgspec.to_builtins(row) for row in rows.values()]
        print_json(
            {"file": loaded.path, "valid": True, "warnings": list(loaded.warnings), "servers": servers}
        )
    else:
        toolboxes = count(len(loaded.config.toolboxes), "toolbox", "toolboxes")
        heading = f"{loaded.path} is valid: {toolboxes}, {count(len(rows), 'server', 'servers')}"
        with Display(heading, loaded.warnings, list(rows.values()), connecting=connect) as display:
            if connect:
                asyncio.run(_connect(loaded, rows, display.update))
    return 1 if any(row.state == "failed" for row in rows.values()) else 0


async def _connect(loaded: LoadedConfig, rows: Rows, on_change: Callable[[], None]) -> None:
    """Start all servers at the same time, fill in their rows, and stop them."""
    cancel_on_request_to_end()
    workbench = build(loaded, environ=os.environ, cache=cache_directory(os.environ))
    try:
        toolbox_servers = workbench.toolbox_servers.items()
        await asyncio.gather(
            *(attempt(toolbox_server, rows[origin], on_change) for origin, toolbox_server in toolbox_servers)
        )
    finally:
        await workbench.close()
