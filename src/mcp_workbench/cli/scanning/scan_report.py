"""What a scan of several servers found, as commands print it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_workbench.config import Origin
    from mcp_workbench.workbench.trust.scanning.rules import Severity
    from mcp_workbench.workbench.trust.scanning.scanner import ScanFinding


class ToolFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A finding in one tool, or in the instructions of the server."""

    severity: Severity
    code: str
    why: str
    place: str
    words: str
    tool: str = ""
    """Name of the tool; empty for the instructions of the server."""


class ScannedServer(msgspec.Struct, frozen=True):
    """A server that was scanned, and what was found."""

    toolbox: str
    server: str
    tools: int
    """Number of its tools that were scanned."""
    findings: list[ToolFinding]

    @property
    def name(self) -> str:
        """The names of the toolbox and the server, as commands take them."""
        return f"{self.toolbox}/{self.server}"

    @classmethod
    def of(cls, origin: Origin, tools: int, found: Mapping[str, Sequence[ScanFinding]]) -> ScannedServer:
        """Return the report on one server, with the hard findings first."""
        findings = [
            ToolFinding(one.severity, one.code, one.why, one.place, one.words, tool)
            for tool, some in found.items()
            for one in some
        ]
        return cls(*origin, tools, sorted(findings, key=lambda one: one.severity))


class ScanReport(msgspec.Struct):
    """What was found in all servers, and which could not be scanned."""

    servers: list[ScannedServer] = []
    not_scanned: list[str] = msgspec.field(name="notScanned", default_factory=list)
    """Servers that could not be scanned, each with the reason."""

    @property
    def hard(self) -> int:
        """Number of hard findings in all servers."""
        return self._count("hard")

    @property
    def soft(self) -> int:
        """Number of soft findings in all servers."""
        return self._count("soft")

    def _count(self, severity: Severity) -> int:
        return sum(one.severity == severity for server in self.servers for one in server.findings)
