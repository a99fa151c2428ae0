"""Clients as people name them on the command line, and what to do where none is meant."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from mcp_workbench.cli.terminal import complain
from mcp_workbench.config.clients import CLIENTS, client_named
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_workbench.config.clients import Client


def resolve_clients(names: Iterable[str]) -> list[Client] | None:
    """Return the clients with these names, each once; None, after an error, if a name is not known."""
    found: dict[str, Client] = {}
    is_wrong = False
    for name in names:
        client = client_named(name)
        if client is None:
            complain(unknown_client(name))
            is_wrong = True
        else:
            found[client.id] = client
    return None if is_wrong else list(found.values())


def unknown_client(name: str) -> str:
    """Return an error that names the clients there are, and those that the name resembles."""
    spellings = {
        spelling.lower(): client.id
        for client in CLIENTS
        for spelling in (client.id, client.title, *client.aliases)
    }
    near = difflib.get_close_matches(name.lower(), spellings, n=3)
    guess = f" Did you mean: {', '.join(dict.fromkeys(spellings[it] for it in near))}?" if near else ""
    known = ", ".join(client.id for client in CLIENTS)
    return f"no client is known as '{show_name(name)}'.{guess} Known clients: {known}"
