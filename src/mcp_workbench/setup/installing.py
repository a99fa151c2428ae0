"""Plans the change of a client's file that puts the workbench into it, or takes it out.

Owns which entry is written where, and what happens to an entry of the same name. Nothing is written here:
`file_changes.apply` does that.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

import msgspec

from mcp_workbench.config.clients import entry_for, find_files, install_target
from mcp_workbench.config.clients.installing import ENTRY_NAME
from mcp_workbench.config.clients.own_entry import starts_workbench
from mcp_workbench.config.documents import open_document
from mcp_workbench.config.documents.plain import get, has, is_same
from mcp_workbench.config.source.references import WORKSPACE_VARIABLE
from mcp_workbench.errors import CannotChange, DocumentError
from mcp_workbench.setup.file_changes import FileChange, read_for_change
from mcp_workbench.setup.previews import mask_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from mcp_workbench.config.clients import Client, ClientFile, FoundFile, FoundServer, Machine, Scope
    from mcp_workbench.config.documents import Document, Format, Path
    from mcp_workbench.setup.launching import Launch

Effect = Literal["add", "update", "overwrite", "same", "remove", "absent"]
"""What a change of a client's file does with the entry of the workbench."""


class ClientChange(msgspec.Struct, frozen=True):
    """The change of a client's file, with what it does and what the file is to hold afterwards."""

    client: Client
    change: FileChange
    format: Format
    effect: Effect
    names: tuple[str, ...]
    """Names of the entries of the workbench that are written or removed."""
    replaced: tuple[str, ...] = ()
    """Names of the client's own servers that are taken out."""
    expected: object = None
    """Content of the file after the change, as plain data."""

    @property
    def lacks_workspace(self) -> bool:
        """Whether the client does not tell servers which project is open."""
        return not self.client.passes_workspace

    @property
    def next_step(self) -> str:
        """What the person does now, so that the client takes the change up."""
        return self.client.after_install.format(title=self.client.title)

    @property
    def path(self) -> str:
        """Path of the client's file."""
        return self.change.path

    def diff(self) -> list[str]:
        """Return the change as the lines of a unified diff, with the secrets of the file masked."""
        contents = (self.change.before, self.change.after)
        return self.change.diff(mask_of(self.format, *contents, is_public=starts_workbench))


def find_target(machine: Machine, client: Client, scope: Scope) -> tuple[str, ClientFile]:
    """Return the file of a client that the workbench is installed in. Raises CannotChange without one."""
    target = install_target(machine, client, scope)
    if target is None:
        other = "user" if scope == "project" else "project"
        raise CannotChange(client.title, f"it has no file for the scope {scope}", f"Use --scope {other}.")
    return target


def found_at(machine: Machine, client: Client, scope: Scope, path: str) -> FoundFile | None:
    """Return the servers in a file of a client; None if there is no file. Raises CannotChange on damage."""
    found = next(
        (file for file in find_files(machine, [client]) if file.path == path and file.scope == scope), None
    )
    if found is not None:
        _require_readable(found)
    return found


def plan_install(
    machine: Machine,
    client: Client,
    scope: Scope,
    launch: Launch,
    *,
    name: str | None = None,
    may_overwrite: Callable[[str, str], bool] = lambda _path, _name: False,
    replaces: Collection[tuple[str, Path]] = (),
) -> ClientChange:
    """Return the change that puts the workbench into the file of a client.

    `may_overwrite` is asked with a path and a name where an entry of another program has the name.
    `replaces` has the servers to take out, by the path of the file and the place in it. Raises CannotChange.
    """
    path, kind = find_target(machine, client, scope)
    before = read_for_change(path)
    found = None if before is None else found_at(machine, client, scope, path)
    document = _opened(path, kind.format, before)
    key = kind.key if found is None else found.key
    servers = _checked(path, document, () if found is None else found.servers)
    present = _present(servers, name)
    chosen = present.name if present is not None else name or ENTRY_NAME
    effect: Effect = "update" if present is not None and present.is_workbench else "add"
    taken_out = [server for server in servers if (path, server.path) in replaces]
    if effect == "add" and present not in taken_out and _is_taken(document, key, kind, present, chosen):
        effect = "overwrite"
        if not may_overwrite(path, chosen):
            remedy = f"Nothing was written. Choose another name: --name {ENTRY_NAME}-2"
            raise CannotChange(path, f"another server has the name '{chosen}' there", remedy)
    entry = _entry(client, launch, chosen)
    try:
        if before is None:
            for top, value in client.new_file.items():
                document.set((top,), value)
        if present is not None:
            document.set(present.path, _merged(present.entry, entry) if effect == "update" else entry)
        elif kind.is_list:
            document.append(key, entry)
        else:
            document.set((*key, chosen), entry)
        _remove(document, [server for server in taken_out if server is not present])
        after = document.encode()
    except DocumentError as error:
        raise _cannot_edit(path, error) from error
    return ClientChange(
        client=client,
        change=FileChange(path, before, after),
        format=kind.format,
        effect="same" if after == before else effect,
        names=(chosen,),
        replaced=tuple(server.name for server in taken_out),
        expected=document.data,
    )


