"""`mcp-workbench check`: validates the configuration, and with `--connect` starts its servers."""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.cli.configuration import load_or_report
from mcp_workbench.cli.inspection.display import Display
from mcp_workbench.cli.inspection.rows import choose_rows, count_states, rows_of
from mcp_workbench.cli.terminal import print_json, say
from mcp_workbench.cli.trust.lock_reading import read_lock_or_report
from mcp_workbench.serve.signals import cancel_on_request_to_end
from mcp_workbench.setup.trial import attempt
from mcp_workbench.storage.directories import cache_directory
from mcp_workbench.workbench.registry import build
from mcp_workbench.workbench.text.counting import count
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from mcp_workbench.cli.inspection.rows import Row, Rows
    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.storage.catalogue import Catalogue
    from mcp_workbench.workbench.configured_server import ConfiguredServer

MAX_RUNNING_SERVERS: Final = max(4, min(2 * (os.cpu_count() or 1), 8))
"""Servers that run at the same time. With more, each start takes longer and all of them hardly less."""


MAX_NAMES: Final = 3
"""Servers that the command to run next names. With more, it tries all of them."""


def run(options: argparse.Namespace) -> int:
    """Check the configuration and print the result.

    Return 0, 1 (a server failed) or 2 (a bad file or lock, an unknown name).
    """
    loaded = load_or_report(options, as_json=options.json)
    if loaded is None:
        return 2
    rows = choose_rows(loaded, options.names)
    if rows is None or read_lock_or_report(options, loaded) is None:
        return 2
    if options.json:
        _check_as_json(loaded, rows, connecting=options.connect)
    elif options.connect:
        with Display(_heading(loaded), loaded.warnings, list(rows.values())) as display:
            asyncio.run(connect(loaded, rows, display.update))
        display.conclude(
            f"{count_states(rows.values())}. {_to_look_at(rows)}{_next_step(rows, options.config)}"
        )
    else:
        _list(loaded, rows)
    return 1 if any(row.state == "failed" for row in rows.values()) else 0


def _heading(loaded: LoadedConfig) -> str:
    toolboxes = count(len(loaded.config.toolboxes), "toolbox", "toolboxes")
    return f"{loaded.path} is valid: {toolboxes}, {count(len(rows_of(loaded)), 'server', 'servers')}"


def _list(loaded: LoadedConfig, rows: Rows) -> None:
    say(_heading(loaded))
    for warning in loaded.warnings:
        say(f"warning: {warning}")
    for row in rows.values():
        state = "disabled" if row.state == "disabled" else "enabled"
        say(f"{state:<8}  {show_name(row.name)}")


def _check_as_json(loaded: LoadedConfig, rows: Rows, *, connecting: bool) -> None:
    """Print the result as JSON; after an interruption, what is known by then."""
    try:
        if connecting:
            asyncio.run(connect(loaded, rows, lambda: None))
    finally:
        servers = [msgspec.to_builtins(row) for row in rows.values()]
        warnings = list(loaded.warnings)
        print_json({"file": loaded.path, "valid": True, "warnings": warnings, "servers": servers})


def _to_look_at(rows: Rows) -> str:
    """Return the commands that show what is held, and the findings of the scanner, if there are any."""
    is_held = any(row.held or row.withheld for row in rows.values())
    held = "Held: mcp-workbench review. " if is_held else ""
    return held + ("Findings: mcp-workbench scan. " if any(row.findings for row in rows.values()) else "")


def _next_step(rows: Rows, config: str | None) -> str:
    """Return the command to run next, and when."""
    failed = [row for row in rows.values() if row.state == "failed"]
    options = ["--config", config] if config else []
    if not rows:
        add = ["mcp-workbench", "add", *options, "time", "--", "uvx", "mcp-server-time"]
        return f"Add one: {show_name(shlex.join(add))}"
    if not failed:
        return "Next: mcp-workbench install"
    if len(failed) == 1 and failed[0].cause == "login-required":
        lead, words = "Next:", ["login"]
    else:
        lead, words = "After a fix:", ["check", "--connect"]
    names = [row.name for row in failed] if len(failed) <= MAX_NAMES else []
    words = ["mcp-workbench", *words, *options, *names]
    return f"{lead} {show_name(shlex.join(words))}"


async def connect(
    loaded: LoadedConfig,
    rows: Rows,
    on_change: Callable[[], None],
    on_listed: Callable[[ConfiguredServer], None] | None = None,
    *,
    keeps_pins: bool = True,
) -> Catalogue:
    """Start the servers of these rows, a few at a time, and fill in the rows.

    Each server is stopped when it has listed its tools. Before that, `on_listed` is called if it works.
    Without `keeps_pins` nothing is pinned or held. Return the catalogue, which has the lists.
    """
    cancel_on_request_to_end()
    workbench = build(loaded, environ=os.environ, cache=cache_directory(os.environ), keeps_pins=keeps_pins)
    turns = asyncio.Semaphore(MAX_RUNNING_SERVERS)

    async def try_one(toolbox_server: ConfiguredServer, row: Row) -> None:
        async with turns:
            row.state = "starting"
            on_change()
            trial = await attempt(toolbox_server)
            row.fill_in(trial)
            if not trial.error:
                row.note_trust(toolbox_server)
            on_change()
            if on_listed is not None and not trial.error:
                on_listed(toolbox_server)
            await toolbox_server.server.close()

    try:
        chosen = [
            (toolbox_server, rows[origin])
            for origin, toolbox_server in workbench.toolbox_servers.items()
            if origin in rows
        ]
        await asyncio.gather(*(try_one(toolbox_server, row) for toolbox_server, row in chosen))
    finally:
        await workbench.close()
    return workbench.catalogue
