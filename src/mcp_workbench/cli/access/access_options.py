"""The options of the commands for logins and tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

LOGIN_SECONDS = 300

ADMISSION_DESCRIPTION = """\
Prints a token file with a new token (its digest) on stdout, and the token
itself on stderr. With --list, prints the tokens of a file. When a token was
last used is known for workbenches of this user on this machine, and up to a
minute old."""

LOGIN_DESCRIPTION = """\
Logs in to a remote server in the browser. The login is kept in the system's
keyring, or without one in a file that only you can read. The workbench renews
it while it lasts.

Exit code: 0 logged in, 1 the login failed, 2 no such server, or a bad file."""


def add_commands(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    """Add the commands for logins and tokens to the command line."""
    _add_login(commands, shared)
    _add_token(commands)


def _add_token(commands: argparse._SubParsersAction[Any]) -> None:
    token = commands.add_parser(
        "token",
        help="create or list tokens for clients over HTTP",
        description=ADMISSION_DESCRIPTION,
    )
    token.add_argument("name", nargs="?", help="the name of the token's holder")
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
    token.add_argument("--token-file", metavar="FILE", help="the file to list")


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
        description="Removes the login to a remote server from this machine.",
    )
    for command in (login, logout):
        command.add_argument(
            "server", metavar="TOOLBOX/SERVER", help="the server, as the configuration names it"
        )
    login.add_argument(
        "--no-browser", action="store_true", help="only print the address, and open no browser"
    )
    login.add_argument(
        "--port",
        type=_port,
        metavar="PORT",
        help="the port that the browser is sent back to (default: any free one)",
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
        type=_seconds,
        default=LOGIN_SECONDS,
        metavar="SECONDS",
        help=f"how long to wait for the browser (default: {LOGIN_SECONDS})",
    )


def _port(text: str) -> int:
    port = int(text)
    if not 0 < port < 65536:
        raise ValueError
    return port


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < 1e8:
        raise ValueError
    return seconds
