"""Looks at the machine: processes of earlier runs, the installation of the workbench, and its versions."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench import __version__
from mcp_workbench.protocol.names import LEGACY_VERSIONS, MODERN_VERSIONS
from mcp_workbench.setup.diagnosis.findings import Area, found
from mcp_workbench.setup.launching import DISTRIBUTION
from mcp_workbench.setup.listing import shown_target
from mcp_workbench.wire.processes.orphans import find_orphans
from mcp_workbench.workbench.text.counting import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.setup.diagnosis.examined import Examined

MAX_COMMAND_CHARACTERS: Final = 120
"""Length of what is shown of the command line of a process."""

_SCRIPT: Final = "mcp-workbench"
_EXTRAS: Final = {"semantic": "wordllama"}
"""The extras, each with a module that only it brings."""


class InstalledVersions(msgspec.Struct, frozen=True, rename="camel"):
    """The versions of the workbench and of what it runs on."""

    workbench: str
    distribution: str
    python: str
    platform: str
    protocol_versions: tuple[str, ...]
    extras: tuple[str, ...]
    """The extras that are installed."""


def versions() -> InstalledVersions:
    """Return the versions of this workbench."""
    return InstalledVersions(
        workbench=__version__,
        distribution=DISTRIBUTION,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        protocol_versions=(*MODERN_VERSIONS, *LEGACY_VERSIONS),
        extras=tuple(extra for extra, module in _EXTRAS.items() if find_spec(module) is not None),
    )


def look_at_processes(examined: Examined) -> Area:
    """Return the processes of servers whose workbench has ended."""
    orphans = find_orphans()
    if not orphans:
        return Area("processes", "none is left of earlier runs", ())
    first = orphans[0]
    shown = examined.loaded.secrets.mask(
        shown_target({"command": first.command[0], "args": list(first.command[1:])})
    )
    pids = [str(orphan.pid) for orphan in orphans]
    run = count(len(pids), "process still runs", "processes still run")
    finding = found(
        "orphaned-processes",
        f"{run} whose workbench has ended: {', '.join(pids)}. The first is: {shown[:MAX_COMMAND_CHARACTERS]}",
        command=f"kill {' '.join(pids)}",
    )
    return Area("processes", f"{len(pids)} left of earlier runs", (finding,))


def look_at_installation(environ: Mapping[str, str]) -> Area:
    """Return whether several installations of the workbench are on the PATH."""
    told = versions()
    extras = f", extras: {', '.join(told.extras)}" if told.extras else ""
    summary = f"{told.distribution} {told.workbench}, Python {told.python}, {told.platform}{extras}"
    installed = _installed(environ)
    if len(installed) < 2:
        return Area("installation", summary, ())
    finding = found(
        "several-installs",
        f"There are {len(installed)} installations of {_SCRIPT} on the PATH: {', '.join(installed)}. "
        "The first is used.",
        file=installed[0],
        remedy="Remove those that you do not use. To see the version of another:",
        command=shlex.join((installed[1], "--version")),
    )
    return Area("installation", summary, (finding,))


def _installed(environ: Mapping[str, str]) -> list[str]:
    """Return the scripts of different installations on the PATH, in its order."""
    script = f"{_SCRIPT}.exe" if sys.platform == "win32" else _SCRIPT
    found_scripts: dict[str, str] = {}
    for directory in environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(directory, script)
        if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
            found_scripts.setdefault(os.path.realpath(path), path)
    return list(found_scripts.values())
