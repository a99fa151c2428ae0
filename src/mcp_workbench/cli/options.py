"""The commands and options of the command line, with their help texts."""

from __future__ import annotations

import argparse
import itertools
import os
from typing import Any

from mcp_workbench import __version__
from mcp_workbench.cli.plain import KEEP_GOING, LOG_FORMATS, LOG_LEVELS
from mcp_workbench.cli.setup.options import add_commands as add_setup_commands
from mcp_workbench.workbench.text.sanitise import show_name

DEFAULT_COLUMNS = 80
MIN_COLUMNS = 40
LOGIN_SECONDS = 300

DESCRIPTION = """\
One MCP server in front of all your MCP servers.

Without a command, it serves over stdin and stdout, as a client starts it.
To begin: mcp-workbench import, then mcp-workbench install."""

EPILOG = """\
configuration: --config, else $WORKBENCH_CONFIG, else ./workbench-config.json,
  else mcp-workbench/workbench-config.json in your configuration directory
  (~/.config on Linux, ~/Library/Application Support on macOS)
exit codes: 0 success, 1 something failed, 2 a wrong command or configuration

"mcp-workbench COMMAND --help" explains a command."""


INDEX_DESCRIPTION = """\
Starts every server, a few at a time, and stores the list of its tools in the
catalogue, in your cache directory. From then on, they are found without
starting a server.

Exit code: 0 success, 1 a server failed, 2 a bad file or an unknown name."""

TOKENS_DESCRIPTION = """\
Estimates what the configuration costs a model in tokens: all tools natively
(name, description and input schema, as clients show them), the start of the
workbench, each toolbox opened at each level of detail, a search, and a call.
Starts nothing: tools are taken from the catalogue. A toolbox's row is for a
workbench that has it alone.

Break-even: natively, all tools cost once per conversation. The workbench
costs its start, and for each call a search before it (the query and its
answer, the mean of up to 20 queries, each for the words of a tool's name) and
the longer name. Break-even is the number of calls up to which the workbench
costs no more.

Exit code: 0 success, 1 no tools are known or a server failed, 2 a bad file."""

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


CHECK_DESCRIPTION = """\
Checks the configuration, and reports every mistake with its line and how to
fix it. With --connect it also starts every server.

Exit code: 0 success, 1 a server failed, 2 a bad file."""

DEMO_DESCRIPTION = """\
Starts the workbench with four small servers of its own, opens a toolbox, and
uses, finds and misspells tools. It needs no configuration and changes
nothing."""

