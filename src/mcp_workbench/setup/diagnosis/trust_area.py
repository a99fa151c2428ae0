"""Looks at what was approved of servers: whether the lock can be used, and what waits for a review."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcp_workbench.errors import LockUnusable
from mcp_workbench.setup.diagnosis.examined import edit_command, names, title
from mcp_workbench.setup.diagnosis.findings import Area, found
from mcp_workbench.storage.directories import data_directory
from mcp_workbench.storage.trust.lock_file import lock_path, read_lock
from mcp_workbench.storage.trust.pins import PinStore
from mcp_workbench.workbench.text.counting import count
from mcp_workbench.workbench.trust.digests import definition_digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_workbench.config import Origin
    from mcp_workbench.setup.diagnosis.examined import Examined
    from mcp_workbench.setup.diagnosis.findings import Finding


def look_at_trust(examined: Examined) -> Area:
    """Return the mistakes in the lock, and the servers of which something is held and not decided yet."""
    lock = lock_path(examined.path)
    held = _held(examined)
    is_locked = os.path.lexists(lock)
    waiting = sum(held.values())
    summary = f"{'locked by ' + lock if is_locked else 'no lock'}, {waiting} held"
    return Area("pins", summary, (*_mistakes(lock), *_to_review(examined, held)))


def _mistakes(lock: str) -> Iterator[Finding]:
    try:
        read_lock(lock, definition_digest)
    except LockUnusable as error:
        first = error.problems[0]
        harm = "What it approves does not count, and servers with strict pins are held"
        yield found(
            "lock-unusable",
            f"The lock cannot be used: {first.brief}. {harm}.",
            file=lock,
            line=first.line,
            remedy=first.remedy,
            command=edit_command(lock, first.line),
        )


def _to_review(examined: Examined, held: dict[Origin, int]) -> Iterator[Finding]:
    if held:
        servers = tuple(map(title, held))
        what = count(sum(held.values()), "definition is", "definitions are")
        yield found(
            "tools-held",
            f"Of {names(servers)}, {what} held until you have looked at the change.",
            servers=servers,
            command=examined.command("review"),
        )


def _held(examined: Examined) -> dict[Origin, int]:
    """Return how many definitions of each server wait for a decision."""
    waiting: dict[Origin, int] = {}
    for held in PinStore(data_directory(examined.environ)).held.servers(examined.path):
        origin = held.place.toolbox, held.place.server
        server = examined.servers.get(origin)
        if held.is_pending and server is not None and server.pin != "off":
            texts = () if held.instructions is None else (held.instructions,)
            pending = sum(not one.is_rejected for one in (*held.tools.values(), *texts))
            waiting[origin] = waiting.get(origin, 0) + pending
    return waiting
