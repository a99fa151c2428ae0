"""Runs `mcp-workbench doctor`: looks at everything, starts servers if asked to, and prints the findings."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console

from mcp_workbench.cli.doctor.report import Report
from mcp_workbench.cli.inspection.check import connect
from mcp_workbench.cli.inspection.rows import rows_of
from mcp_workbench.cli.terminal import print_json
from mcp_workbench.config import locate
from mcp_workbench.serve.logs import set_up
from mcp_workbench.setup.diagnosis.diagnose import diagnose
from mcp_workbench.setup.diagnosis.examined import examine
from mcp_workbench.setup.diagnosis.findings import SEVERITIES, Area, Finding

if TYPE_CHECKING:
    import argparse

    from mcp_workbench.cli.inspection.rows import Row, Rows
    from mcp_workbench.setup.diagnosis.diagnose import Diagnosis
    from mcp_workbench.setup.diagnosis.examined import Examined


def run(options: argparse.Namespace) -> int:
    """Print all findings. Return 0, or 1 if one of them is a problem."""
    log_handler = set_up(options.log_level or "off", options.log_format or "text")
    examined = examine(locate(options.config, os.environ), options.config, os.environ)
    log_handler.hide(examined.loaded.secrets)
    console = Console(highlight=False)
    # First, because the catalogue has their tools then.
    rows = _connect(examined, console, quietly=options.json) if options.connect else {}
    diagnosis = asyncio.run(diagnose(examined, _working_directory()))
    if options.connect:
        area = _servers(examined, rows, diagnosis)
        diagnosis = msgspec.structs.replace(diagnosis, areas=(*diagnosis.areas, area))
    if options.json:
        print_json(as_json(examined, diagnosis))
    else:
        Report(examined, diagnosis, console, has_connected=options.connect).print()
    return 1 if diagnosis.count("problem") else 0


def as_json(examined: Examined, diagnosis: Diagnosis) -> dict[str, object]:
    """Return the findings for scripts. The members of this object are documented, and stay."""
    return {
        "file": examined.path,
        "versions": msgspec.to_builtins(diagnosis.versions),
        "counts": {severity: diagnosis.count(severity) for severity in SEVERITIES},
        "findings": [
            {"area": area.name, **msgspec.to_builtins(finding)}
            for area in diagnosis.areas
            for finding in area.findings
        ],
        "areas": [
            {"area": area.name, "summary": area.summary, "findings": len(area.findings)}
            for area in diagnosis.areas
        ],
    }


def _connect(examined: Examined, console: Console, *, quietly: bool) -> Rows:
    """Start the servers that have no mistake, and return what has become of each."""
    usable = examined.servers
    rows = {origin: row for origin, row in rows_of(examined.loaded).items() if origin in usable}

    def progress() -> str:
        done = sum(row.state in ("ready", "failed") for row in rows.values())
        return f"Starting the servers: {done} of {len(rows)}"

    if not rows:
        return rows
    if quietly or not console.is_terminal:
        asyncio.run(connect(examined.loaded, rows, lambda: None))
        return rows
    with console.status(progress()) as status:
        asyncio.run(connect(examined.loaded, rows, lambda: status.update(progress())))
    return rows


def _servers(examined: Examined, rows: Rows, diagnosis: Diagnosis) -> Area:
    """Return what has become of the servers that were started."""
    # What was found without starting a server says more.
    known = {(finding.code, server) for finding in diagnosis.findings for server in finding.servers}
    failed = [row for row in rows.values() if row.state == "failed"]
    findings = tuple(_failure(examined, row) for row in failed if (row.cause, row.name) not in known)
    started = len(rows) - len(failed)
    return Area("servers", f"{started} of {len(rows)} servers started", findings)


def _failure(examined: Examined, row: Row) -> Finding:
    """Return the finding for a server that could not be started, with the cause as its code."""
    line = examined.line((row.toolbox, row.server))
    command = examined.command("login", row.name) if row.cause == "login-required" else examined.edit(line)
    return Finding(
        code=row.cause or "failed",
        severity="problem",
        message=f"{row.name} cannot be used: {row.error}.",
        servers=(row.name,),
        file=examined.path,
        line=line,
        remedy=row.hint or "",
        command=command,
    )


def _working_directory() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return os.sep  # it was deleted since
