"""The options of `import`, with their help texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Imports the servers that your MCP clients have into the configuration file: of
all clients, of those that you name, or of a file. It reads your own settings
of each client, and those of the project in this directory. The same server in
several clients becomes one, and servers are grouped into toolboxes. It shows
the change, asks, and writes it. The clients' files stay as they are.

Secrets in plain text move to the system's keyring, and a reference takes
their place. Running it again changes nothing.

  mcp-workbench import
  mcp-workbench import cursor claude-desktop --dry-run
  mcp-workbench import path/to/mcp.json --toolbox work

Exit code: 0 success, 1 nothing was changed, 2 an unknown name or a bad file."""


def add_options(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    """Add the command `import` to the command line."""
    command = commands.add_parser(
        "import",
        parents=[shared],
        help="import the servers that your MCP clients have",
        description=DESCRIPTION,
    )
    command.takes_files = True
    command.add_argument(
        "sources",
        nargs="*",
        metavar="CLIENT|FILE",
        help="only these: clients such as cursor, or the path of a file",
    )
    command.add_argument("--toolbox", metavar="NAME", help="put all servers into this toolbox")
    command.add_argument("--dry-run", action="store_true", help="only show what would be imported")
    command.add_argument("--yes", action="store_true", help="import without asking")
    command.add_argument("--json", action="store_true", help="print the outcome as JSON, for scripts")
