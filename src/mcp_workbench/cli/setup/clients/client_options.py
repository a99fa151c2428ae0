"""The options of `install`, `uninstall` and `undo`, with their help texts."""

from __future__ import annotations

import argparse
from typing import Any

MAX_NAME_CHARACTERS = 40


INSTALL_DESCRIPTION = """\
Puts the workbench into the settings of MCP clients: one entry in the file of
each, with comments and formatting kept. It shows the change, asks, makes a
backup, and writes the file in one step. Without a name, it lists the clients
on this machine.

  mcp-workbench install
  mcp-workbench install cursor
  mcp-workbench install claude-desktop --replace

With --replace, it imports the client's own servers into the workbench first,
and then takes them out of the client's file. `mcp-workbench undo` restores
the file.

Exit code: 0 success, 1 something was not changed, 2 an unknown client or bad
file."""

UNINSTALL_DESCRIPTION = """\
Takes the workbench out of the settings of MCP clients, and leaves all else as
it is. To get back what was there before `install`, use `mcp-workbench undo`
instead.

  mcp-workbench uninstall cursor

Exit code: 0 success, 1 something was not changed, 2 an unknown client."""

UNDO_DESCRIPTION = """\
Restores the files of clients, byte by byte, as they were before the workbench
was first installed there, whatever was installed, replaced or uninstalled
since. Without a name, it restores the files of all clients. `undo config`
takes back the last change that a command made to the configuration file.

  mcp-workbench undo cursor
  mcp-workbench undo config

A file that was changed by others since is left alone, unless you add --force.

Exit code: 0 success, 1 something was not restored, 2 an unknown client."""


def add_options(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    """Add the commands `install`, `uninstall` and `undo` to the command line."""
    _add_install(commands, shared)
    _add_undo(commands, shared)


def _add_install(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    install = commands.add_parser(
        "install",
        parents=[shared],
        help="put the workbench into MCP clients, or list them",
        description=INSTALL_DESCRIPTION,
    )
    install.add_argument(
        "clients",
        nargs="*",
        metavar="CLIENT",
        help="such as cursor or claude-desktop; other prints the entry for any other client",
    )
    install.add_argument("--name", type=_name, metavar="NAME", help="name of the entry (default: workbench)")
    install.add_argument(
        "--replace",
        action="store_true",
        help="import the client's own servers first, and take them out of its file",
    )
    uninstall = commands.add_parser(
        "uninstall",
        parents=[shared],
        help="take the workbench out of MCP clients",
        description=UNINSTALL_DESCRIPTION,
    )
    uninstall.add_argument("clients", nargs="+", metavar="CLIENT", help="such as cursor or claude-desktop")
    for command in (install, uninstall):
        command.add_argument(
            "--scope",
            choices=("user", "project"),
            default="user",
            help="the client's file for you, or the one of the project in this directory (default: user)",
        )
        command.add_argument("--dry-run", action="store_true", help="only show what would be changed")
        command.add_argument("--yes", action="store_true", help="change without asking")
        command.add_argument("--json", action="store_true", help="print the outcome as JSON, for scripts")


def _name(text: str) -> str:
    """Return a name of an entry that every client takes."""
    is_plain = text.isascii() and text.replace("-", "").replace("_", "").isalnum()
    if not is_plain or len(text) > MAX_NAME_CHARACTERS:
        raise argparse.ArgumentTypeError(f"use letters, digits, - and _, at most {MAX_NAME_CHARACTERS}")
    return text


def _add_undo(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    undo = commands.add_parser(
        "undo",
        parents=[shared],
        help="restore the files of MCP clients as they were",
        description=UNDO_DESCRIPTION,
    )
    undo.add_argument("names", nargs="*", metavar="CLIENT", help="only these clients, or config")
    undo.add_argument(
        "--force", action="store_true", help="also restore files that others have changed since"
    )
    undo.add_argument("--dry-run", action="store_true", help="only show what would be restored")
    undo.add_argument("--yes", action="store_true", help="restore without asking")
    undo.add_argument("--json", action="store_true", help="print the outcome as JSON, for scripts")
