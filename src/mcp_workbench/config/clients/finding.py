"""Finds and reads the files in which clients keep their servers. A file that cannot be read stops nothing.

Owns how the servers are taken out of a document. What their entries mean is decided in `clients.conversion`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config.clients.found import FileContext, FoundFile, FoundServer, Input
from mcp_workbench.config.clients.limit_rules import project_settings
from mcp_workbench.config.clients.limits import outer_limits
from mcp_workbench.config.clients.own_entry import starts_workbench
from mcp_workbench.config.clients.parsing import UnreadableFile, parse_file
from mcp_workbench.config.clients.recognition import guess_client, guess_format, looks_flat
from mcp_workbench.config.clients.table import CLIENTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.config.clients.machine import Machine
    from mcp_workbench.config.clients.model import Client, ClientFile
    from mcp_workbench.config.documents import Step

_Key = tuple["Step", ...]


def find_files(machine: Machine, clients: Sequence[Client] = CLIENTS) -> list[FoundFile]:
    """Return the files of these clients that exist on this machine. Unreadable ones have an error."""
    found: list[FoundFile] = []
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for client in clients:
        for file in client.files:
            for path in machine.paths_of(file):
                if (path, file.key) in seen or not os.path.lexists(path):
                    continue
                seen.add((path, file.key))
                read = _read(path, client, file, machine)
                if read is not None:
                    found.append(read)
    return found


def read_file(path: str, client: Client | None, machine: Machine) -> FoundFile:
    """Return the servers of a file that a person names; the client is guessed if it is None."""
    if path.startswith(("~/", "~\\")):
        path = f"{machine.home}{path[1:]}"
    path = os.path.normpath(os.path.join(machine.directory, path))
    known = [client] if client is not None else CLIENTS
    for candidate in known:
        for file in candidate.files:
            if path in machine.paths_of(file):
                read = _read(path, candidate, file, machine)
                if read is not None:
                    return read
    form = guess_format(path)
    try:
        data = parse_file(path, form)
    except UnreadableFile as error:
        return FoundFile(client, "user", path, form, error=str(error))
    client, key = guess_client(data, path, client)
    project = _project_of(path, client)
    found = FoundFile(client, "project" if project else "user", path, form, key=key)
    return _with_servers(found, data, FileContext(project=project), machine)


def _read(path: str, client: Client, file: ClientFile, machine: Machine) -> FoundFile | None:
    """Return a file of a client, or None if it has no place for servers."""
    found = FoundFile(client, file.scope, path, file.format, key=file.key)
    try:
        data = parse_file(path, file.format)
    except UnreadableFile as error:
        return msgspec.structs.replace(found, error=str(error))
    key = _key_in(data, file, machine)
    if key is None:
        return None
    project = machine.directory if file.scope == "project" else ""
    return _with_servers(msgspec.structs.replace(found, key=key), data, FileContext(project=project), machine)


def _key_in(data: dict[str, object], file: ClientFile, machine: Machine) -> _Key | None:
    """Return the keys that lead to the servers in this document, or None if it has no place for them."""
    if file.key[0] == "projects":
        return _project_key(data, machine.directory)
    if file.may_be_flat and file.key[0] not in data and looks_flat(data):
        return ()
    # Settings that hold much else: most have no servers, and are then no file of servers.
    if len(file.key) > 1 and not isinstance(data.get(file.key[0]), dict):
        return None
    return file.key


def _project_key(data: dict[str, object], directory: str) -> _Key | None:
    name, project = project_settings(data, directory)
    return ("projects", name, "mcpServers") if project.get("mcpServers") else None


def _with_servers(
    file: FoundFile, data: dict[str, object], context: FileContext, machine: Machine
) -> FoundFile:
    node: object = data
    for step in file.key:
        node = node.get(str(step)) if isinstance(node, dict) else None
    if isinstance(node, dict):
        taken = [_take(file, name, entry, name) for name, entry in node.items()]
    elif isinstance(node, list):
        names = [entry.get("name") if isinstance(entry, dict) else None for entry in node]
        taken = [_take(file, name, node[index], index) for index, name in enumerate(names)]
    elif node is None:
        taken = []
    else:
        where = ".".join(map(str, file.key))
        return msgspec.structs.replace(file, error=f'"{where}" should hold servers, and does not')
    servers = tuple(server for server in taken if isinstance(server, FoundServer))
    notes = tuple(note for note in taken if isinstance(note, str))
    context = msgspec.structs.replace(
        context, inputs=_inputs(data), limits=outer_limits(file, data, servers, machine)
    )
    return msgspec.structs.replace(file, servers=servers, notes=notes, context=context)


def _take(file: FoundFile, name: object, entry: object, step: Step) -> FoundServer | str:
    """Return a server of a file, or a note that says why it is left out."""
    if not isinstance(name, str) or not name.strip():
        return "a server without a name is left out"
    if not isinstance(entry, dict):
        return f"{name}: is not an object, and is left out"
    if reason := _reason_to_skip(file.client, entry):
        return f"{name}: {reason}"
    return FoundServer(name, entry, (*file.key, step), starts_workbench(entry))


def _reason_to_skip(client: Client | None, entry: dict[str, object]) -> str:
    if client is None or not client.skipped_types:
        return ""
    kinds = (entry.get("type"), entry.get("source"))
    if entry.get("bundled") is True or any(kind in client.skipped_types for kind in kinds):
        return f"is part of {client.title} itself, and is left out"
    if not {"command", "cmd", "url", "uri", "args"} & entry.keys():
        return f"is an extension of {client.title}, and is left out"
    return ""


def _inputs(data: dict[str, object]) -> dict[str, Input]:
    listed = data.get("inputs")
    if not isinstance(listed, list):
        settings = data.get("mcp")
        listed = settings.get("inputs") if isinstance(settings, dict) else None
    found: dict[str, Input] = {}
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict) and isinstance(name := item.get("id"), str):
            prompt, default = item.get("description"), item.get("default")
            is_open = isinstance(default, str) and item.get("password") is not True
            found[name] = Input(
                prompt if isinstance(prompt, str) and prompt.strip() else name,
                str(default) if is_open else None,
            )
    return found


def _project_of(path: str, client: Client | None) -> str:
    """Return the directory of the project that a named file belongs to, or empty if it does not look so."""
    for known in [client] if client is not None else CLIENTS:
        for file in known.files:
            if file.scope != "project":
                continue
            for template in file.paths["linux"]:
                inner = os.path.normpath(template.removeprefix("{project}/"))
                if "{" not in inner and path.endswith(os.sep + inner):
                    return path.removesuffix(os.sep + inner)
    return ""
