"""`mcp-workbench scan`: looks for attacks in the descriptions and instructions of all servers."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.cli.configuration import load_or_report
from mcp_workbench.cli.inspection.index import list_tools
from mcp_workbench.cli.inspection.rows import choose_rows
from mcp_workbench.cli.scanning.scan_display import show
from mcp_workbench.cli.scanning.scan_report import ScannedServer, ScanReport
from mcp_workbench.cli.terminal import complain, print_json
from mcp_workbench.serve.signals import cancel_on_request_to_end
from mcp_workbench.storage.directories import cache_directory
from mcp_workbench.workbench.filters import compile_filters
from mcp_workbench.workbench.registry import build
from mcp_workbench.workbench.trust.scanning.scanner import scan_server, scan_together
from mcp_workbench.workbench.trust.scanning.texts import texts_of

if TYPE_CHECKING:
    import argparse

    from mcp_workbench.cli.inspection.rows import Rows
    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.workbench.configured_server import ConfiguredServer


def run(options: argparse.Namespace) -> int:
    """Scan the servers and print the findings.

    Return 0, 1 (a hard finding, or a server that could not be scanned) or 2 (a bad file, an unknown name).
    """
    is_for_programs = options.json or options.sarif
    loaded = load_or_report(options, as_json=options.json)
    if loaded is None:
        return 2
    rows = choose_rows(loaded, options.names)
    if rows is None:
        return 2
    if options.connect:
        catalogue = list_tools(loaded, rows, quietly=is_for_programs)
        if catalogue.trouble is not None:
            complain(f"the catalogue cannot be written: {catalogue.trouble}")
    report = asyncio.run(_scan(loaded, rows))
    if options.json:
        print_json({"file": loaded.path, **msgspec.to_builtins(report)})
    elif options.sarif:
        from mcp_workbench.cli.scanning.sarif import as_sarif

        print_json(as_sarif(report, loaded.path))
    else:
        show(report, has_connected=options.connect)
    return 1 if report.hard or report.not_scanned else 0


async def _scan(loaded: LoadedConfig, rows: Rows) -> ScanReport:
    """Scan what the catalogue knows of these servers; what servers of other rows list is only compared."""
    cancel_on_request_to_end()
    workbench = build(loaded, environ=os.environ, cache=cache_directory(os.environ))
    try:
        listings = {
            origin: listing
            for origin, toolbox_server in workbench.toolbox_servers.items()
            if (listing := _listing(toolbox_server)) is not None
        }
    finally:
        await workbench.close()
    together = scan_together({origin: tools for origin, (tools, _) in listings.items()})
    report = ScanReport()
    for origin, row in rows.items():
        if origin in listings:
            tools, instructions = listings[origin]
            found = scan_server(tools, instructions)
            for tool, findings in together.get(origin, {}).items():
                found[tool] = found.get(tool, []) + findings
            report.servers.append(ScannedServer.of(origin, len(tools), found))
        elif row.state == "failed":
            report.not_scanned.append(f"{row.name}: {row.error}")
        elif row.state != "disabled":
            report.not_scanned.append(f"{row.name}: its tools were never listed")
    return report


def _listing(toolbox_server: ConfiguredServer) -> tuple[list[msgspec.Raw], str] | None:
    """Return the tools that the filters of a server show, and its instructions; None if it was never listed.

    Tools that are held are among them, because a person has to see what is wrong with them.
    """
    record = toolbox_server.server.recalled()
    if record is None:
        return None
    is_shown = compile_filters(toolbox_server.server.config.tool_filters)
    return [tool for tool in record.tools if is_shown(texts_of(tool).name)], record.instructions
