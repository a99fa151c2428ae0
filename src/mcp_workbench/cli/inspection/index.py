"""`mcp-workbench index`: lists the tools of all servers once, so that searches find them from then on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.cli.configuration import load_or_report
from mcp_workbench.cli.inspection.check import connect
from mcp_workbench.cli.inspection.display import Display
from mcp_workbench.cli.inspection.rows import choose_rows
from mcp_workbench.cli.terminal import complain, print_json, say
from mcp_workbench.workbench.text.counting import count

if TYPE_CHECKING:
    import argparse

    from mcp_workbench.cli.inspection.rows import Rows
    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.storage.catalogue import Catalogue


def run(options: argparse.Namespace) -> int:
    """Fill the catalogue and print the result.

    Return 0, 1 (a server failed) or 2 (a bad file, an unknown name).
    """
    loaded = load_or_report(options, as_json=options.json)
    if loaded is None:
        return 2
    rows = choose_rows(loaded, options.names)
    if rows is None:
        return 2
    catalogue = list_tools(loaded, rows, quietly=options.json)
    if options.json:
        _print_json(loaded, rows, catalogue)
    else:
        say(f"\n{_summary(rows, catalogue)}")
        if catalogue.trouble is not None:
            complain(f"the catalogue cannot be written: {catalogue.trouble}")
    has_failed = any(row.state == "failed" for row in rows.values())
    return 1 if has_failed or catalogue.trouble is not None else 0


def list_tools(loaded: LoadedConfig, rows: Rows, *, quietly: bool) -> Catalogue:
    """List the tools of these servers into the catalogue, and show the servers unless `quietly`."""
    if quietly:
        return asyncio.run(connect(loaded, rows, lambda: None))
    heading = f"Listing the tools of {count(len(rows), 'server', 'servers')}"
    with Display(heading, loaded.warnings, list(rows.values())) as display:
        return asyncio.run(connect(loaded, rows, display.update))


def _summary(rows: Rows, catalogue: Catalogue) -> str:
    states = [row.state for row in rows.values()]
    listed = f"{count(states.count('ready'), 'server', 'servers')} listed"
    tools = count(sum(row.tools or 0 for row in rows.values()), "tool", "tools")
    others = [f"{states.count(state)} {state}" for state in ("failed", "disabled") if state in states]
    kept = f", kept in {catalogue.directory}" if catalogue.trouble is None else ""
    return f"{', '.join([listed, *others])}: {tools}{kept}"


def _print_json(loaded: LoadedConfig, rows: Rows, catalogue: Catalogue) -> None:
    trouble = {} if catalogue.trouble is None else {"error": catalogue.trouble}
    print_json(
        {
            "file": loaded.path,
            "valid": True,
            "warnings": list(loaded.warnings),
            "catalogue": {"directory": catalogue.directory, **trouble},
            "servers": [msgspec.to_builtins(row) for row in rows.values()],
        }
    )
