"""A row for each server, which the commands that start servers fill in and print."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

import msgspec

from mcp_workbench.errors import StartError
from mcp_workbench.workbench.text.sanitise import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.config import LoadedConfig, Origin
    from mcp_workbench.downstream.server import ServerState
    from mcp_workbench.errors import Cause
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
    cause: Cause | None = None
    """Why the server cannot be used, as a code of `CAUSES`; None unless it failed."""
    error: str | None = None
    stderr: tuple[str, ...] = ()
    hint: str | None = None


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
        row.cause = error.cause
        row.error = clean_text(error.reason)
        row.stderr = tuple(clean_text(line) for line in error.stderr)
        row.hint = error.hint or None
    row.state = toolbox_server.server.state
    row.seconds = round(time.perf_counter() - started, 3)
    on_change()


def count(number: int, one: str, many: str) -> str:
    """Return a number with its noun: "1 server", "1,200 servers"."""
    return f"{number:,} {one if number == 1 else many}"
