"""What `install` puts into a client: the entry in the client's form, and the file that it goes into."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_workbench.config.clients.machine import Machine
    from mcp_workbench.config.clients.model import Client, ClientFile, Scope

ENTRY_NAME = "workbench"
"""The name of the entry of the workbench in a client."""


def entry_for(client: Client, command: str, args: Sequence[str], env: Mapping[str, str]) -> dict[str, object]:
    """Return the entry that starts a program, in the form of a client."""
    form = client.form
    entry: dict[str, object] = {"name": ENTRY_NAME} if form.has_name else {}
    entry |= form.first
    if form.is_one_list:
        entry[form.command_key] = [command, *args]
    else:
        entry |= {form.command_key: command, "args": list(args)}
    if env or form.always_has_env:
        entry[form.env_key] = dict(env)
    return entry | form.last


def install_target(machine: Machine, client: Client, scope: Scope) -> tuple[str, ClientFile] | None:
    """Return the file that `install` writes, None if the client has none.

    A path that a variable names comes first, then a file that exists, then the usual path.
    """
    files = [file for file in client.files if file.scope == scope and file.is_installable]
    for file in files:
        if (chosen := machine.chosen_path(file)) is not None:
            return chosen, file
    candidates = [(path, file) for file in files for path in machine.paths_of(file)]
    existing = (candidate for candidate in candidates if os.path.lexists(candidate[0]))
    return next(existing, candidates[0] if candidates else None)
