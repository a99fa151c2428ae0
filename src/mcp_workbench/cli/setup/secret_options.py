"""The options of `mcp-workbench secret`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

DESCRIPTION = """\
Stores secrets that the configuration refers to as ${keyring:NAME}: in the
system's keyring, or without one in a file that only you can read.

Exit code: 0 success, 1 nothing was changed or something failed, 2 a wrong
command."""

SET_DESCRIPTION = """\
Stores a secret, or replaces it. Type the value when asked (it is not shown),
or pipe it to stdin:
  mcp-workbench secret set GITHUB_TOKEN < token.txt"""

LIST_DESCRIPTION = """\
Lists the secrets: where each is kept, and which servers of the configuration
refer to it. Missing ones that a server refers to are listed too. No value is
shown."""


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
    look = shared.formatter_class
    store = actions.add_parser(
        "set",
        parents=[shared],
        formatter_class=look,
        help="store a secret; its value is asked for, or read from stdin",
        description=SET_DESCRIPTION,
    )
    store.add_argument("name", metavar="NAME", help="its name: letters, digits and . _ -")
    listing = actions.add_parser(
        "list",
        parents=[shared],
        formatter_class=look,
        help="list the secrets and the servers that refer to them",
        description=LIST_DESCRIPTION,
    )
    listing.add_argument("--json", action="store_true", help="print the list as JSON, for scripts")
    removal = actions.add_parser(
        "remove",
        parents=[shared],
        formatter_class=look,
        help="delete a secret",
        description="Deletes a secret from the keyring and from the file.",
    )
    removal.add_argument("name", metavar="NAME", help="its name")


class _ValuelessParser(argparse.ArgumentParser):
    """Refuses what it does not know without repeating it, because it may be the value of a secret."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)

    def parse_known_args(  # type: ignore[override] # typeshed overloads it by the type of the namespace
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        parsed, others = super().parse_known_args(args, namespace)
        if others:
            self.error(
                "there are too many arguments. A value is never taken from the command line, where other "
                "programs and the history of the shell see it: type it when asked, or pipe it to stdin"
            )
        return parsed, others
