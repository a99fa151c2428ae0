"""`mcp-workbench check`: is the configuration right, and do its servers work?"""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import TYPE_CHECKING, Literal

import msgspec

from mcp_workbench.cli.check_display import Display
from mcp_workbench.config import load, locate
from mcp_workbench.downstream.era_memory import cache_directory
from mcp_workbench.errors import ConfigError, StartError
from mcp_workbench.serve.logs import report, set_up
from mcp_workbench.serve.signals import cancel_on_request_to_end
from mcp_workbench.workbench.sanitise import clean_text
from mcp_workbench.workbench.workbench import build

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.downstream.server import State
    from mcp_workbench.workbench.shelf import Shelf


class Row(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is known of one server."""

    toolbox: str
    server: str
    state: State | Literal["disabled"]
    """Where the server is in its life, or was at the end of the check."""
    tools: int | None = None
    seconds: float | None = None
    error: str | None = None
    stderr: tuple[str, ...] = ()
    hint: str | None = None


def run(option: str | None, *, connect: bool, as_json: bool, log_level: str, log_format: str) -> int:
    """Checks, reports, and returns 0, 1 (a server failed) or 2 (a bad file)."""
    path = locate(option, os.environ)
    try:
        loaded = load(path, os.environ)
    except ConfigError as error:
        if as_json:
            problems = [msgspec.to_builtins(problem) for problem in error.problems]
            _print_json({"file": str(path), "valid": False, "problems": problems})
        else:
            report(error, log_format)
        return 2
    set_up(log_level, log_format).hide(loaded.secrets)
    rows = _rows(loaded)
    if as_json:
        if connect:
            asyncio.run(_connect(loaded, rows, lambda: None))
        servers = [msgspec.to_builtins(row) for row in rows.values()]
        _print_json({"file": str(path), "valid": True, "warnings": list(loaded.warnings), "servers": servers})
    else:
        with Display(loaded, list(rows.values()), connecting=connect) as display:
            if connect:
                asyncio.run(_connect(loaded, rows, display.update))
    return 1 if any(row.state == "failed" for row in rows.values()) else 0


def _rows(loaded: LoadedConfig) -> dict[tuple[str, str], Row]:
    return {
        (toolbox, server): Row(
            toolbox=toolbox, server=server, state="disabled" if settings.disabled else "idle"
        )
        for toolbox, config in loaded.config.toolboxes.items()
        for server, settings in config.servers.items()
    }


async def _connect(
    loaded: LoadedConfig, rows: dict[tuple[str, str], Row], on_change: Callable[[], None]
) -> None:
    """Starts every server at once, fills in its row when it is ready or has failed, and ends them all."""
    cancel_on_request_to_end()
    workbench = build(loaded, environ=os.environ, cache=cache_directory(os.environ))
    try:
        await asyncio.gather(
            *(
                _try(shelf, rows[toolbox.name, shelf.server.name], on_change)
                for toolbox in workbench.toolboxes.values()
                for shelf in toolbox.shelves.values()
            )
        )
    finally:
        await workbench.close()


async def _try(shelf: Shelf, row: Row, on_change: Callable[[], None]) -> None:
    started = time.perf_counter()
    row.state = "starting"
    on_change()
    try:
        row.tools = len(await shelf.tools())
    except StartError as error:
        row.error = clean_text(error.reason)
        row.stderr = tuple(clean_text(line) for line in error.stderr)
        row.hint = error.hint or None
    row.state = shelf.server.state
    row.seconds = round(time.perf_counter() - started, 3)
    on_change()


def _print_json(outcome: dict[str, object]) -> None:
    print(json.dumps(outcome, indent=2, ensure_ascii=False))
