"""Limits of servers that are written outside of their entries, in the same file or beside it.

Owns which files hold limits for which servers, and how several limits add up. The rules of clients are in
`limit_rules`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.config.clients.found import OuterLimit
from mcp_workbench.config.clients.limit_parts import ALL_TOOLS, UnclearRule, read_settings, refused
from mcp_workbench.config.clients.limit_rules import RULES
from mcp_workbench.config.entries.tool_limits import UnclearLimit, both

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcp_workbench.config.clients.found import FoundFile, FoundServer
    from mcp_workbench.config.clients.limit_parts import Tree
    from mcp_workbench.config.clients.machine import Machine


def outer_limits(
    file: FoundFile, data: Tree, servers: Iterable[FoundServer], machine: Machine
) -> dict[str, OuterLimit]:
    """Return the limits of the servers of a file by name, without those that have none."""
    rule = RULES.get(file.client.outer_limits) if file.client is not None else None
    if rule is None:
        return {}
    limits: dict[str, OuterLimit] = {}
    for server in servers:
        try:
            sources = [data, *_of_the_person(file, machine)]
            limit = _together([rule(file, source, server, machine) for source in sources])
        except UnclearRule as error:
            limit = refused(f"{error} limits servers in a way that cannot be understood")
        except UnclearLimit as error:
            limit = refused(f"its tools are limited in a way that cannot be said here: {error}")
        if limit != OuterLimit():
            limits[server.name] = limit
    return limits


def _of_the_person(file: FoundFile, machine: Machine) -> Iterator[Tree]:
    """Yield the person's own files of the client, whose limits hold for the servers of a project too."""
    if file.scope == "user" or file.client is None:
        return
    for known in file.client.files:
        if known.scope == "user" and known.is_installable:
            yield from (read_settings(path) for path in machine.paths_of(known))


def _together(limits: list[OuterLimit]) -> OuterLimit:
    filters = list(ALL_TOOLS)
    for limit in limits:
        filters = both(filters, list(limit.filters))
    return OuterLimit(
        is_disabled=any(limit.is_disabled for limit in limits),
        filters=tuple(filters),
        notes=tuple(dict.fromkeys(note for limit in limits for note in limit.notes)),
        refusals=tuple(dict.fromkeys(reason for limit in limits for reason in limit.refusals)),
    )
