"""Prints the findings for people: problems first, in lines of the terminal's width, commands unbroken."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from rich.text import Text

from mcp_workbench.cli.wrapping import wrap
from mcp_workbench.config.places import home_directory
from mcp_workbench.setup.diagnosis.findings import SEVERITIES
from mcp_workbench.workbench.text.counting import count
from mcp_workbench.workbench.text.sanitise import show_name, show_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from mcp_workbench.setup.diagnosis.diagnose import Diagnosis
    from mcp_workbench.setup.diagnosis.examined import Examined
    from mcp_workbench.setup.diagnosis.findings import Finding, Severity

MAX_SHOWN_OF_A_CODE: Final = 5
"""Findings of one code that are shown whole. Of the others only the places are named."""
MAX_COLUMNS: Final = 100
"""Width of the longest line of text: longer ones are hard to read."""
MAX_PLACES: Final = 10
"""Places that are named of the findings that are not shown whole."""

_STYLES: Final[dict[Severity, str]] = {"problem": "bold red", "warning": "yellow", "note": "cyan"}
_NAMES: Final[dict[Severity, tuple[str, str]]] = {
    "problem": ("problem", "problems"),
    "warning": ("warning", "warnings"),
    "note": ("note", "notes"),
}


class Report:
    """The findings of one run, as they are printed."""

    def __init__(
        self, examined: Examined, diagnosis: Diagnosis, console: Console, *, has_connected: bool
    ) -> None:
        self._examined = examined
        self._diagnosis = diagnosis
        self._console = console
        self._has_connected = has_connected
        self._columns = min(console.width, MAX_COLUMNS)
        self._home = f"{home_directory(examined.environ)}{os.sep}"

    def print(self) -> None:
        """Print the findings by severity, then what was looked at, and how to go on."""
        self._line(self._short(self._diagnosis.areas[0].summary))
        for severity in SEVERITIES:
            findings = [one for one in self._diagnosis.findings if one.severity == severity]
            if findings:
                self._line("")
                self._line(count(len(findings), *_NAMES[severity]), _STYLES[severity])
                self._print_all(findings)
        self._print_areas()
        self._line("")
        self._line(f"{self._summary()} {self._next_step()}".rstrip(), "bold")

    def _print_all(self, findings: Sequence[Finding]) -> None:
        codes: dict[str, list[Finding]] = {}
        for finding in findings:
            codes.setdefault(finding.code, []).append(finding)
        for code, same in codes.items():
            for finding in same[:MAX_SHOWN_OF_A_CODE]:
                self._print(finding)
            if rest := same[MAX_SHOWN_OF_A_CODE:]:
                self._line("")
                places = ", ".join(_place(finding) for finding in rest[:MAX_PLACES])
                more = ", …" if len(rest) > MAX_PLACES else ""
                self._text(f"{code}: {len(rest)} more ({places}{more}). --json shows all.", "  ")

    def _print(self, finding: Finding) -> None:
        self._line("")
        heading = Text("  ")
        heading.append(finding.code, _STYLES[finding.severity])
        if place := _place(finding):
            heading.append(f"  {place}")
        self._console.print(heading, soft_wrap=True)
        self._text(finding.message, "    ")
        if finding.remedy:
            self._text(finding.remedy, "    ")
        if finding.command:
            self._line(f"    $ {show_name(finding.command)}", "bold")

    def _print_areas(self) -> None:
        self._line("")
        self._line("Looked at")
        width = max(len(area.name) for area in self._diagnosis.areas)
        for area in self._diagnosis.areas:
            found = "ok" if not area.findings else str(len(area.findings))
            line = f"  {found:>3}  {area.name:{width}}  {self._short(area.summary)}"
            self._line(line if len(line) <= self._columns else f"{line[: self._columns - 1]}…")

    def _summary(self) -> str:
        counts = [
            count(number, *_NAMES[severity])
            for severity in SEVERITIES
            if (number := self._diagnosis.count(severity))
        ]
        if self._diagnosis.count("problem"):
            return f"{', '.join(counts)}."
        return f"{', '.join(['No problems', *counts])}."

    def _next_step(self) -> str:
        """Return what to do next: fix the first problem, or have a closer look."""
        for finding in self._diagnosis.findings:
            if finding.severity == "problem" and finding.command:
                return f"Next: {show_name(finding.command)}"
        closer = self._examined.command("doctor", "--connect")
        return "" if self._has_connected else f"To try the servers too: {show_name(closer)}"

    def _short(self, summary: str) -> str:
        """Return a summary in one line, with `~` for the home directory."""
        return show_name(summary.replace(self._home, "~/"))

    def _text(self, text: str, indent: str) -> None:
        """Print a text in lines of the width, each of its own lines for itself."""
        for line in wrap(show_text(text), self._columns, indent):
            self._line(line)

    def _line(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style), soft_wrap=True)


def _place(finding: Finding) -> str:
    """Return where a finding is: a line of a file, and the server or client that it concerns."""
    about = finding.client or (finding.servers[0] if len(finding.servers) == 1 else "")
    line = f":{finding.line}" if finding.line is not None else ""
    file = f"{finding.file}{line}" if finding.file else ""
    return "  ".join(show_name(part) for part in (about, file) if part)
