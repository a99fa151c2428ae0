"""The options of `mcp-workbench doctor`, with their help texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

DOCTOR_DESCRIPTION = """\
Looks at everything that can be wrong: the configuration file and who can
change it, the programs of the servers, the clients that start the workbench,
packages without a version, secrets in plain text, logins, the catalogue, held
tools, the lock, the audit, and processes of earlier runs. Each finding has a
code, and the command that fixes it. Changes nothing, and starts no server
unless you add --connect.

  mcp-workbench doctor
  mcp-workbench doctor --connect
  mcp-workbench doctor --json

Exit code: 0 no problem (warnings and notes may be there), 1 problems, 2 a
wrong command line."""


def add_commands(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    """Add `doctor` to the command line."""
    doctor = commands.add_parser(
        "doctor",
        parents=[shared],
        help="find what is wrong, and how to fix it",
        description=DOCTOR_DESCRIPTION,
    )
    doctor.add_argument("--connect", action="store_true", help="also start every server, a few at a time")
    doctor.add_argument("--json", action="store_true", help="print the findings as JSON, for scripts")
