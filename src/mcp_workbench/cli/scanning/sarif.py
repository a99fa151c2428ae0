"""Findings of the scanner in SARIF 2.1.0, the format that code scanning services read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from mcp_workbench import __version__
from mcp_workbench.workbench.trust.scanning.rules import WHY

if TYPE_CHECKING:
    from mcp_workbench.cli.scanning.scan_report import ScannedServer, ScanReport, ToolFinding

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: Final = {"hard": "error", "soft": "warning"}


def as_sarif(report: ScanReport, path: str) -> dict[str, Any]:
    """Return the report as a SARIF log; `path` is the configuration file that all results are located in."""
    codes = list(WHY)
    location = Path(path).as_uri() if Path(path).is_absolute() else quote(path)
    results = [
        _result(server, finding, location, codes) for server in report.servers for finding in server.findings
    ]
    notes = [{"level": "error", "message": {"text": f"not scanned: {one}"}} for one in report.not_scanned]
    rules = [
        {
            "id": code,
            "shortDescription": {"text": f"The tool {why}."},
            "help": {"text": "docs/scan.md of MCP Workbench explains every finding."},
        }
        for code, why in WHY.items()
    ]
    run = {
        "tool": {"driver": {"name": "mcp-workbench scan", "version": __version__, "rules": rules}},
        "invocations": [{"executionSuccessful": not notes, "toolExecutionNotifications": notes}],
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(server: ScannedServer, finding: ToolFinding, location: str, codes: list[str]) -> dict[str, Any]:
    subject = f"{server.name}/{finding.tool}" if finding.tool else server.name
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": LEVELS[finding.severity],
        "message": {"text": f"{subject} {finding.why}: {finding.words}"},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": location}, "region": {"startLine": 1}},
                "logicalLocations": [
                    {
                        "name": finding.tool or server.server,
                        "fullyQualifiedName": f"{subject}/{finding.place}",
                    }
                ],
            }
        ],
        "partialFingerprints": {"finding/v1": f"{subject}/{finding.place}/{finding.code}"},
    }
