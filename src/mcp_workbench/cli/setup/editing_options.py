"""The options of the commands that edit the configuration: add, remove, enable, disable, move and list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

ADD_DESCRIPTION = """\
Adds a server to the configuration: a program (after --), or a remote server
by its URL. It is started once first, to show its tools; --no-check skips
that. Comments and formatting of the file stay. A running workbench uses it
within seconds.

  mcp-workbench add time -- uvx mcp-server-time
  mcp-workbench add docs https://mcp.example.com/mcp
  mcp-workbench add wiki --env 'KEY=${keyring:WIKI}' -- npx wiki-mcp

Exit code: 0 added, 1 not added, 2 a wrong command line, or a bad file."""

REMOVE_DESCRIPTION = """\
Removes a server from the configuration, or a toolbox if a slash follows its
name. A toolbox stays when its last server is removed.

  mcp-workbench remove dev/git
  mcp-workbench remove dev/

Exit code: 0 removed, 1 not removed, 2 no such server, or a bad file."""

ENABLE_DESCRIPTION = """\
Uses a disabled server again. A running workbench starts it when it is needed.

  mcp-workbench enable dev/git

Exit code: 0 success, 1 the file cannot be changed, 2 no such server, or a bad
file."""

DISABLE_DESCRIPTION = """\
Leaves a server out, but keeps its entry in the configuration.

  mcp-workbench disable dev/git

Exit code: 0 success, 1 the file cannot be changed, 2 no such server, or a bad
file."""

MOVE_DESCRIPTION = """\
Moves the entry of a server, with its comments, to another toolbox.

  mcp-workbench move dev/wiki docs
  mcp-workbench move dev/wiki docs --description "Pages and tickets"

Exit code: 0 moved, 1 not moved, 2 no such server or toolbox, or a bad file."""

LIST_DESCRIPTION = """\
Lists the toolboxes and servers of the configuration, even if it has mistakes.
Starts nothing.

  mcp-workbench list
  mcp-workbench list --json

Exit code: 0 success, 2 the file cannot be read."""

SERVER_HELP = "the server, as TOOLBOX/SERVER, or by its own name if only one has it"


def add_options(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    """Add the commands that edit the configuration to the command line."""
    _add_add(commands, shared)
    remove = commands.add_parser(
        "remove",
        parents=[shared],
        help="remove a server or a toolbox",
        description=REMOVE_DESCRIPTION,
    )
    remove.add_argument("server", metavar="SERVER", help=f"{SERVER_HELP}; or TOOLBOX/ for a toolbox")
    remove.add_argument("--yes", action="store_true", help="remove a toolbox without asking")
    for name, what, done in (
        ("enable", "use a disabled server again", ENABLE_DESCRIPTION),
        ("disable", "leave a server out, but keep its entry", DISABLE_DESCRIPTION),
    ):
        command = commands.add_parser(name, parents=[shared], help=what, description=done)
        command.add_argument("server", metavar="SERVER", help=SERVER_HELP)
    move = commands.add_parser(
        "move",
        parents=[shared],
        help="move a server to another toolbox",
        description=MOVE_DESCRIPTION,
    )
    move.add_argument("server", metavar="SERVER", help=SERVER_HELP)
    move.add_argument("toolbox", metavar="TOOLBOX", help="the toolbox to move it to")
    move.add_argument("--description", metavar="TEXT", help="create the toolbox, with this description")
    listing = commands.add_parser(
        "list",
        parents=[shared],
        help="list toolboxes and servers",
        description=LIST_DESCRIPTION,
    )
    listing.add_argument("--json", action="store_true", help="print the list as JSON, for scripts")


def _add_add(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    add = commands.add_parser(
        "add",
        parents=[shared],
        help="add a server, after trying it",
        description=ADD_DESCRIPTION,
        usage="mcp-workbench add NAME [options] (URL | -- COMMAND [ARGUMENT …])",
    )
    add.takes_program = True
    add.add_argument("name", metavar="NAME", help="the name of the server")
    add.add_argument("--toolbox", metavar="NAME", help="the toolbox to add it to (default: the only one)")
    add.add_argument("--description", metavar="TEXT", help="what a new toolbox is for")
    add.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an environment variable for the program (may be repeated)",
    )
    add.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="an HTTP header for the remote server (may be repeated)",
    )
    add.add_argument("--no-check", action="store_true", help="do not start the server first")
    add.add_argument("--yes", action="store_true", help="add it even if it cannot be started, without asking")
    add.add_argument("--json", action="store_true", help="print the outcome as JSON, for scripts")
