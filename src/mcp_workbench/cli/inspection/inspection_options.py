"""The options of the commands that look at servers and their tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import argparse

INDEX_DESCRIPTION = """\
Starts every server, a few at a time, and stores the list of its tools in the
catalogue, in your cache directory. From then on, they are found without
starting a server.

  mcp-workbench index
  mcp-workbench index dev docs/wiki

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

  mcp-workbench tokens
  mcp-workbench tokens --connect

Exit code: 0 success, 1 no tools are known or a server failed, 2 a bad file."""

CHECK_DESCRIPTION = """\
Checks the configuration, and reports every mistake with its line and how to
fix it. With --connect it also starts every server, a few at a time, and says
for each one that fails why, and what to do.

  mcp-workbench check
  mcp-workbench check --connect
  mcp-workbench check --connect dev/github

Exit code: 0 success, 1 a server failed, 2 a bad file or an unknown name."""

SERVER_NAMES: Final[dict[str, Any]] = {
    "nargs": "*",
    "metavar": "NAME",
    "help": "only these: toolboxes, or servers as TOOLBOX/SERVER",
}


def add_commands(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    """Add the commands that look at servers and their tools to the command line."""
    check = commands.add_parser(
        "check",
        parents=[shared],
        help="check the configuration; --connect tries the servers",
        description=CHECK_DESCRIPTION,
    )
    check.add_argument("names", **SERVER_NAMES)
    check.add_argument("--connect", action="store_true", help="also start the servers, and list their tools")
    check.add_argument("--json", action="store_true", help="print the outcome as JSON, for scripts")
    index = commands.add_parser(
        "index",
        parents=[shared],
        help="list the tools of all servers once, for the search",
        description=INDEX_DESCRIPTION,
    )
    index.add_argument("names", **SERVER_NAMES)
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
        help="first start every server and list its tools again, as index does",
    )
    tokens.add_argument("--json", action="store_true", help="print the figures as JSON, for scripts")
