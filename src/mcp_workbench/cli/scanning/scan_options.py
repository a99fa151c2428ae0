"""The options of `mcp-workbench scan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_workbench.cli.inspection.inspection_options import SERVER_NAMES

if TYPE_CHECKING:
    import argparse

SCAN_DESCRIPTION = """\
Looks in the descriptions, schemas and instructions of servers for what would
attack a model: hidden instructions, secrecy, theft of secrets, orders about
other tools. Offline, and without a model. Starts nothing: tools are taken
from the catalogue. It misses some attacks, so no finding is no proof.

  mcp-workbench scan
  mcp-workbench scan --connect dev/github
  mcp-workbench scan --connect --sarif > scan.sarif

Exit code: 0 nothing hard was found, 1 a hard finding, or a server that could
not be scanned, 2 a bad file or an unknown name."""


def add_commands(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    """Add `scan` to the command line."""
    scan = commands.add_parser(
        "scan",
        parents=[shared],
        help="look for attacks in what servers say about their tools",
        description=SCAN_DESCRIPTION,
    )
    scan.add_argument("names", **SERVER_NAMES)
    scan.add_argument(
        "--connect",
        action="store_true",
        help="first start the servers and list their tools again, as index does",
    )
    formats = scan.add_mutually_exclusive_group()
    formats.add_argument("--json", action="store_true", help="print the findings as JSON, for scripts")
    formats.add_argument(
        "--sarif", action="store_true", help="print the findings as SARIF 2.1.0, for code scanning"
    )
