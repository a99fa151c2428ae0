"""Turns the servers that were found in the files of clients into candidates for the import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config.clients import convert
from mcp_workbench.config.masking.recognition import find_secrets
from mcp_workbench.setup.importing.merging import Candidate, usable_name
from mcp_workbench.setup.importing.resolving import is_deep

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_workbench.config.clients import FoundFile, FoundServer, Machine
    from mcp_workbench.errors import Problem
    from mcp_workbench.setup.importing.resolving import Resolver


class Gathered(msgspec.Struct, frozen=True):
    """A server of a client: a candidate, or the reasons why it is none."""

    file: FoundFile
    server: FoundServer
    candidate: Candidate | None
    """What to import; None for a server that is refused, and for the workbench itself."""
    refusals: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def gather(files: Sequence[FoundFile], machine: Machine, resolver: Resolver) -> list[Gathered]:
    """Return the servers of the files in their order."""
    return list(_gather(files, machine, resolver))


def _gather(files: Sequence[FoundFile], machine: Machine, resolver: Resolver) -> Iterator[Gathered]:
    for file in files:
        for server in file.servers:
            if server.is_workbench:
                yield Gathered(file, server, None)
                continue
            if is_deep(server.entry):
                bare = msgspec.structs.replace(server, entry={})
                yield Gathered(file, bare, None, ("the entry is nested too deeply",))
                continue
            converted = convert(file, server, machine)
            if converted.refusals:
                yield Gathered(file, server, None, converted.refusals, converted.notes)
                continue
            found = find_secrets(converted.entry)
            name = usable_name(server.name, [secret.value for secret in found])
            checked = resolver.check(name, converted.entry, converted.inputs)
            if checked.mistakes:
                yield Gathered(file, server, None, tuple(map(_shown, checked.mistakes)), converted.notes)
                continue
            candidate = Candidate(
                name,
                checked.entry,
                checked.identity,
                ending=file.client.id if file.client else "",
                secrets=len(found),
                project=Path(file.context.project).name,
                file=file.path,
                inputs=converted.inputs,
            )
            asked = tuple(f"there is no secret {name}:" for name in converted.inputs)
            missing = (note for note in checked.missing if not note.startswith(asked))
            yield Gathered(file, server, candidate, (), (*dict.fromkeys(converted.notes), *missing))


def _shown(problem: Problem) -> str:
    # The place begins with the toolbox that the entry was checked in.
    place = problem.where.partition(".mcpServers")[2].lstrip(".")
    return f"{place}: {problem.what}. {problem.remedy}" if place else f"{problem.what}. {problem.remedy}"
