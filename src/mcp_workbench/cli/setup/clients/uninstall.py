"""`mcp-workbench uninstall`: takes the workbench out of the files of clients."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcp_workbench.cli.setup.clients.applying import (
    exit_code,
    failure,
    is_confirmed,
    outcome_of,
    show_change,
    write_change,
)
from mcp_workbench.cli.setup.clients.naming import resolve_clients
from mcp_workbench.cli.terminal import complain, print_json, say
from mcp_workbench.config.clients import this_machine
from mcp_workbench.errors import CannotChange
from mcp_workbench.setup.installing import plan_uninstall
from mcp_workbench.setup.undoing import REPLACING, open_commands

if TYPE_CHECKING:
    import argparse

    from mcp_workbench.config.clients import Client
    from mcp_workbench.setup.installing import ClientChange


def run(options: argparse.Namespace) -> int:
    """Take the workbench out of the clients that the options name, and return the exit code."""
    clients = resolve_clients(options.clients)
    if clients is None:
        return 2
    changes, outcomes = _plan(clients, options)
    if not options.json:
        for change in changes:
            show_change(change)
    if is_confirmed(changes, options):
        outcomes += [write_change(change, options, "uninstall") for change in changes]
    else:
        outcomes += [outcome_of(change, "pending") for change in changes]
    for client in {change.client.id for change in changes}:
        if REPLACING in open_commands(os.environ, client):
            complain(
                f"servers were taken out of this client's file: mcp-workbench undo {client} brings them back"
            )
    if options.json:
        print_json({"clients": outcomes, "dryRun": options.dry_run})
    return exit_code(outcomes, options)


def _plan(
    clients: list[Client], options: argparse.Namespace
) -> tuple[list[ClientChange], list[dict[str, object]]]:
    machine = this_machine(os.environ, ".")
    changes: list[ClientChange] = []
    outcomes: list[dict[str, object]] = []
    for client in clients:
        try:
            planned = plan_uninstall(machine, client, options.scope)
        except CannotChange as error:
            complain(f"{client.title}: {error}")
            outcomes.append(failure(client.id, error))
            continue
        changes += planned
        if not planned:
            outcomes.append({"client": client.id, "state": "absent"})
            if not options.json:
                say(_absent(client, options.scope))
    return changes, outcomes


def _absent(client: Client, scope: str) -> str:
    if client.paste:
        return f"{client.title} has no file that can be changed. Remove the workbench there: {client.paste}"
    other = "project" if scope == "user" else "user"
    return f"{client.title}: the workbench is not installed there. (For the other scope: --scope {other})"
