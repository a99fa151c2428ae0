"""The configuration file as a document: read, edited, checked, and written in one step.

Owns that nothing invalid is written, and that no edit of another process is lost. What an edit changes is
decided in `editing`.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.config import load_data
from mcp_workbench.config.documents import open_document
from mcp_workbench.config.source.expand import no_secrets
from mcp_workbench.errors import CannotChange, ConfigError, EditRefused
from mcp_workbench.setup.editing import SERVERS, TOOLBOXES
from mcp_workbench.setup.file_changes import FileChange, apply, read_for_change
from mcp_workbench.storage.secrets import SecretStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp_workbench.config.documents import Document
    from mcp_workbench.config.source.expand import SecretLookup
    from mcp_workbench.errors import Problem

MAX_ATTEMPTS: Final = 20
"""How often an edit is made anew, because another process has changed the file meanwhile."""


class Edited(msgspec.Struct, frozen=True):
    """The outcome of an edit of the configuration file."""

    path: str
    line: int | None
    """The line that the edit is about, counted from 1."""
    is_changed: bool
    """Whether the file was written. If not, it had that content already."""
    is_new: bool
    """Whether there was no file before."""
    missing: tuple[Problem, ...]
    """Values that the edit makes necessary, and that are not there: variables that are not set, and so on."""
    data: dict[str, object]
    """The content of the file after the edit."""


def read_document(path: str) -> Document:
    """Return the configuration file as a document, which is empty if there is no file.

    Raises DocumentError if it cannot be parsed, and CannotChange if it cannot be edited.
    """
    return open_document("json", read_for_change(path) or b"")


def edit(
    path: str,
    environ: Mapping[str, str],
    change: Callable[[Document], int | None],
    *,
    command: str,
) -> Edited:
    """Make an edit of the configuration file. `change` makes it in the document, and returns its line.

    If another process changes the file meanwhile, the edit is made anew. Raises what `change` raises,
    DocumentError, CannotChange, and EditRefused if the edit would make a mistake in the file.
    """
    for attempt in range(MAX_ATTEMPTS):
        before = read_for_change(path)
        document = open_document("json", before or b"")
        old = document.data
        line = change(document)
        after, data = document.encode(), document.data
        if after == before:
            return Edited(path, line, is_changed=False, is_new=False, missing=(), data=data)
        missing = check(old, data, environ, path)
        try:
            apply(FileChange(path, before, after), environ, subject="config", command=command)
        except CannotChange:
            if attempt + 1 == MAX_ATTEMPTS or read_for_change(path) == before:
                raise
            continue
        return Edited(path, line, is_changed=True, is_new=before is None, missing=missing, data=data)
    raise AssertionError("the last attempt returns or raises")


def check(
    before: dict[str, object], after: dict[str, object], environ: Mapping[str, str], path: str
) -> tuple[Problem, ...]:
    """Return the values that are missing after an edit of the file at `path`, and were not before.

    Raises EditRefused if the edit makes a mistake. One that was in the file before does not matter, because
    the edit may be there to remove it.
    """
    if before and TOOLBOXES not in before and (found := [p for p in _mistakes(before, environ) if p.where]):
        raise EditRefused(_explained("correct the file first", found))
    if found := _new(_mistakes(before, environ), _mistakes(after, environ)):
        raise EditRefused(_explained("this would not be valid, and was not written", found))
    problems = partial(
        _problems, environ=environ, lookup=stored_names(environ), directory=str(Path(path).parent)
    )
    return tuple(_new(problems(before), problems(after)))


def stored_names(environ: Mapping[str, str]) -> SecretLookup:
    """Return a lookup that knows which secrets are stored, but not their values: no keyring is unlocked."""
    store = SecretStore(environ)

    def lookup(name: str) -> str | None:
        return f"<secret {name}>" if name in store.places() else None

    return lookup


def _mistakes(data: dict[str, object], environ: Mapping[str, str]) -> Sequence[Problem]:
    """Return what is wrong in a configuration itself, whatever variables are set and secrets are stored."""
    return _problems(_all_disabled(data), environ, no_secrets, "")


def _problems(
    data: dict[str, object], environ: Mapping[str, str], lookup: SecretLookup, directory: str
) -> Sequence[Problem]:
    try:
        load_data(data, environ, lookup=lookup, directory=directory)
    except ConfigError as error:
        return error.problems
    return ()


def _new(before: Sequence[Problem], after: Sequence[Problem]) -> list[Problem]:
    """Return the problems that there were not before. A server that was moved brings its problems along."""
    known = Counter(problem.what for problem in before)
    found: list[Problem] = []
    for problem in after:
        if known[problem.what]:
            known[problem.what] -= 1
        else:
            found.append(problem)
    return found


def _all_disabled(data: dict[str, object]) -> dict[str, object]:
    """Return a configuration with every server disabled: then no value has to be there."""
    toolboxes = data.get(TOOLBOXES)
    if not isinstance(toolboxes, dict):
        return data
    return {**data, TOOLBOXES: {name: _toolbox_disabled(toolbox) for name, toolbox in toolboxes.items()}}


def _toolbox_disabled(toolbox: object) -> object:
    servers = toolbox.get(SERVERS) if isinstance(toolbox, dict) else None
    if not isinstance(toolbox, dict) or not isinstance(servers, dict):
        return toolbox
    return {**toolbox, SERVERS: {name: _server_disabled(entry) for name, entry in servers.items()}}


def _server_disabled(entry: object) -> object:
    # A value of the wrong type is a mistake of its own, which has to be found.
    if not isinstance(entry, dict) or not isinstance(entry.get("disabled", True), bool):
        return entry
    return {**entry, "disabled": True}


def _explained(what: str, problems: Sequence[Problem]) -> str:
    return f"{what}:\n" + "\n".join(f"  - {problem}" for problem in problems)
