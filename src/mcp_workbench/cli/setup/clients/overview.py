"""`mcp-workbench install` without a name: lists the clients on this machine, with what each has now."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcp_workbench.cli.terminal import print_json, say
from mcp_workbench.config.clients import CLIENTS, find_files, install_target
from mcp_workbench.workbench.text.counting import count
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    from mcp_workbench.config.clients import Client, FoundFile, Machine


def list_clients(machine: Machine, *, as_json: bool) -> int:
    """Print the clients that are found, and those that are not, and return the exit code."""
    found = {client.id: _described(machine, client) for client in CLIENTS if client.files}
    here = {name: described for name, described in found.items() if described is not None}
    others = [client.id for client in CLIENTS if client.id not in here]
    if as_json:
        print_json({"clients": list(here.values()), "others": others})
        return 0
    for client in CLIENTS:
        if client.id in here:
            _show(client, here[client.id])
    if not here:
        say("No client was found on this machine.")
    say(f"Not found here: {', '.join(others)}")
    say("To install: mcp-workbench install CLIENT… (--dry-run shows the change only)")
    return 0


def _described(machine: Machine, client: Client) -> dict[str, object] | None:
    """Return what is known about a client; None if there is no sign of it on this machine."""
    files = find_files(machine, [client])
    target = install_target(machine, client, "user")
    path = target[0] if target is not None else None
    if not files and (path is None or not _has_directory(machine, path)):
        return None
    return {
        "id": client.id,
        "title": client.title,
        "target": path,
        "files": [_file(file) for file in files],
    }


def _has_directory(machine: Machine, path: str) -> bool:
    """Whether the client has a directory of its own, so that it is here although it has no servers yet."""
    directory = os.path.dirname(path)
    return os.path.isdir(directory) and os.path.realpath(directory) != os.path.realpath(machine.home)


def _file(file: FoundFile) -> dict[str, object]:
    described: dict[str, object] = {
        "path": file.path,
        "scope": file.scope,
        "servers": [server.name for server in file.servers if not server.is_workbench],
        "installedAs": [server.name for server in file.servers if server.is_workbench],
    }
    return described | {"error": file.error} if file.error else described


def _show(client: Client, described: dict[str, object]) -> None:
    say(f"{client.title} ({client.id})")
    files = described["files"]
    for file in files if isinstance(files, list) else []:
        state = file.get("error") or (
            f"{count(len(file['servers']), 'server', 'servers')}, "
            f"{'with' if file['installedAs'] else 'without'} the workbench"
        )
        scope = " (this project)" if file["scope"] == "project" else ""
        say(f"    {show_name(file['path'])}{scope}: {show_name(state)}")
    if not files:
        say(f"    {show_name(str(described['target']))}: no file yet")
