"""`mcp-workbench list`: the toolboxes and servers of the configuration file, mistakes included."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.cli.terminal import print_json, say
from mcp_workbench.config import locate
from mcp_workbench.errors import ConfigError
from mcp_workbench.serve.logs import report, set_up
from mcp_workbench.setup.listing import list_configuration
from mcp_workbench.workbench.text.counting import count
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from mcp_workbench.setup.listing import ListedServer, ListedToolbox


def run(options: argparse.Namespace) -> int:
    """List the configuration. Return 0, or 2 if the file cannot be read."""
    log_format = options.log_format or "text"
    set_up(options.log_level or "off", log_format)
    path = locate(options.config, os.environ)
    try:
        listing = asyncio.run(list_configuration(path, os.environ))
    except ConfigError as error:
        if options.json:
            problems = [msgspec.to_builtins(problem) for problem in error.problems]
            print_json({"file": path, "problems": problems})
        else:
            report(error, log_format)
        return 2
    if options.json:
        print_json(msgspec.to_builtins(listing))
        return 0
    servers = sum(len(toolbox.servers) for toolbox in listing.toolboxes)
    toolboxes = count(len(listing.toolboxes), "toolbox", "toolboxes")
    say(f"{show_name(path)}: {toolboxes}, {count(servers, 'server', 'servers')}")
    for line in _problems(listing.problems, ""):
        say(line)
    for toolbox in listing.toolboxes:
        say("\n" + "\n".join(_lines(toolbox)))
    return 0


def _lines(toolbox: ListedToolbox) -> Iterator[str]:
    yield f"{show_name(toolbox.toolbox)}: {show_name(toolbox.description)}"
    yield from _problems(toolbox.problems, "  ")
    width = max((len(show_name(server.server)) for server in toolbox.servers), default=0)
    for server in toolbox.servers:
        yield f"  {show_name(server.server):{width}}  {show_name(server.runs)}{_remarks(server)}"
        yield from _problems(server.problems, "    ")


def _remarks(server: ListedServer) -> str:
    remarks = ["disabled"] if server.state == "disabled" else []
    if server.tools is not None:
        remarks.append(count(server.tools, "tool", "tools"))
    if server.tool_filters:
        remarks.append(f"toolFilters {', '.join(map(show_name, server.tool_filters))}")
    return f"  ({'; '.join(remarks)})" if remarks else ""


def _problems(problems: Sequence[str], indent: str) -> Iterator[str]:
    for problem in problems:
        yield f"{indent}mistake: " + problem.replace("\n    ", f"\n{indent}  ")
