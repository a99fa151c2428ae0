"""Plans an import: everything is decided and shown before anything is written.

Owns the order of the steps. `plan_import` reads files and stored secrets and writes nothing; `execute` stores
the secrets and then writes the configuration file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from mcp_workbench.config.source.references import secret_names_in
from mcp_workbench.setup.file_changes import FileChange, apply
from mcp_workbench.setup.importing.categories import category_of
from mcp_workbench.setup.importing.gathering import Gathered, gather
from mcp_workbench.setup.importing.grouping import GroupedServer, assign, rank_of
from mcp_workbench.setup.importing.masking import ShownText
from mcp_workbench.setup.importing.merging import KnownServer, merge
from mcp_workbench.setup.importing.resolving import Resolver
from mcp_workbench.setup.importing.secret_names import InputNames, NewSecret, SecretNames
from mcp_workbench.setup.importing.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcp_workbench.config.clients import FoundFile, FoundServer, Machine
    from mcp_workbench.config.source.expand import SecretLookup
    from mcp_workbench.setup.importing.merging import Merged, Newcomer
    from mcp_workbench.storage.secrets import SecretStore

    Step = str | int

State = Literal["added", "merged", "present", "refused", "own"]
"""What becomes of a client's server. `merged` is the same as one that is added, `own` is the workbench."""


class ImportedServer(msgspec.Struct, frozen=True):
    """What becomes of one server that a client has."""

    file: FoundFile
    server: FoundServer
    state: State
    toolbox: str = ""
    name: str = ""
    """Toolbox and name in the configuration; empty for servers that are not in it."""
    reasons: tuple[str, ...] = ()
    """Why the server is refused."""
    notes: tuple[str, ...] = ()


class ImportPlan(msgspec.Struct, frozen=True):
    """An import that is decided and not done: what changes, and what becomes of each server."""

    path: str
    """The path of the configuration file."""
    change: FileChange | None
    """The change of the configuration file; None if there is nothing to add."""
    servers: tuple[ImportedServer, ...]
    secrets: tuple[NewSecret, ...]
    """Literal secrets that references replace. They are stored before the file is written."""
    literals: tuple[NewSecret, ...]
    """Literal secrets that stay in the file, because a person wants it so. Their names do not count."""
    inputs: dict[str, str]
    """Secrets that no client has written down, each with the question for its value."""
    warnings: tuple[str, ...]
    shown: ShownText

    @property
    def present(self) -> frozenset[tuple[str, tuple[Step, ...]]]:
        """File and place of the clients' servers that are in the workbench once the plan is executed."""
        states = ("added", "merged", "present")
        return frozenset((one.file.path, one.server.path) for one in self.servers if one.state in states)

    def mask(self, text: str) -> str:
        """Return a text without secrets of the clients and of the configuration."""
        return self.shown.mask(text)


def plan_import(
    files: Sequence[FoundFile],
    config_path: str,
    machine: Machine,
    lookup: SecretLookup,
    *,
    toolbox: str | None = None,
    keep_literals: bool = False,
) -> ImportPlan:
    """Return the import of all servers in the files of clients. Nothing is written.

    `toolbox` puts all into one. With `keep_literals`, literal secrets stay in the entries. Raises ConfigError
    and DocumentError for a configuration that cannot be used, CannotChange, and StoreError.
    """
    target = Target(config_path)
    resolver = Resolver(machine.environ, target.directory, lookup)
    gathered = gather(files, machine, resolver)
    merged = merge([one.candidate for one in gathered if one.candidate], target.known(resolver))
    inputs = InputNames(lookup, target.secret_names)
    settled = [inputs.settle(newcomer) for newcomer in merged.newcomers]
    names = SecretNames(lookup, target.secret_names | secret_names_in([one.entry for one in settled]))
    replaced = [names.replace(newcomer) for newcomer in settled]
    boxes = _add(target, settled if keep_literals else replaced, toolbox)
    return ImportPlan(
        path=config_path,
        change=target.change(),
        servers=tuple(_outcomes(gathered, merged, boxes)),
        secrets=() if keep_literals else names.secrets,
        literals=names.secrets if keep_literals else (),
        inputs=inputs.questions,
        warnings=tuple(target.warnings(machine.environ, lookup)),
        shown=ShownText([*target.entries(), *_entries(gathered)]),
    )


def execute(
    plan: ImportPlan,
    environ: Mapping[str, str],
    store: SecretStore,
    answers: Mapping[str, str] | None = None,
) -> None:
    """Store the secrets, and then write the configuration file. Raises StoreError and CannotChange.

    `answers` has the values of those `inputs` that a person has given. If it is interrupted, no entry refers
    to a secret that was not stored.
    """
    for secret in plan.secrets:
        if not secret.is_stored:
            # Another import may have taken the name since: its server must not get this secret.
            store.put(secret.name, secret.value, may_replace=False)
    for name, value in (answers or {}).items():
        store.put(name, value)
    if plan.change is not None:
        apply(plan.change, environ, subject="config", command="import")


def _add(target: Target, newcomers: Sequence[Newcomer], toolbox: str | None) -> list[str]:
    """Add servers to the configuration, and return the toolbox of each."""
    members = [
        GroupedServer(one.name, category_of(one.name, one.entry), "" if toolbox else one.project)
        for one in newcomers
    ]
    boxes = assign(members, target.boxes(), toolbox)
    for box in sorted(set(boxes), key=rank_of):
        chosen = [index for index, name in enumerate(boxes) if name == box]
        target.add(box, [newcomers[index] for index in chosen], [members[index] for index in chosen])
    return boxes


def _outcomes(gathered: Sequence[Gathered], merged: Merged, boxes: Sequence[str]) -> Iterator[ImportedServer]:
    fates = iter(merged.fates)
    for one in gathered:
        if one.candidate is None:
            state: State = "refused" if one.refusals else "own"
            yield ImportedServer(one.file, one.server, state, reasons=one.refusals, notes=one.notes)
            continue
        fate = next(fates)
        if isinstance(fate.becomes, KnownServer):
            place = (fate.becomes.toolbox, fate.becomes.name)
            yield ImportedServer(one.file, one.server, "present", *place, notes=fate.notes)
            continue
        notes = (*one.notes, *fate.notes)
        name = merged.newcomers[fate.becomes].name
        state = "added" if fate.is_first else "merged"
        yield ImportedServer(one.file, one.server, state, boxes[fate.becomes], name, notes=notes)


def _entries(gathered: Sequence[Gathered]) -> Iterator[Mapping[str, object]]:
    """Yield the entries of clients as they are and in our words: both may have secrets."""
    for one in gathered:
        yield one.server.entry
        if one.candidate is not None:
            yield one.candidate.entry
