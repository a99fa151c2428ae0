"""Shared by the commands about servers: loading the configuration, and a row for each server."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Literal

import msgspec

from mcp_workbench.cli.terminal import print_json
from mcp_workbench.config import load, locate
from mcp_workbench.config.places import FILE_NAME
from mcp_workbench.errors import ConfigError, StartError
from mcp_workbench.serve.logs import report, set_up
from mcp_workbench.storage.secret_lookup import secret_lookup
from mcp_workbench.workbench.text.sanitise import clean_text, show_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.config import LoadedConfig, Origin
    from mcp_workbench.downstream.server import ServerState
    from mcp_workbench.workbench.configured_server import ConfiguredServer

    Rows = dict[Origin, "Row"]


class Row(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A server in the table of a command, or in its JSON output."""

    toolbox: str
    server: str
    state: ServerState | Literal["disabled"]
    """State of the server now, or at the end of the command."""
    tools: int | None = None
    seconds: float | None = None
    error: str | None = None
    stderr: tuple[str, ...] = ()
    hint: str | None = None


def configuration_path(option: str | None) -> str:
    """Return the path of the configuration file. Say on stderr which it is, if that is not obvious.

    A file that is named, or is in the working directory, is obvious. One from `$WORKBENCH_CONFIG` or from the
    user's configuration directory is not.
    """
    path = locate(option, os.environ)
    if option is None and path != FILE_NAME:
        print(f"Configuration: {show_name(path)}", file=sys.stderr)
    return path


def load_or_report(
    option: str | None, *, as_json: bool, log_level: str, log_format: str
) -> LoadedConfig | None:
    """Return the configuration, and set up the log to mask its secrets.

    If the configuration cannot be used, report its problems and return None.
    """
    path = configuration_path(option)
    try:
        loaded = load(path, os.environ, lookup=secret_lookup(os.environ))
    except ConfigError as error:
        if as_json:
            problems = [msgspec.to_builtins(problem) for problem in error.problems]
            print_json({"file": path, "valid": False, "problems": problems})
        else:
            report(error, log_format)
        return None
    set_up(log_level, log_format).hide(loaded.secrets)
    return loaded


def rows_of(loaded: LoadedConfig) -> Rows:
    """Return a row for each server of a configuration, by the names of its toolbox and of the server."""
    return {
        (toolbox, server): Row(
            toolbox=toolbox, server=server, state="disabled" if settings.disabled else "idle"
        )
        for toolbox, config in loaded.config.toolboxes.items()
        for server, settings in config.servers.items()
    }


async def attempt(toolbox_server: ConfiguredServer, row: Row, on_change: Callable[[], None]) -> None:
    """Start a server and list its tools, and fill in its row when it is ready or has failed."""
    started = time.perf_counter()
    row.state = "starting"
    on_change()
    try:
        row.tools = len(await toolbox_server.tools(modern=True))
    except StartError as error:
        row.error = clean_text(error.reason)
        row.stderr = tuple(clean_text(line) for line in error.stderr)
        row.hint = error.hint or None
    row.state = toolbox_server.server.state
    row.seconds = round(time.perf_counter() - started, 3)
    on_change()


def count(number: int, one: str, many: str) -> str:
    """Return a number with its noun: "1 server", "1,200 servers"."""
    return f"{number:,} {one if number == 1 else many}"
