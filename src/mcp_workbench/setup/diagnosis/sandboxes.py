"""Looks at the sandboxes of servers: whether they can be set up, and whether a server could undo its own."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

import mcp_workbench
from mcp_workbench.setup.diagnosis.examined import names, title
from mcp_workbench.setup.diagnosis.findings import found
from mcp_workbench.storage.directories import data_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_workbench.config import Origin
    from mcp_workbench.config.model.sandbox import SandboxConfig
    from mcp_workbench.setup.diagnosis.examined import Examined
    from mcp_workbench.setup.diagnosis.findings import Finding

UNDOABLE_REMEDY: Final = 'Name in "write" only a directory that is for this server alone.'


def look_at_sandboxes(examined: Examined) -> Iterator[Finding]:
    """Yield the sandboxes that cannot be set up here, and those that the server could undo."""
    confined = {
        origin: server.sandbox for origin, server in examined.servers.items() if server.sandbox is not None
    }
    if confined:
        yield from _unavailable(examined, [*confined])
        for origin, sandbox in confined.items():
            yield from _undoable(examined, origin, sandbox)


def _unavailable(examined: Examined, confined: list[Origin]) -> Iterator[Finding]:
    from mcp_workbench.downstream.diagnosis.confined_starts import UNAVAILABLE_HINT  # noqa: PLC0415 - few servers
    from mcp_workbench.wire.processes.confinement import why_unavailable  # noqa: PLC0415 - as above

    if why := why_unavailable():
        line = examined.line(confined[0], "sandbox")
        servers = tuple(map(title, confined))
        yield found(
            "sandbox-unavailable",
            f"The sandbox of {names(servers)} cannot be set up: {why}.",
            servers=servers,
            file=examined.path,
            line=line,
            remedy=UNAVAILABLE_HINT,
            command=examined.edit(line),
        )


def _undoable(examined: Examined, origin: Origin, sandbox: SandboxConfig) -> Iterator[Finding]:
    """Yield the paths of `write` by which a server could run without its sandbox from the next start on."""
    for index, path in enumerate(sandbox.write):
        covered = [what for what, places in _own_places(examined).items() if _covers(path, places)]
        if covered:
            line = examined.line(origin, "sandbox", "write", index)
            yield found(
                "sandbox-undoable",
                f"{title(origin)} can write to {examined.loaded.secrets.mask(path)}, and so to "
                f"{' and '.join(covered)}. It could undo its own sandbox.",
                servers=(title(origin),),
                file=examined.path,
                line=line,
                remedy=UNDOABLE_REMEDY,
                command=examined.edit(line),
            )


def _own_places(examined: Examined) -> dict[str, tuple[str, ...]]:
    """Return what decides about a sandbox or sets it up, by what it is called."""
    data = data_directory(examined.environ)
    return {
        "the configuration file": (os.path.abspath(examined.path),),
        # `os` stands for the library of Python.
        "the program of the workbench": (
            *(os.path.dirname(module.__file__ or "") for module in (mcp_workbench, os)),
            *(sys.prefix, sys.executable),
        ),
        # Without a home directory there is no data.
        "the data of the workbench": (data,) if data != os.devnull else (),
    }


def _covers(path: str, places: tuple[str, ...]) -> bool:
    """Whether a program that can write to a path can change one of these places, or what is in it."""
    from mcp_workbench.downstream.writable_places import WritablePlaces  # noqa: PLC0415 - few servers have a sandbox

    if any(map(WritablePlaces([path]).lead, places)):
        return True
    # Below the prefix of a Python for all users, there is much that the workbench does not use.
    return any(place != sys.base_prefix and WritablePlaces([place]).lead(path) for place in places)
