"""What is held, one item for each tool and for the instructions of each server, ready to be shown.

Owns what belongs to an item: the difference to what was approved, and what the scanner finds in it. All of
it is in the data directory and in the lock, so nothing is started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config.globs import matches
from mcp_workbench.storage.trust.lock_file import LockedTool
from mcp_workbench.storage.trust.pin_records import INSTRUCTIONS, HeldServer, version_of
from mcp_workbench.workbench.trust.differences import instruction_changes
from mcp_workbench.workbench.trust.digests import text_digest
from mcp_workbench.workbench.trust.lock_entries import entry_changes, pinned_server
from mcp_workbench.workbench.trust.scanning.scanner import ScanFinding, scan_text, scan_tool

if TYPE_CHECKING:
    from collections.abc import Container

    from mcp_workbench.config import Origin
    from mcp_workbench.storage.trust.lock_file import Lock, LockedServer
    from mcp_workbench.storage.trust.pins import PinStore
    from mcp_workbench.workbench.trust.word_differences import Change


class HeldItem(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that is held, or instructions that are withheld."""

    server: HeldServer
    name: str
    """The name of the tool; `INSTRUCTIONS` for the server's instructions."""
    version: str
    """The held definition, as a text that is another for another definition."""
    since: float
    reasons: tuple[str, ...]
    is_rejected: bool
    changes: tuple[Change, ...]
    """The differences to what was approved."""
    findings: tuple[ScanFinding, ...]
    is_new: bool
    """Whether nothing was approved before, so that the changes are all of it."""

    @property
    def origin(self) -> Origin:
        """The names of the toolbox and the server."""
        return self.server.place.toolbox, self.server.place.server

    @property
    def full_name(self) -> str:
        """The names of the toolbox, the server and the tool; nothing after the last slash is instructions."""
        return "/".join((*self.origin, self.name))

    def matches(self, pattern: str) -> bool:
        """Whether a pattern `toolbox/server/tool`, `server/tool` or `tool` is about this item.

        The slashes of the pattern say which it is. So a server cannot name its tool `other/tool` to match a
        pattern that is meant for a tool of another server.
        """
        *places, tool = pattern.split("/", 2)
        names = self.origin[2 - len(places) :]
        return all(map(matches, (*places, tool), (*names, self.name)))


class HeldItems:
    """Reads what is held of the servers of one configuration."""

    def __init__(
        self, store: PinStore, config: str, lock: Lock | None, configured: Container[Origin]
    ) -> None:
        self._store = store
        self._config = config
        self._lock = lock or {}
        self._configured = configured

    def read(self) -> list[HeldItem]:
        """Return all items, by the names of their servers and tools."""
        servers = self._store.held.servers(self._config)
        return [item for held in servers for item in self._items_of(held)]

    def again(self, item: HeldItem) -> HeldItem | None:
        """Return an item as it is now; None if it is no longer held."""
        held = self._store.held.of(item.server.place)
        items = [other for one in held for other in self._items_of(one) if other.name == item.name]
        # Several definitions of one tool may be held.
        return next((other for other in items if other.version == item.version), next(iter(items), None))

    def _items_of(self, held: HeldServer) -> list[HeldItem]:
        if (held.place.toolbox, held.place.server) not in self._configured:
            return []
        approved = self._approved(held)
        items = [self._instructions(held, approved)]
        items += [self._tool(held, name, approved) for name in sorted(held.tools)]
        return [item for item in items if item is not None]

    def _approved(self, held: HeldServer) -> LockedServer | None:
        """Return what was approved of a server: by the lock, unless `scan` lets another program run."""
        locked = self._lock.get((held.place.toolbox, held.place.server))
        if locked is not None and (held.level == "strict" or locked.identity == held.identity):
            return locked
        pin = self._store.read(held.place).pin
        return None if pin is None else pinned_server(pin, self._store.texts(held.place))

    def _instructions(self, held: HeldServer, approved: LockedServer | None) -> HeldItem | None:
        text = held.instructions
        before = "" if approved is None else approved.instructions
        if text is None or (_is_approved(held, approved) and text_digest(before) == text.digest):
            return None
        return HeldItem(
            server=held,
            name=INSTRUCTIONS,
            version=text.digest,
            since=text.since,
            reasons=text.reasons,
            is_rejected=text.is_rejected,
            changes=tuple(instruction_changes(before, text.text)),
            findings=tuple(scan_text("instructions", text.text)),
            is_new=not before,
        )

    def _tool(self, held: HeldServer, name: str, approved: LockedServer | None) -> HeldItem | None:
        tool = held.tools[name]
        before = None if approved is None else approved.tools.get(name)
        siblings = {*held.tools, *(() if approved is None else approved.tools)}
        after = LockedTool(definition=tool.definition, digest=tool.digest, hints=tool.hints)
        if (
            before is not None
            and _is_approved(held, approved)
            and version_of(before.digest, before.hints) == tool.version
        ):
            return None  # approved since, by the lock of somebody else
        return HeldItem(
            server=held,
            name=name,
            version=tool.version,
            since=tool.since,
            reasons=tool.reasons,
            is_rejected=tool.is_rejected,
            changes=tuple(entry_changes(before, after)),
            findings=tuple(scan_tool(tool.definition, siblings)),
            is_new=before is None,
        )


def _is_approved(held: HeldServer, approved: LockedServer | None) -> bool:
    """Whether the program that runs is the one of which something is approved."""
    return approved is not None and approved.identity == held.identity
