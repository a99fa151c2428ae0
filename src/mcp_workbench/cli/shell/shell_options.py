"""The options of the commands that list, search and call tools, and of the completion for shells."""

from __future__ import annotations

import argparse
from typing import Any

from mcp_workbench.cli.parsing import read_seconds

TOOLS_DESCRIPTION = """\
Lists tools: what is known of all toolboxes, the tools of a toolbox or of a
server, or one tool with all its parameters. What is known comes from the
catalogue. Only a toolbox or server whose tools are not known yet is started.

  mcp-workbench tools                        all toolboxes and servers
  mcp-workbench tools dev                    the tools of a toolbox
  mcp-workbench tools dev/files/read_file    one tool with its parameters
  mcp-workbench tools --query "read a file"  search, as models do
  mcp-workbench tools --policy dev           which calls are allowed, and why

Exit code: 0 success, 1 nothing was found or a server failed, 2 a wrong name,
a wrong option or a bad file."""

CALL_DESCRIPTION = """\
Calls a tool and prints its result. Values are read by the input schema of the
tool: numbers, true and false, JSON for lists and objects. A repeated key adds
to a list, a.b=1 sets b inside a, key=@FILE reads a text file (@@ for a literal
@), and key:=JSON is JSON, whatever the schema says.

  mcp-workbench call dev/files/read_file path=notes.md head=5
  mcp-workbench call dev/git/log --args '{"count": 3}' --json
  cat arguments.json | mcp-workbench call dev/git/log -

The toolbox or the server may be left out if no other tool has that name. If a
workbench serves the same configuration over HTTP, it is used; otherwise one is
started for the call. If the server asks something during the call, you are
asked in the terminal. Ctrl-C cancels the call.

Exit code: 0 success, 1 the tool reports an error, 2 a wrong name, wrong
arguments or a bad file, 3 there is no result: the server cannot be started,
does not answer in time or fails, or the workbench does not make the call (the
tool is held or denied, a limit is reached, or a token or a login is missing),
130 interrupted."""

COMPLETION_DESCRIPTION = """\
Prints a script that completes commands, options, toolboxes, servers, tools
and their arguments. It starts no server.

  bash  mcp-workbench completion bash > \\
          ~/.local/share/bash-completion/completions/mcp-workbench
  zsh   mcp-workbench completion zsh > DIR/_mcp-workbench
          where DIR is in $fpath, before compinit runs
  fish  mcp-workbench completion fish > \\
          ~/.config/fish/completions/mcp-workbench.fish"""

SHELLS = ("bash", "zsh", "fish")


def add_commands(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    """Add the commands that list, search and call tools to the command line."""
    _add_tools(commands, shared)
    _add_call(commands, shared)
    completion = commands.add_parser(
        "completion",
        help="print a completion script for your shell",
        description=COMPLETION_DESCRIPTION,
    )
    completion.add_argument(
        "shell", metavar=f"{{{','.join(SHELLS)}}}", choices=SHELLS, help="the shell that is to complete"
    )


def _add_tools(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    tools = commands.add_parser(
        "tools",
        parents=[shared],
        help="list, search and explain tools",
        description=TOOLS_DESCRIPTION,
    )
    tools.add_argument(
        "name",
        nargs="?",
        metavar="TOOLBOX[/SERVER[/TOOL]]",
        help="a toolbox, a server or a tool (default: all toolboxes)",
    )
    tools.add_argument("--query", metavar="TEXT", help="search the known tools, as models do; starts nothing")
    tools.add_argument(
        "--detail",
        choices=("auto", "full", "signatures", "names"),
        default="auto",
        help="how much to show of each tool (default: auto)",
    )
    tools.add_argument(
        "--limit", type=_limit, metavar="N", help="how many tools a search returns (default: 8)"
    )
    tools.add_argument("--connect", action="store_true", help="start the servers and list their tools again")
    tools.add_argument(
        "--policy",
        action="store_true",
        help="show for each tool whether calls are allowed, asked about or denied, and by which rule",
    )
    _add_workbench(tools)
    tools.add_argument("--json", action="store_true", help="print what a model gets, as JSON")


def _add_call(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    call = commands.add_parser(
        "call",
        parents=[shared],
        help="call a tool",
        description=CALL_DESCRIPTION,
        usage="mcp-workbench call [options] TOOLBOX/SERVER/TOOL [key=value …] [-]",
    )
    call.takes_program = True
    call.add_argument(
        "tool",
        metavar="TOOLBOX/SERVER/TOOL",
        help="the tool, followed by its arguments; - reads them from stdin, as a JSON object",
    )
    call.add_argument(
        "--args", metavar="JSON", help="the arguments as a JSON object, or @FILE with one, or - for stdin"
    )
    call.add_argument(
        "--timeout",
        type=read_seconds,
        metavar="SECONDS",
        help="how long to wait for the server (default: its own)",
    )
    call.add_argument("--save", metavar="FILE|DIR", help="write images, sounds and files of the result there")
    _add_workbench(call)
    call.add_argument("--json", action="store_true", help="print the whole result as JSON, as it came")


def _add_workbench(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--local", action="store_true", help="do not use a workbench that runs already")
    which.add_argument(
        "--url", metavar="URL", help="use the workbench there; $WORKBENCH_TOKEN has the token if it needs one"
    )


def _limit(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 0 < int(text) <= 100:
        raise argparse.ArgumentTypeError("should be a number from 1 to 100")
    return int(text)
