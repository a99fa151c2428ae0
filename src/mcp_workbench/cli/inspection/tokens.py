"""`mcp-workbench tokens`: what the configuration costs a model in tokens, with and without the workbench."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.cli.configuration import load_or_report
from mcp_workbench.cli.inspection.costs import costs_of, figures
from mcp_workbench.cli.inspection.index import list_tools
from mcp_workbench.cli.inspection.rows import rows_of
from mcp_workbench.cli.inspection.tokens_display import show
from mcp_workbench.cli.terminal import complain, print_json, say
from mcp_workbench.serve.signals import cancel_on_request_to_end
from mcp_workbench.storage.directories import cache_directory
from mcp_workbench.workbench.client_view import ClientView
from mcp_workbench.workbench.registry import build
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse

    from mcp_workbench.cli.inspection.costs import Costs
    from mcp_workbench.config import LoadedConfig, Origin

REMEDY: Final = "List them with mcp-workbench index, or with --connect."


class TokenReport(msgspec.Struct, frozen=True):
    """The costs of a configuration in tokens."""

    toolboxes: dict[str, Costs]
    """Costs of a workbench that has only this toolbox, for each toolbox."""
    total: Costs
    """Costs of the workbench with all toolboxes."""
    missing: list[Origin]
    """Servers that are not counted, because the catalogue does not have their tools."""


def run(options: argparse.Namespace) -> int:
    """Count the tokens and print them. Return 0, 1 (no tools known, or a server failed) or 2 (a bad file)."""
    loaded = load_or_report(options, as_json=options.json)
    if loaded is None:
        return 2
    has_failed = options.connect and _list_tools(loaded, quietly=options.json)
    account = asyncio.run(_count(loaded))
    if options.json:
        _print_json(loaded, account)
    elif account.total.servers:
        show(account.toolboxes, account.total)
        _mention(account.missing)
    elif account.missing:
        complain(f"no tools are known of any server in {loaded.path}. {REMEDY}")
    else:
        complain(f"there is no server in {loaded.path}")
    return 1 if has_failed or not account.total.servers else 0


def _list_tools(loaded: LoadedConfig, *, quietly: bool) -> bool:
    """List the tools of all servers into the catalogue. Return whether something failed."""
    rows = rows_of(loaded)
    catalogue = list_tools(loaded, rows, quietly=quietly)
    if not quietly:
        print()
    if catalogue.trouble is not None:
        complain(f"the catalogue cannot be written: {catalogue.trouble}")
    return catalogue.trouble is not None or any(row.state == "failed" for row in rows.values())


async def _count(loaded: LoadedConfig) -> TokenReport:
    """Count the tokens of each toolbox from the catalogue, without starting a server."""
    cancel_on_request_to_end()
    workbench = build(loaded, environ=os.environ, cache=cache_directory(os.environ))
    try:
        view = ClientView(workbench)
        toolboxes = workbench.toolboxes
        return TokenReport(
            {name: await costs_of(view, [toolbox]) for name, toolbox in toolboxes.items()},
            await costs_of(view, list(toolboxes.values())),
            [
                origin
                for origin, toolbox_server in workbench.toolbox_servers.items()
                if toolbox_server.known() is None
            ],
        )
    finally:
        await workbench.close()


def _print_json(loaded: LoadedConfig, account: TokenReport) -> None:
    toolboxes = [{"toolbox": name, **figures(costs)} for name, costs in account.toolboxes.items()]
    print_json(
        {
            "file": loaded.path,
            "toolboxes": toolboxes,
            "total": figures(account.total),
            "missing": [{"toolbox": toolbox, "server": server} for toolbox, server in account.missing],
        }
    )


def _mention(missing: list[Origin]) -> None:
    if missing:
        names = ", ".join(show_name("/".join(origin)) for origin in missing)
        say(f"\nNot counted, because their tools are not known yet: {names}. {REMEDY}")
