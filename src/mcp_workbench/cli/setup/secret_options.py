"""The options of `mcp-workbench secret`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_workbench.cli.parsing import CommandParser

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Stores secrets that the configuration refers to as ${keyring:NAME}: in the
system's keyring, or without one in a file that only you can read.

  mcp-workbench secret set GITHUB_TOKEN
  mcp-workbench secret list
  mcp-workbench secret remove GITHUB_TOKEN

Exit code: 0 success, 1 nothing was changed or something failed, 2 a wrong
command."""

SET_DESCRIPTION = """\
Stores a secret, or replaces it. Type the value when asked (it is not shown),
or pipe it to stdin.

  mcp-workbench secret set GITHUB_TOKEN
  mcp-workbench secret set GITHUB_TOKEN < token.txt"""

LIST_DESCRIPTION = """\
Lists the secrets: where each is kept, and which servers of the configuration
refer to it. Missing ones that a server refers to are listed too. No value is
shown.

  mcp-workbench secret list"""

REMOVE_DESCRIPTION = """\
Deletes a secret from the keyring and from the file.

  mcp-workbench secret remove GITHUB_TOKEN"""


def add_options(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    """Add the command `secret` with its actions to the command line."""
    secret = commands.add_parser(
        "secret",
        help="store secrets for the configuration",
        description=DESCRIPTION,
    )
    actions = secret.add_subparsers(
        dest="action", metavar="action", title="actions", required=True, parser_class=_ValuelessParser
    )
    store = actions.add_parser(
        "set",
        parents=[shared],
        help="store a secret; its value is asked for, or read from stdin",
        description=SET_DESCRIPTION,
    )
    store.add_argument("name", metavar="NAME", help="its name: letters, digits and . _ -")
    listing = actions.add_parser(
        "list",
        parents=[shared],
        help="list the secrets and the servers that refer to them",
        description=LIST_DESCRIPTION,
    )
    listing.add_argument("--json", action="store_true", help="print the list as JSON, for scripts")
    removal = actions.add_parser(
        "remove",
        parents=[shared],
        help="delete a secret",
        description=REMOVE_DESCRIPTION,
    )
    removal.add_argument("name", metavar="NAME", help="its name")


class _ValuelessParser(CommandParser):
    """Refuses what it does not know without repeating it, because it may be the value of a secret."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse the options of an action."""
        parsed, others = super().parse_known_args(args, namespace)
        if others:
            self.answer(
                "there are too many arguments. A value is never taken from the command line, where other "
                "programs and the history of the shell see it: type it when asked, or pipe it to stdin"
            )
        return parsed, others
