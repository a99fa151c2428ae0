"""The options of `undo`, with their help texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Restores the files of clients, byte by byte, as they were before the workbench was first
installed there: whatever was installed, replaced or uninstalled since. Without a name, the
files of all clients. `undo config` takes back the last change of the configuration file that
one of these commands made.

A file that somebody else has changed since is left alone, unless you say --force.

Exit code: 0 all is restored, 1 something is not."""


def add_options(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    """Add the command `undo` to the command line."""
    undo = commands.add_parser(
        "undo",
        parents=[shared],
        help="restore the files of clients as they were before the workbench was installed",
        description=DESCRIPTION,
    )
    undo.add_argument("names", nargs="*", metavar="CLIENT", help="only these clients, or config")
    undo.add_argument("--force", action="store_true", help="restore files that others have changed since too")
    undo.add_argument("--dry-run", action="store_true", help="only show what would be restored")
    undo.add_argument("--yes", action="store_true", help="restore without asking")
    undo.add_argument("--json", action="store_true", help="print the outcome as JSON, for scripts")
