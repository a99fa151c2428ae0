"""What the commands about servers have in common: the file, a row for each server, the words for scripts."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Literal

import msgspec

from mcp_workbench.cli.terminal import print_json
from mcp_workbench.config import load, locate
from mcp_workbench.errors import ConfigError, StartError
from mcp_workbench.serve.logs import report, set_up
from mcp_workbench.workbench.text.sanitise import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.config import LoadedConfig, Origin
    from mcp_workbench.downstream.server import ServerState
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

    Rows = dict[Origin, "Row"]


class Row(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is known of one server."""

    toolbox: str
    server: str
    state: ServerState | Literal["disabled"]
    """Where the server is in its life, or was at the end of the command."""
    tools: int | None = None
    seconds: float | None = None
    error: str | None = None
    stderr: tuple[str, ...] = ()
    hint: str | None = None


def load_or_report(
    option: str | None, *, as_json: bool, log_level: str, log_format: str
) -> LoadedConfig | None:
    """The configuration, with the log set up and its secrets kept out of it; None if it cannot be used, which
    is said then."""
    path = locate(option, os.environ)
    try:
        loaded = load(path, os.environ)
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
    """A row for each server of a configuration, by the names of its toolbox and of itself."""
    return {
        (toolbox, server): Row(
            toolbox=toolbox, server=server, state="disabled" if settings.disabled else "idle"
        )
        for toolbox, config in loaded.config.toolboxes.items()
        for server, settings in config.servers.items()
    }


async def attempt(toolbox_server: ToolboxServer, row: Row, on_change: Callable[[], None]) -> None:
    """Starts a server, and fills in its row when it is ready or has failed."""
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
    """So many of them, in words."""
    return f"{number:,} {one if number == 1 else many}"
