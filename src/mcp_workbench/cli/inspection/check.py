"""`mcp-workbench check`: validates the configuration, and with `--connect` starts its servers."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final

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

    from mcp_workbench.cli.inspection.rows import Row, Rows
    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.storage.catalogue import Catalogue
    from mcp_workbench.workbench.configured_server import ConfiguredServer

MAX_RUNNING_SERVERS: Final = 8
"""Servers that run at the same time: a hundred would be too many for some computers."""


def run(options: argparse.Namespace) -> int:
    """Check the configuration and print the result. Return 0, 1 (a server failed) or 2 (a bad file)."""
    loaded = load_or_report(options, as_json=options.json)
    if loaded is None:
        return 2
    rows = rows_of(loaded)
    if options.json:
        if options.connect:
            asyncio.run(connect(loaded, rows, lambda: None))
        servers = [msgspec.to_builtins(row) for row in rows.values()]
        print_json(
            {"file": loaded.path, "valid": True, "warnings": list(loaded.warnings), "servers": servers}
        )
    else:
        toolboxes = count(len(loaded.config.toolboxes), "toolbox", "toolboxes")
        heading = f"{loaded.path} is valid: {toolboxes}, {count(len(rows), 'server', 'servers')}"
        with Display(heading, loaded.warnings, list(rows.values()), connecting=options.connect) as display:
            if options.connect:
                asyncio.run(connect(loaded, rows, display.update))
    return 1 if any(row.state == "failed" for row in rows.values()) else 0


async def connect(loaded: LoadedConfig, rows: Rows, on_change: Callable[[], None]) -> Catalogue:
    """Start the servers of these rows, a few at a time, and fill in the rows.

    Each server is stopped when it has listed its tools. Return the catalogue, which has the lists.
    """
    cancel_on_request_to_end()
    workbench = build(loaded, environ=os.environ, cache=cache_directory(os.environ))
    turns = asyncio.Semaphore(MAX_RUNNING_SERVERS)

    async def try_one(toolbox_server: ConfiguredServer, row: Row) -> None:
        async with turns:
            await attempt(toolbox_server, row, on_change)
            await toolbox_server.server.close()

    try:
        chosen = [
            (toolbox_server, rows[origin])
            for origin, toolbox_server in workbench.toolbox_servers.items()
            if origin in rows
        ]
        await asyncio.gather(*(try_one(toolbox_server, row) for toolbox_server, row in chosen))
    finally:
        await workbench.close()
    return workbench.catalogue