SCHEMA_DESCRIPTION = """\
Prints the JSON Schema of the configuration file. Editors complete and check
keys with it."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, with the help of every command."""
    shared = _Parser(add_help=False, argument_default=argparse.SUPPRESS)
    _add_shared(shared)
    top = _Parser(
        prog="mcp-workbench",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    top.add_argument("--version", action="version", version=f"mcp-workbench {__version__}")
    _add_shared(top)
    _add_keep_going(top, default=False)
    commands = top.add_subparsers(dest="command", metavar="command", title="commands", prog=top.prog)
    commands.add_parser(
        "demo", help="see the workbench work, with its own configuration", description=DEMO_DESCRIPTION
    )
    add_setup_commands(commands, shared)
    check = commands.add_parser(
        "check",
        parents=[shared],
        help="check the configuration; --connect tries the servers",
        description=CHECK_DESCRIPTION,
    )
    check.add_argument(
        "--connect", action="store_true", help="also start every server, in parallel, and list its tools"
    )
    check.add_argument("--json", action="store_true", help="print the outcome as JSON, for scripts")
    _add_login(commands, shared)
    index = commands.add_parser(
        "index",
        parents=[shared],
        help="list the tools of all servers once, for the search",
        description=INDEX_DESCRIPTION,
    )
    index.add_argument(
        "names", nargs="*", metavar="NAME", help="only these: toolboxes, or servers as TOOLBOX/SERVER"
    )
    index.add_argument("--json", action="store_true", help="print the outcome as JSON, for scripts")
    tokens = commands.add_parser(
        "tokens",
        parents=[shared],
        help="count the tokens that the configuration costs a model",
        description=TOKENS_DESCRIPTION,
    )
    tokens.add_argument(
        "--connect",
        action="store_true",
        help="first start every server and list its tools anew, as index does",
    )
    tokens.add_argument("--json", action="store_true", help="print the figures as JSON, for scripts")
    serve = commands.add_parser(
        "serve",
        parents=[shared],
        help="serve over stdin and stdout, or with --http",
        description="Serves over stdin and stdout, or with --http at http://HOST:PORT/mcp.",
    )
    _add_keep_going(serve, default=argparse.SUPPRESS)
    serve.add_argument(
        "--http", metavar="HOST:PORT", help="listen there; 127.0.0.1:8000 is for this machine only"
    )
    serve.add_argument(
        "--token-file",
        metavar="FILE",
        help="who may connect over HTTP, and use what; needed to listen beyond this machine",
    )
    _add_token(commands)
    commands.add_parser(
        "schema", help="print the JSON Schema of the configuration file", description=SCHEMA_DESCRIPTION
    )
    return top


def _add_token(commands: argparse._SubParsersAction[_Parser]) -> None:
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


def _add_login(commands: argparse._SubParsersAction[_Parser], shared: _Parser) -> None:
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


class _Parser(argparse.ArgumentParser):
    takes_program = False
    """Whether more words may follow, in `words`, and behind `--` a command line of its own, in `program`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **settings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse a command line. Where a program may follow, it is kept apart.

        argparse before Python 3.13 does not find an optional positional argument that follows an option.
        """
        if not self.takes_program:
            return super().parse_known_args(args, namespace)
        arguments = list(args)
        end = arguments.index("--") if "--" in arguments else len(arguments)
        options, rest = super().parse_known_args(arguments[:end], namespace)
        options.words = [word for word in rest if not word.startswith("-")]
        options.program = arguments[end + 1 :]
        return options, [word for word in rest if word.startswith("-")]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Say what an unknown command may have meant. argparse would list all of them in one line."""
        if action.dest != "command" or action.choices is None or value in action.choices:
            super()._check_value(action, value)
            return
        import difflib

        near = difflib.get_close_matches(value, action.choices, cutoff=0.7)
        guess = f" Did you mean: {', '.join(near)}?" if near else ""
        text = f"there is no command '{show_name(value)}'.{guess} {self.prog} --help lists the commands."
        raise argparse.ArgumentError(None, text)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    # argparse creates a formatter for every argument, and loads several modules to find the width.
    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_width())

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Return a description with the paragraphs wrapped that are too wide. Indented lines are examples."""
        import textwrap

        lines: list[str] = []
        for is_prose, group in itertools.groupby(text.splitlines(), key=lambda line: line[:1].strip() != ""):
            block = list(group)
            is_wide = any(len(line) > width for line in block)
            lines += textwrap.wrap(" ".join(block), width) if is_prose and is_wide else block
        return "\n".join(indent + line for line in lines)


def _width() -> int:
    if (columns := os.environ.get("COLUMNS", "")).isdecimal():
        return max(int(columns), MIN_COLUMNS) - 2
    try:
        return max(os.get_terminal_size().columns, MIN_COLUMNS) - 2
    except OSError:
        return DEFAULT_COLUMNS - 2


def _add_keep_going(parser: argparse.ArgumentParser, *, default: Any) -> None:
    parser.add_argument(
        KEEP_GOING,
        action="store_true",
        default=default,
        help="serve in spite of mistakes in the configuration",
    )


def _add_shared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="the configuration file")
    parser.add_argument(
        "--log-level", choices=LOG_LEVELS, help="what to write to stderr (default: info; for commands: off)"
    )
    parser.add_argument(
        "--log-format", choices=LOG_FORMATS, help="lines for people, or JSON for programs (default: text)"
    )