def plan_uninstall(machine: Machine, client: Client, scope: Scope) -> list[ClientChange]:
    """Return the changes that take the workbench out of the files of a client. Raises CannotChange."""
    changes = []
    files = [found for found in find_files(machine, [client]) if found.scope == scope]
    for found in files:
        if not any(server.is_workbench for server in found.servers):
            continue
        before = read_for_change(found.path)
        document = _opened(found.path, found.format, before)
        ours = [server for server in _checked(found.path, document, found.servers) if server.is_workbench]
        try:
            _remove(document, ours)
            after = document.encode()
        except DocumentError as error:
            raise _cannot_edit(found.path, error) from error
        changes.append(
            ClientChange(
                client=client,
                change=FileChange(found.path, before, after),
                format=found.format,
                effect="remove",
                names=tuple(server.name for server in ours),
                expected=document.data,
            )
        )
    if not changes:
        # Whether the workbench is in a file that cannot be read is not known.
        for found in files:
            _require_readable(found)
    return changes


def snippet_for(launch: Launch) -> str:
    """Return the entry of the workbench as JSON, in the form that most clients take."""
    entry = {"command": launch.command, "args": list(launch.args), "env": launch.env}
    return json.dumps({"mcpServers": {ENTRY_NAME: entry}}, indent=2, ensure_ascii=False)


def verify(change: ClientChange) -> None:
    """Read a file again that was written, and check what it holds. Raises CannotChange if that is wrong."""
    written = read_for_change(change.path)
    remedy = f"Restore it with: mcp-workbench undo {change.client.id}"
    try:
        data = open_document(change.format, written or b"").data
    except DocumentError as error:
        raise CannotChange(change.path, f"it cannot be parsed after the change: {error}", remedy) from error
    if not is_same(data, change.expected):
        raise CannotChange(change.path, "it does not hold what was written", remedy)


def _require_readable(found: FoundFile) -> None:
    if found.error:
        raise CannotChange(found.path, found.error, "Nothing was written. Fix the file first.")


def _present(servers: Sequence[FoundServer], name: str | None) -> FoundServer | None:
    """Return the entry that is to be replaced: the one of that name, or else ours under any name.

    A person who names the entry may want several, one for each configuration.
    """
    same_name = [server for server in servers if server.name == (name or ENTRY_NAME)]
    ours = [server for server in servers if server.is_workbench]
    if name is None and not any(server.is_workbench for server in same_name):
        return next(iter([*ours, *same_name]), None)
    return next(iter(same_name), None)


def _entry(client: Client, launch: Launch, name: str) -> dict[str, object]:
    env = dict(launch.env)
    if launch.needs_workspace and client.passes_workspace:
        env[WORKSPACE_VARIABLE] = "${workspaceFolder}"
    entry = entry_for(client, launch.command, launch.args, env)
    return {**entry, "name": name} if client.form.has_name else entry


def _remove(document: Document, servers: Sequence[FoundServer]) -> None:
    """Remove entries from the document."""
    # In a list the last go first, so that the others keep their places.
    for server in sorted(servers, key=lambda server: _last_index(server.path), reverse=True):
        document.remove(server.path)


def _is_taken(
    document: Document, key: Path, kind: ClientFile, present: FoundServer | None, name: str
) -> bool:
    """Whether a server of another program has the name, or anything else that was left out as no server."""
    return present is not None or (not kind.is_list and has(document.data, (*key, name)))


def _merged(present: dict[str, object], entry: dict[str, object]) -> dict[str, object]:
    """Return our entry with what the person or the client has added to it, such as variables."""
    merged = dict(present)
    for key, value in entry.items():
        old = present.get(key)
        merged[key] = {**old, **value} if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _opened(path: str, format_: Format, before: bytes | None) -> Document:
    try:
        return open_document(format_, before or b"")
    except DocumentError as error:
        raise _cannot_edit(path, error) from error


def _cannot_edit(path: str, error: DocumentError) -> CannotChange:
    place = "".join(f":{number}" for number in (error.line, error.column) if number is not None)
    return CannotChange(
        f"{path}{place}", error.reason, "Nothing was written. Correct the file, or edit it by hand."
    )


def _checked(path: str, document: Document, servers: Sequence[FoundServer]) -> list[FoundServer]:
    """Return the servers, if they stand where they were found when the file was read before."""
    for server in servers:
        if not has(document.data, server.path) or get(document.data, server.path) != server.entry:
            raise CannotChange(
                path, "it has changed meanwhile", "Nothing was written. Run the command again."
            )
    return list(servers)


def _last_index(path: Path) -> int:
    """Return the index in a list that a path ends with: later ones are removed first."""
    return path[-1] if path and isinstance(path[-1], int) else 0
