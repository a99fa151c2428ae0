"""What the system says about processes: read from /proc, so Linux only."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PAGE = os.sysconf("SC_PAGE_SIZE")
GUARD = "guard.sh"


class Held(NamedTuple):
    """What a process holds at one moment."""

    rss: int
    descriptors: int
    threads: int
    children: frozenset[int]
    guards: frozenset[int]
    """Children that watch over the others; they are not among `children`."""
    kinds: dict[str, int]
    """Descriptors by what they are."""


def look_at(pid: int) -> Held:
    """What a process holds now."""
    children = children_of(pid)
    guards = {child for child in children if is_guard(child)}
    kinds = Counter(map(_kind, descriptors_of(pid)))
    threads = len(list(Path(f"/proc/{pid}/task").iterdir()))
    return Held(
        rss_of(pid),
        kinds.total(),
        threads,
        frozenset(children - guards),
        frozenset(guards),
        dict(sorted(kinds.items())),
    )


def is_guard(pid: int) -> bool:
    """Whether this is a workbench's guard. It does not carry the marker."""
    return GUARD in command_of(pid)


def rss_of(pid: int) -> int:
    """Bytes of memory."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * PAGE


def cpu_of(pid: int) -> float:
    """Seconds of CPU time so far."""
    # The kernel's number for the CPU clock of another process.
    return time.clock_gettime((~pid << 3) | 2)


def descriptors_of(pid: int) -> list[str]:
    """What its open descriptors lead to. Libraries do not count: libffi keeps its own file open."""
    found = []
    for name in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(str(name.readlink()))
    return [target for target in found if ".so" not in Path(target).suffixes]


def children_of(pid: int) -> set[int]:
    """The processes that it has started, those that nobody has waited for included."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        found.update(map(int, (task / "children").read_text(encoding="ascii").split()))
    return found


def command_of(pid: int) -> str:
    """Its command line; empty when it is gone or a zombie."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


def marked(marker: str) -> dict[int, str]:
    """The processes whose environment carries the marker, with their commands."""
    wanted = marker.encode()
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            # Others' processes cannot be read, and some end while we look.
            with suppress(OSError):
                if wanted in (entry / "environ").read_bytes():
                    found[int(entry.name)] = command_of(int(entry.name))
    return found


def is_running(pid: int, marker: str) -> bool:
    """Whether this process of ours is there, and no other under its number; a zombie is not."""
    with suppress(OSError):
        return marker.encode() in Path(f"/proc/{pid}/environ").read_bytes()
    return False


def _kind(target: str) -> str:
    kind, colon, _ = target.partition(":")
    return kind if colon else "file"


def kill(pid: int, stamp: str) -> None:
    """Ends a process of ours for certain."""
    if is_running(pid, stamp):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
