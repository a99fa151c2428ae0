"""The options of the commands that show what is held, and that write the lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

REVIEW_DESCRIPTION = """\
Shows what is held: tools and instructions of servers that changed, or are
new, in a way that a person has to see first. In a terminal it shows each with
its difference to what was approved, and asks. Starts no server.

  mcp-workbench review
  mcp-workbench review --approve 'dev/github/*' --reject dev/github/delete_repo

GLOB is TOOLBOX/SERVER/TOOL, SERVER/TOOL or TOOL. With nothing after the last
slash (dev/github/) it names the server's instructions. What is approved goes
to workbench-lock.json if the server is in it, else to your data directory.

Exit code: 0 nothing waits for a decision, 1 something does, a glob matches
nothing, a decision cannot be written, or the data directory cannot be used,
2 a bad file."""

LOCK_DESCRIPTION = """\
Writes what is approved of every server to workbench-lock.json beside the
configuration, to be committed. From then on, that file says what is approved.
Servers are started, a few at a time, to list their tools.

  mcp-workbench lock
  mcp-workbench lock --check
  mcp-workbench lock --update dev/github

Without an option, only servers that the lock lacks are added. --check
compares and writes nothing: for CI. --update shows every difference, asks,
and writes what the servers list now.

Exit code: 0 success, 1 a difference or a failed server, 2 a wrong command or
a bad file."""


def add_commands(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    """Add the commands about approved definitions to the command line."""
    review = commands.add_parser(
        "review",
        parents=[shared],
        help="see what is held, and approve or reject it",
        description=REVIEW_DESCRIPTION,
    )
    for option, verb in (("--approve", "approve"), ("--reject", "reject")):
        review.add_argument(
            option, metavar="GLOB", action="append", default=[], help=f"{verb} what matches, without asking"
        )
    review.add_argument("--json", action="store_true", help="print JSON, and ask nothing")
    lock = commands.add_parser(
        "lock",
        parents=[shared],
        help="write what is approved to workbench-lock.json, or compare",
        description=LOCK_DESCRIPTION,
    )
    lock.add_argument(
        "names", nargs="*", metavar="NAME", help="only these: toolboxes, or servers as TOOLBOX/SERVER"
    )
    action = lock.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="compare with what the servers list now")
    action.add_argument("--update", action="store_true", help="write what the servers list now")
    lock.add_argument("--yes", action="store_true", help="update without asking")
    lock.add_argument("--json", action="store_true", help="print the outcome as JSON, for scripts")
