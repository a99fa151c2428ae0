"""The options of the commands for logins and tokens."""

from __future__ import annotations

import argparse
from typing import Any

from mcp_workbench.cli.parsing import read_seconds

LOGIN_SECONDS = 300

CREATION_DESCRIPTION = """\
Creates a token for a client over HTTP. It is shown once; the token file gets
its digest only. With --token-file it is added to that file, which is created
if needed; without, a new token file is printed on stdout.

  mcp-workbench token alice --token-file tokens.json
  mcp-workbench token ci --expires 90d --token-file tokens.json
  mcp-workbench token --list --token-file tokens.json

With --list, shows the tokens of a file. When a token was last used is known
for workbenches of this user on this machine, and up to a minute old.

Exit code: 0 success, 1 the file cannot be written, 2 a wrong command, or a
bad file."""

LOGIN_DESCRIPTION = """\
Logs in to a remote server in the browser. The login is kept in the system's
keyring, or without one in a file that only you can read. The workbench renews
it while it lasts.

  mcp-workbench login work/linear
  mcp-workbench login work/linear --no-browser

Exit code: 0 logged in, 1 the login failed, 2 no such server, it needs no
login, or a bad file."""

LOGOUT_DESCRIPTION = """\
Removes the login to a remote server from this machine.

  mcp-workbench logout work/linear

Exit code: 0 success, 1 it could not be removed, 2 no such server, or a bad
file."""

SERVER_HELP = "the server, by its own name if only one has it; not needed for the only remote server"


def add_commands(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    """Add the commands for logins and tokens to the command line."""
    _add_login(commands, shared)
    _add_token(commands)


def _add_token(commands: argparse._SubParsersAction[Any]) -> None:
    token = commands.add_parser(
        "token",
        help="create or list tokens for clients over HTTP",
        description=CREATION_DESCRIPTION,
    )
    token.takes_files = True
    token.add_argument("name", nargs="?", metavar="NAME", help="the name of the token's holder")
    token.add_argument(
        "--expires",
        metavar="WHEN",
        help="refuse the token after that: 90d, 12h, a date (the end of that day, UTC) or a date and time",
    )
    token.add_argument(
        "--list",
        action="store_true",
        help="list the tokens of --token-file: toolboxes, expiry, and when each was last used",
    )
    token.add_argument("--token-file", metavar="FILE", help="the file to add the token to, or to list")


def _add_login(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    login = commands.add_parser(
        "login",
        parents=[shared],
        help="log in to a remote server in the browser",
        description=LOGIN_DESCRIPTION,
    )
    logout = commands.add_parser(
        "logout",
        parents=[shared],
        help="forget the login to a remote server",
        description=LOGOUT_DESCRIPTION,
    )
    for command in (login, logout):
        command.add_argument("server", nargs="?", metavar="TOOLBOX/SERVER", help=SERVER_HELP)
    login.add_argument(
        "--no-browser", action="store_true", help="only print the address, and open no browser"
    )
    login.add_argument(
        "--port",
        type=_port,
        metavar="PORT",
        help="the port that the browser is redirected to (default: any free one)",
    )
    login.add_argument(
        "--scope",
        action="append",
        default=[],
        metavar="SCOPE",
        help="ask for this scope too (may be repeated)",
    )
    login.add_argument(
        "--timeout",
        type=read_seconds,
        default=LOGIN_SECONDS,
        metavar="SECONDS",
        help=f"how long to wait for the browser (default: {LOGIN_SECONDS})",
    )


def _port(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError("should be a number from 1 to 65535")
    return int(text)
