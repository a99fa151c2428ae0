"""Writes what a person decides about what is held: to the lock if the server is in it, else to the pins."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.setup.lock_changes import LockEdit, write_lock
from mcp_workbench.storage.trust.pin_records import INSTRUCTIONS
from mcp_workbench.workbench.text.sanitise import show_name
from mcp_workbench.workbench.trust.digests import definition_digest
from mcp_workbench.workbench.trust.lock_entries import locked_tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcp_workbench.cli.trust.held_items import HeldItem
    from mcp_workbench.config import Origin
    from mcp_workbench.storage.trust.lock_file import Lock, LockedTool
    from mcp_workbench.storage.trust.pin_records import HeldServer
    from mcp_workbench.storage.trust.pins import PinStore


class Decisions:
    """Approves and rejects what is held. Only what an item shows is approved, whatever is listed by now."""

    def __init__(self, store: PinStore, path: str, lock: Lock | None, environ: Mapping[str, str]) -> None:
        self._store = store
        self._path = path
        self._lock = lock
        self._environ = environ

    def approve(self, items: Sequence[HeldItem]) -> bool:
        """Approve items, and return whether the lock was written.

        Raises CannotChange, LockUnusable or ValueError if the lock cannot be written, and OSError if pins
        cannot.
        """
        edits: dict[Origin, LockEdit] = {}
        for held, some in _by_server(items):
            if self._is_locked(held):
                origin = held.place.toolbox, held.place.server
                edits[origin] = _joined(edits.get(origin), _edit(held, [item.name for item in some]))
        is_written = bool(edits) and write_lock(
            self._path, edits, definition_digest, self._environ, command="review"
        )
        for held, some in _by_server(items):
            names = [item.name for item in some]
            if self._is_locked(held):
                self._store.release(held, names)
            else:
                self._store.approve(held, names)
        return is_written

    def reject(self, items: Sequence[HeldItem]) -> None:
        """Reject items: they stay held, and are not pending any more. Raises OSError."""
        for held, some in _by_server(items):
            self._store.reject(held, [item.name for item in some])

    def _is_locked(self, held: HeldServer) -> bool:
        """Whether the lock says what is approved of a server. If it is not in it, only under `strict`."""
        if self._lock is None or held.level == "strict":
            return self._lock is not None
        locked = self._lock.get((held.place.toolbox, held.place.server))
        return locked is not None and locked.identity == held.identity


def _by_server(items: Iterable[HeldItem]) -> Iterator[tuple[HeldServer, list[HeldItem]]]:
    # Of one server there may be several, with other definitions of the same tools.
    for _, some in groupby(items, key=lambda item: id(item.server)):
        listed = list(some)
        yield listed[0].server, listed


def _joined(before: LockEdit | None, edit: LockEdit) -> LockEdit:
    """Return one edit for two of the same server, unless these are about two programs."""
    if before is None or before.identity != edit.identity:
        return edit
    instructions = before.instructions if edit.instructions is None else edit.instructions
    return msgspec.structs.replace(edit, tools={**before.tools, **edit.tools}, instructions=instructions)


def _edit(held: HeldServer, names: Sequence[str]) -> LockEdit:
    tools: dict[str, LockedTool | None] = {}
    for name, tool in held.tools.items():
        if name in names:
            try:
                tools[name] = locked_tool(tool.definition)
            except ValueError:
                full_name = show_name(f"{held.place.toolbox}/{held.place.server}/{name}")
                what = "has a number that JSON cannot hold, and cannot be locked"
                raise ValueError(f"{full_name} {what}") from None
    text = held.instructions
    return LockEdit(
        identity=held.identity,
        program=held.program,
        tools=tools,
        instructions=text.text if text is not None and INSTRUCTIONS in names else None,
    )
