"""Finds processes of servers whose workbench has ended, and whose guard has ended as well.

Usually there are none: the guard ends them within seconds. Owns which process counts as an orphan, and sends
no signals. A process is only ever reported if all of this is true: it belongs to the current user, it has the
mark of a workbench in its environment, no guard of that workbench runs, and its parents have ended, so that
init has adopted it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping  # noqa: TC003 - msgspec resolves the annotations
from typing import Final

import msgspec

from mcp_workbench.wire.processes.guard import MARK
from mcp_workbench.wire.processes.scanner import identify, process_ids, read_proc

PS_SECONDS: Final = 5.0
"""Time that `ps` has to list all processes."""

_RUNS: Final = re.compile(rf"(?:^|[\0\s]){MARK}=((?:[0-9a-f]{{16}}\.\d+/)+)")
_RUN: Final = re.compile(r"([0-9a-f]{16})\.")
_GUARD: Final = re.compile(r"[/\\]guard\.sh[\0\s]([0-9a-f]{16})(?=[\0\s]|$)")
_WORKBENCH: Final = re.compile(r"mcp[-_]workbench|workbench-mcp")
_ADOPTERS: Final = re.compile(r"(?:\S*/)?(?:systemd|init|launchd|tini|dumb-init|docker-init)(?=[\0\s]|$)")
"""Programs that adopt processes whose parents have ended."""


class OrphanedProcess(msgspec.Struct, frozen=True):
    """A process that a workbench has started, which has ended since."""

    pid: int
    command: tuple[str, ...]
    """The command line, which may contain secrets."""


class ListedProcess(msgspec.Struct, frozen=True):
    """A process of any user, with what the system tells about it."""

    pid: int
    parent: int
    is_own: bool
    """Whether it belongs to the current user."""
    command: str
    """The command line, its words separated by zero bytes or spaces."""
    environment: str = ""


def find_orphans() -> list[OrphanedProcess]:
    """Return the orphans on this machine. Empty on systems that do not tell."""
    listed = _from_ps() if sys.platform == "darwin" else _from_proc()
    return orphans_among({process.pid: process for process in listed})


def orphans_among(processes: Mapping[int, ListedProcess]) -> list[OrphanedProcess]:
    """Return the orphans among all processes of a machine, by their numbers."""
    guarded = {
        found[1] for process in processes.values() if (found := _GUARD.search(process.command)) is not None
    }
    marked = {
        pid: set(_RUN.findall(found[1]))
        for pid, process in processes.items()
        if process.is_own and (found := _RUNS.search(process.environment)) is not None
    }
    return [
        OrphanedProcess(pid, _words(processes[pid].command))
        for pid, runs in sorted(marked.items())
        if pid != os.getpid() and guarded.isdisjoint(runs) and _is_adopted(pid, processes, marked.keys())
    ]


def _words(command: str) -> tuple[str, ...]:
    return tuple(command.strip("\0").split("\0") if "\0" in command else command.split())


def _is_adopted(pid: int, processes: Mapping[int, ListedProcess], marked: Iterable[int]) -> bool:
    """Whether init, or what stands in for it, is the parent of the uppermost marked parent of a process."""
    seen = {pid}
    parent = processes[pid].parent
    while parent in marked and parent not in seen:
        seen.add(parent)
        parent = processes[parent].parent
    if parent not in processes:
        return False
    command = processes[parent].command
    # In a container, the workbench itself may be the first process.
    return (parent == 1 or _ADOPTERS.match(command) is not None) and not _WORKBENCH.search(command)


def _from_proc() -> list[ListedProcess]:
    found = []
    for pid in process_ids():
        process = identify(pid)
        if process is None:
            continue
        try:
            is_own = os.stat(f"/proc/{pid}").st_uid == os.geteuid()
        except OSError:
            continue
        command = read_proc(f"/proc/{pid}/cmdline").decode(errors="replace")
        environment = read_proc(f"/proc/{pid}/environ").decode(errors="replace") if is_own else ""
        found.append(ListedProcess(pid, process.parent, is_own, command, environment))
    return found


def _from_ps() -> list[ListedProcess]:
    """Return the processes that `ps` lists, which macOS has in place of `/proc`."""
    commands = {pid: (parent, uid, text) for pid, parent, uid, text in _ps("axww")}
    found = []
    for pid, _, _, text in _ps("axeww"):
        if pid in commands:
            parent, uid, command = commands[pid]
            # The environment follows the command line.
            environment = text.removeprefix(command)
            found.append(ListedProcess(pid, parent, uid == os.geteuid(), command, environment))
    return found


def _ps(options: str) -> list[tuple[int, int, int, str]]:
    """Return number, parent, user and command line of all processes."""
    try:
        listed = subprocess.run(
            ["ps", options, "-o", "pid=,ppid=,uid=,command="],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PS_SECONDS,
            check=False,
        ).stdout.decode(errors="replace")
    except (OSError, subprocess.TimeoutExpired):
        return []
    found = []
    for line in listed.splitlines():
        parts = line.split(maxsplit=3)
        if len(parts) == 4 and all(part.isdigit() for part in parts[:3]):
            found.append((int(parts[0]), int(parts[1]), int(parts[2]), parts[3]))
    return found
