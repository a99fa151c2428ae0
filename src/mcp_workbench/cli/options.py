"""The commands and options of the command line, with their help texts."""

from __future__ import annotations

import argparse
from typing import Any, Final

from mcp_workbench import __version__
from mcp_workbench.cli.access.access_options import add_commands as add_access_commands
from mcp_workbench.cli.audit.audit_options import add_commands as add_audit_command
from mcp_workbench.cli.doctor.doctor_options import add_commands as add_doctor_command
from mcp_workbench.cli.inspection.inspection_options import add_commands as add_inspection_commands
from mcp_workbench.cli.parsing import CommandParser, TopParser
from mcp_workbench.cli.plain import KEEP_GOING, LOG_FORMATS, LOG_LEVELS
from mcp_workbench.cli.scanning.scan_options import add_commands as add_scan_command
from mcp_workbench.cli.setup.setup_options import add_commands as add_setup_commands
from mcp_workbench.cli.shell.shell_options import add_commands as add_shell_commands
from mcp_workbench.cli.trust.approvals_options import add_commands as add_approvals_command
from mcp_workbench.cli.trust.review_options import add_commands as add_review_commands

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

GROUPS: Final = {
    "get started": ("demo", "import", "install", "uninstall", "undo"),
    "change the configuration": (
        *("list", "add", "remove", "enable", "disable", "move"),
        *("secret", "login", "logout"),
    ),
    "check and try": ("check", "doctor", "scan", "tools", "call", "log", "index", "tokens"),
    "serve": ("serve", "token"),
    "decide what may be used": ("review", "lock", "approvals"),
    "for editors and shells": ("schema", "completion"),
}
"""The commands as the help lists them, by task."""

DEMO_DESCRIPTION = """\
Starts the workbench with four small servers of its own, opens a toolbox, and
uses, finds and misspells tools. It needs no configuration and changes
nothing.

  mcp-workbench demo"""

SERVE_DESCRIPTION = """\
Serves over stdin and stdout, as an MCP client starts it, or over HTTP at
http://HOST:PORT/mcp for many clients.

  mcp-workbench serve
  mcp-workbench serve --http 127.0.0.1:8000
  mcp-workbench serve --http 0.0.0.0:8000 --token-file tokens.json

An address beyond this machine needs a token file, because anyone who can
reach it can use it.

Exit code: 0 ended as asked, 1 cannot listen there, 2 a wrong command, or a
bad file."""

SCHEMA_DESCRIPTION = """\
Prints the JSON Schema of the configuration file. Editors complete and check
keys with it.

  mcp-workbench schema > workbench-config.schema.json"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, with the help of every command."""
    shared = CommandParser(add_help=False, argument_default=argparse.SUPPRESS)
    _add_shared(shared)
    top = TopParser(GROUPS, prog="mcp-workbench", description=DESCRIPTION, epilog=EPILOG)
    top.add_argument("--version", action="version", version=f"mcp-workbench {__version__}")
    _add_shared(top)
    _add_keep_going(top, default=False)
    commands = top.add_subparsers(
        dest="command", metavar="command", prog=top.prog, parser_class=CommandParser
    )
    commands.add_parser(
        "demo", help="see the workbench work, with its own configuration", description=DEMO_DESCRIPTION
    )
    add_setup_commands(commands, shared)
    add_inspection_commands(commands, shared)
    add_doctor_command(commands, shared)
    add_scan_command(commands, shared)
    add_shell_commands(commands, shared)
    add_audit_command(commands, shared)
    add_access_commands(commands, shared)
    add_approvals_command(commands)
    add_review_commands(commands, shared)
    serve = commands.add_parser(
        "serve",
        parents=[shared],
        help="serve over stdin and stdout, or with --http",
        description=SERVE_DESCRIPTION,
    )
    _add_keep_going(serve, default=argparse.SUPPRESS)
    serve.add_argument(
        "--http", metavar="HOST:PORT", help="listen there; 127.0.0.1:8000 is for this machine only"
    )
    serve.add_argument(
        "--token-file",
        metavar="FILE",
        help="the tokens of clients and what each may use; required to listen beyond this machine",
    )
    commands.add_parser(
        "schema", help="print the JSON Schema of the configuration file", description=SCHEMA_DESCRIPTION
    )
    return top


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
