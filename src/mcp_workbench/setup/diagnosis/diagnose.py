"""Looks at everything in one go: the order of the areas, and the programs that are asked for their versions.

Nothing is written, and no server is started.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config import ServerConfig
from mcp_workbench.downstream.environment import child_environment
from mcp_workbench.setup.diagnosis.client_area import look_at_clients
from mcp_workbench.setup.diagnosis.client_entries import find_clients, is_own_program
from mcp_workbench.setup.diagnosis.entry_area import look_at_entries
from mcp_workbench.setup.diagnosis.file_area import look_at_file
from mcp_workbench.setup.diagnosis.findings import Area, Finding  # noqa: TC001 - msgspec resolves them
from mcp_workbench.setup.diagnosis.machine_area import (
    InstalledVersions,
    look_at_installation,
    look_at_processes,
    versions,
)
from mcp_workbench.setup.diagnosis.package_area import look_at_packages
from mcp_workbench.setup.diagnosis.program_area import look_at_programs, needed_programs, programs_to_ask
from mcp_workbench.setup.diagnosis.storage_area import (
    look_at_catalogue,
    look_at_directories,
    look_at_logins,
)
from mcp_workbench.setup.diagnosis.trust_area import look_at_trust
from mcp_workbench.setup.diagnosis.version_calls import ask_versions

if TYPE_CHECKING:
    from mcp_workbench.setup.diagnosis.examined import Examined
    from mcp_workbench.setup.diagnosis.findings import Severity
    from mcp_workbench.setup.diagnosis.version_calls import Command


class Diagnosis(msgspec.Struct, frozen=True):
    """All areas that were looked at, and the versions of the workbench."""

    areas: tuple[Area, ...]
    versions: InstalledVersions

    @property
    def findings(self) -> list[Finding]:
        """All findings, in the order of the areas."""
        return [finding for area in self.areas for finding in area.findings]

    def count(self, severity: Severity) -> int:
        """Return the number of findings of a severity."""
        return sum(finding.severity == severity for finding in self.findings)


async def diagnose(examined: Examined, directory: str) -> Diagnosis:
    """Look at everything. `directory` is that of the project whose clients' files count too."""
    environ = examined.environ
    clients = find_clients(environ, directory)
    programs = needed_programs(examined)
    plain = child_environment(ServerConfig(command="true"), environ)
    calls: dict[Command, dict[str, str]] = {
        (path,): {**plain, "PATH": search_path}
        for path, (_, search_path) in programs_to_ask(programs).items()
    }
    for entry in clients.entries:
        if entry.version_command and not is_own_program(entry.version_command[0]):
            calls[entry.version_command] = {**plain, "PATH": entry.env.get("PATH", plain.get("PATH", ""))}
    # The programs answer while all else is looked at.
    asked = asyncio.get_running_loop().run_in_executor(None, ask_versions, calls)
    first = [look_at_file(examined), look_at_entries(examined), look_at_packages(examined)]
    last = [
        await look_at_logins(examined),
        look_at_catalogue(examined),
        look_at_trust(examined),
        look_at_directories(examined, [file.path for file in clients.files]),
        look_at_processes(examined),
        look_at_installation(environ),
    ]
    answers = await asked
    by_path = {command[0]: answer for command, answer in answers.items() if len(command) == 1}
    between = [
        look_at_programs(examined, programs, by_path),
        look_at_clients(examined, clients, programs, answers),
    ]
    return Diagnosis((*first, *between, *last), versions())
