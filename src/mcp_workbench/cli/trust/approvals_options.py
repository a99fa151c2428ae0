"""The options of `mcp-workbench approvals`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Shows the calls that wait for an approval, and asks for each whether to allow
it once. Calls wait here if a rule of the policy says "ask" and their client
cannot ask its user, or if the policy has "ask": "console".

  mcp-workbench approvals
  mcp-workbench approvals --list
  mcp-workbench approvals --allow 1f3a9c20

In a terminal, it follows new calls until you press Ctrl-C. An approval is
good for one call with the same arguments, for 10 minutes.

Exit code: 0 success, 1 no such call waits, or the answer cannot be written,
2 a wrong command."""


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command for pending approvals to the command line."""
    approvals = commands.add_parser(
        "approvals", help="answer calls that need an approval", description=DESCRIPTION
    )
    actions = approvals.add_mutually_exclusive_group()
    actions.add_argument("--list", action="store_true", help="list the calls that wait, and end")
    actions.add_argument("--allow", metavar="ID", help="allow a call, by its id or the beginning of it")
    actions.add_argument("--deny", metavar="ID", help="deny a call, by its id or the beginning of it")
    approvals.add_argument("--json", action="store_true", help="print JSON, and ask nothing")
