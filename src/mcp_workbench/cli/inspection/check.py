"""`mcp-workbench check`: validates the configuration, and with `--connect` starts its servers."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.cli.configuration import load_or_report
from mcp_workbench.cli.inspection.display import Display
from mcp_workbench.cli.inspection.rows import attempt, count, rows_of
from mcp_workbench.cli.terminal import print_json
from mcp_workbench.serve.signals import cancel_on_request_to_end
from mcp_workbench.storage.directories import cache_directory
from mcp_workbench.workbench.registry import build

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from mcp_workbench.cli.inspection.rows import Rows
    from mcp_workbench.config import LoadedConfig


def run(options: argparse.Namespace) -> int:
    """Check the configuration and print the result. Return 0, 1 (a server failed) or 2 (a bad file)."""
    loaded = load_or_report(options, as_json=options.json)
    if loaded is None:
        return 2
    rows = rows_of(loaded)
    if options.json:
        if options.connect:
            asyncio.run(_connect(loaded, rows, lambda: None))
        servers = [msgspec.to_builtins(row) for row in rows.values()]
        print_json(
            {"file": loaded.path, "valid": True, "warnings": list(loaded.warnings), "servers": servers}
        )
    else:
        toolboxes = count(len(loaded.config.toolboxes), "toolbox", "toolboxes")
        heading = f"{loaded.path} is valid: {toolboxes}, {count(len(rows), 'server', 'servers')}"
        with Display(heading, loaded.warnings, list(rows.values()), connecting=options.connect) as display:
            if options.connect:
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
