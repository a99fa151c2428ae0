"""Shows what an import finds and changes: as text for people, and as an object for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_workbench.cli.terminal import say
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_workbench.config.clients import FoundFile
    from mcp_workbench.setup.importing.plan import ImportedServer, ImportPlan
    from mcp_workbench.setup.importing.secret_names import NewSecret
    from mcp_workbench.storage.secrets import SecretStore

_INDENT: Final = "    "
_MAX_WIDTH: Final = 40
"""Width of the column of names, in characters. Longer names stand out."""
_SECRETS_TITLE: Final = (
    "Secrets in plain text, to be moved to the keyring (or else a file that only you can read):"
)


def show_found(plan: ImportPlan, files: Sequence[FoundFile], *, show_all: bool) -> None:
    """Print what was found in each file of each client, and what becomes of it.

    Files without servers are shown only with `show_all`.
    """
    by_file: dict[str, list[ImportedServer]] = {}
    for server in plan.servers:
        by_file.setdefault(_key(server.file), []).append(server)
    for file in files:
        servers = by_file.get(_key(file), [])
        if show_all or servers or file.error or file.notes:
            say(f"{_title(file)}: {show_name(file.path)}")
            for line in _lines(file, servers):
                say(plan.mask(f"  {line}"))


def show_change(plan: ImportPlan) -> None:
    """Print the change of the configuration file as a diff, without secrets."""
    if plan.change is not None:
        say("")
        for line in plan.change.diff(plan.mask):
            say(line)


def show_secrets(secrets: Sequence[NewSecret]) -> None:
    """Print the names of secrets in plain text, and where each was found."""
    if secrets:
        say(f"\n{_SECRETS_TITLE}")
        for secret in secrets:
            stored = " (stored already)" if secret.is_stored else ""
            say(f"  {secret.name}{stored}: {', '.join(map(show_name, secret.places))}")


def kept_in_file(store: SecretStore) -> str:
    """Return in one sentence that secrets are in a file, and why; empty if a keyring keeps them all."""
    if not store.keyring_error:
        return ""
    return (
        f"secrets are in {show_name(store.path)}, which only you can read: {show_name(store.keyring_error)}"
    )


def summary(plan: ImportPlan) -> str:
    """Return in one line how many servers are added, are present, and are refused."""
    count = {state: sum(one.state == state for one in plan.servers) for state in ("added", "refused")}
    present = {(one.toolbox, one.name) for one in plan.servers if one.state == "present"}
    parts = [_counted(count["added"], "server") + " to add"] if count["added"] else []
    if present:
        parts.append(f"{len(present)} in the workbench already")
    if count["refused"]:
        parts.append(f"{count['refused']} not imported (see above)")
    return ", ".join(parts) or "no servers found"


def as_object(plan: ImportPlan, files: Sequence[FoundFile], *, is_written: bool) -> dict[str, object]:
    """Return the import as an object for scripts. It has the names of secrets, never their values."""
    return {
        "file": plan.path,
        "written": is_written,
        "found": [_file_object(plan, file) for file in files],
        "added": [f"{one.toolbox}/{one.name}" for one in plan.servers if one.state == "added"],
        "present": sorted({f"{one.toolbox}/{one.name}" for one in plan.servers if one.state == "present"}),
        "refused": [plan.mask(one.server.name) for one in plan.servers if one.state == "refused"],
        "secrets": [secret.name for secret in plan.secrets],
        "missing": sorted(plan.inputs),
        "warnings": list(plan.warnings),
    }


def _file_object(plan: ImportPlan, file: FoundFile) -> dict[str, object]:
    servers = [
        {
            "server": plan.mask(one.server.name),
            "state": one.state,
            "toolbox": one.toolbox or None,
            "name": one.name or None,
            "reasons": list(map(plan.mask, one.reasons)),
            "notes": list(map(plan.mask, one.notes)),
        }
        for one in plan.servers
        if _key(one.file) == _key(file)
    ]
    return {
        "client": file.client.id if file.client else None,
        "scope": file.scope,
        "file": file.path,
        "error": file.error or None,
        "notes": list(map(plan.mask, file.notes)),
        "servers": servers,
    }


def _lines(file: FoundFile, servers: Sequence[ImportedServer]) -> Iterator[str]:
    if file.error:
        yield f"cannot be read: {file.error}"
    elif not servers:
        yield "no servers"
    yield from map(show_name, file.notes)
    width = min(max((len(show_name(one.server.name)) for one in servers), default=0), _MAX_WIDTH)
    for one in servers:
        yield f"{show_name(one.server.name).ljust(width)}  {_fate(one)}"
        yield from (f"{_INDENT}{show_name(text)}" for text in (*one.reasons, *one.notes))


def _fate(one: ImportedServer) -> str:
    where = show_name(f"{one.toolbox}/{one.name}")
    texts = {
        "added": f"new: {where}",
        "merged": f"the same as {where}",
        "present": f"in the workbench already: {where}",
        "refused": "not imported:",
        "own": "the workbench itself",
    }
    return texts[one.state]


def _key(file: FoundFile) -> str:
    return f"{file.path}\n{file.key}"


def _title(file: FoundFile) -> str:
    title = file.client.title if file.client else "File"
    return f"{title} (this project)" if file.scope == "project" else title


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"
