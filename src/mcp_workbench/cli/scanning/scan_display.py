"""The findings of a scan for people: a line for each server, and under it what was found."""

from __future__ import annotations

import sys
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final

from mcp_workbench.cli.terminal import complain, say
from mcp_workbench.cli.wrapping import wrap
from mcp_workbench.workbench.text.counting import count
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_workbench.cli.scanning.scan_report import ScannedServer, ScanReport, ToolFinding

NOT_LISTED: Final = "List their tools with mcp-workbench scan --connect."
NOT_STARTED: Final = "mcp-workbench check --connect says how to put that right."
INDENT: Final = "  "


def show(report: ScanReport, *, has_connected: bool) -> None:
    """Print what was found, and clearly what could not be scanned."""
    columns = get_terminal_size().columns if sys.stdout.isatty() else None
    for server in report.servers:
        for line in _lines(server):
            for part in [line] if columns is None else wrap(line, columns, hanging=INDENT * 2):
                say(part)
    tools = count(sum(server.tools for server in report.servers), "tool", "tools")
    found = f"{count(report.hard, 'hard finding', 'hard findings')}, {count(report.soft, 'soft', 'soft')}"
    say(f"Scanned {count(len(report.servers), 'server', 'servers')}, {tools}: {found}")
    if report.not_scanned:
        remedy = NOT_STARTED if has_connected else NOT_LISTED
        complain("\n  ".join(["not scanned:", *map(show_name, report.not_scanned)]) + f"\n{remedy}")


def _lines(server: ScannedServer) -> Iterator[str]:
    tools = count(server.tools, "tool", "tools")
    yield f"{show_name(server.name)}: {tools}{'' if server.findings else ', no findings'}"
    for finding in server.findings:
        yield f"{INDENT}{finding.severity}  {_subject(finding)} {finding.why} [{finding.code}]"
        yield f"{INDENT * 3}{show_name(finding.place)}: {show_name(finding.words)}"


def _subject(finding: ToolFinding) -> str:
    return f"tool {show_name(finding.tool)}" if finding.tool else "what the server says about itself"
