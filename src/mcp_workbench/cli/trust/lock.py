"""`mcp-workbench lock`: writes what is approved of the servers to the lock, or compares them with it."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final

from mcp_workbench.cli.configuration import load_or_report
from mcp_workbench.cli.inspection.check import connect
from mcp_workbench.cli.inspection.display import Display
from mcp_workbench.cli.inspection.rows import choose_rows, rows_of
from mcp_workbench.cli.setup.asking import confirm
from mcp_workbench.cli.shell.page import Page
from mcp_workbench.cli.terminal import complain, print_json
from mcp_workbench.cli.trust.lock_display import plain_comparison, show_comparison
from mcp_workbench.cli.trust.lock_outcomes import (
    ApprovedEntries,
    compare,
    listing_of,
    not_configured,
    release_approved,
)
from mcp_workbench.cli.trust.lock_reading import read_lock_or_report
from mcp_workbench.errors import CannotChange, LockUnusable
from mcp_workbench.setup.lock_changes import edit_to, write_lock
from mcp_workbench.storage.directories import data_directory
from mcp_workbench.storage.trust.lock_file import read_lock
from mcp_workbench.storage.trust.pins import PinStore
from mcp_workbench.workbench.text.counting import count
from mcp_workbench.workbench.text.sanitise import show_name
from mcp_workbench.workbench.trust.digests import definition_digest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from mcp_workbench.cli.inspection.rows import Rows
    from mcp_workbench.cli.trust.lock_outcomes import ServerListing
    from mcp_workbench.config import LoadedConfig, Origin, ServerConfig
    from mcp_workbench.setup.lock_changes import LockEdit
    from mcp_workbench.storage.trust.lock_file import Lock
    from mcp_workbench.workbench.configured_server import ConfiguredServer

CHECK: Final = "mcp-workbench lock --check"
UPDATE: Final = "mcp-workbench lock --update"


def run(options: argparse.Namespace) -> int:
    """Write the lock, or compare the servers with it.

    Return 0, 1 (a difference, a failed server, or the lock cannot be written) or 2 (a bad file or name).
    """
    loaded = load_or_report(options, as_json=options.json)
    if loaded is None:
        return 2
    rows = choose_rows(loaded, options.names)
    if rows is None:
        return 2
    beside = read_lock_or_report(options, loaded)
    if beside is None:
        return 2
    path, lock = beside
    if options.check and lock is None:
        complain(f"there is no {show_name(path)}. To write it: mcp-workbench lock")
        return 1
    command = LockCommand(options, loaded, path, lock, _lockable(loaded, rows))
    if options.check:
        return command.check()
    return command.update() if options.update else command.add()


class LockCommand:
    """One run of the command: what the servers list, how the lock differs, and what is written."""

    def __init__(
        self, options: argparse.Namespace, loaded: LoadedConfig, path: str, lock: Lock | None, rows: Rows
    ) -> None:
        self._options = options
        self._loaded = loaded
        self._path = path
        self._lock = lock
        self._rows = rows
        self._store = PinStore(data_directory(os.environ))
        # Only a lock of what is approved pins what is listed first, as every other use of a server does.
        keeps_pins = not (options.check or options.update)
        self._listings = _list_servers(loaded, rows, quietly=options.json, keeps_pins=keeps_pins)
        self._found = [*compare(lock or {}, self._listings, rows)]
        if not options.names:
            self._found += not_configured(lock or {}, rows_of(loaded))
        self._differing = [one for one in self._found if one.state not in ("same", "failed")]
        self._unwritable = [
            f"{'/'.join((*origin, name))} has a number that JSON cannot hold, and cannot be locked"
            for origin, listing in self._listings.items()
            for name in listing.unwritable
        ]
        self._is_complete = not self._unwritable and all(row.state != "failed" for row in rows.values())

    def check(self) -> int:
        """Print every difference between the servers and the lock."""
        self._show_differences()
        if self._differing:
            return self._end(1, [f"To accept the differences: {UPDATE}"])
        if not self._is_complete:
            return self._end(1, [])
        return self._end(0, [f"{_counted(self._lock or {})}: no differences from {self._path}"])

    def update(self) -> int:
        """Print every difference, and write what the servers list if the person agrees."""
        self._show_differences()
        edits = {one.origin: one.edit for one in self._differing}
        if edits and not confirm(f"Write this to {show_name(self._path)}?", yes=self._options.yes):
            return self._end(1, [])
        return self._write(edits, [])

    def add(self) -> int:
        """Write the approved part of the servers that the lock lacks."""
        approved = ApprovedEntries(self._store, self._loaded.path, self._lock)
        edits: dict[Origin, LockEdit | None] = {}
        notes: list[str] = []
        for origin in self._rows:
            if self._lock is not None and origin in self._lock:
                continue
            name = show_name("/".join(origin))
            level = _settings(self._loaded, origin).pin
            approval = approved.of(origin, level, self._listings.get(origin))
            if approval is not None and approval.refusal:
                self._is_complete = False
                notes.append(
                    f"{name} is held, and was not written: {approval.refusal}. To add it: {UPDATE} {name}"
                )
            elif approval is not None:
                edits[origin] = edit_to(None, approval.entry)
                if approval.held:
                    held = ", ".join(show_name(tool) or "its instructions" for tool in approval.held)
                    notes.append(f"Held of {name}, and not written: {held}. To decide: mcp-workbench review")
        left = [show_name("/".join(one.origin)) for one in self._differing if one.state != "missing"]
        if left:
            notes.append(
                f"Different from the lock, and left alone: {', '.join(left)}. To see how: {CHECK}. "
                f"To accept the differences: {UPDATE}"
            )
        return self._write(edits, notes, is_partial=bool(left))

    def _write(
        self, edits: Mapping[Origin, LockEdit | None], notes: Sequence[str], *, is_partial: bool = False
    ) -> int:
        """Write edits to the lock, say what happened, and return the exit code.

        Differences that are not among the edits make it `is_partial`: the lock is not up to date then.
        """
        if not edits and self._lock is None:
            # An empty lock would say that nothing is approved.
            return self._end(1, [*notes, f"{self._path} was not written: there is nothing to write"])
        try:
            is_written = write_lock(self._path, edits, definition_digest, os.environ, command="lock")
            if self._options.update:
                release_approved(self._store, self._loaded.path, self._listings)
            lock = read_lock(self._path, definition_digest)
        except (CannotChange, LockUnusable, OSError) as error:
            complain(str(error))
            return self._end(1, notes)
        unchanged = "was not changed, there is nothing new to add" if is_partial else "is up to date"
        state = "was written" if is_written else unchanged
        said = [*notes, f"{self._path} {state}: {_counted(lock or {})}"]
        return self._end(0 if self._is_complete else 1, said, is_written=is_written)

    def _show_differences(self) -> None:
        if not self._options.json:
            page = Page()
            for one in self._differing:
                show_comparison(page, one, is_whole=self._options.update)

    def _end(self, code: int, notes: Sequence[str], *, is_written: bool = False) -> int:
        """Print the outcome, and return the exit code."""
        said = [*self._unwritable, *notes]
        if self._options.json:
            servers = [plain_comparison(one, self._rows.get(one.origin)) for one in self._found]
            outcome = {"file": self._loaded.path, "lock": self._path, "written": is_written}
            print_json({**outcome, "notes": said, "servers": servers})
        else:
            page = Page()
            page.whole("")
            for note in said:
                page.whole(note)
        return code


def _lockable(loaded: LoadedConfig, rows: Rows) -> Rows:
    """Return the rows of the servers that belong in a lock: enabled, and not with `"pin": "off"`."""
    return {
        origin: row
        for origin, row in rows.items()
        if row.state != "disabled" and _settings(loaded, origin).pin != "off"
    }


def _settings(loaded: LoadedConfig, origin: Origin) -> ServerConfig:
    toolbox, server = origin
    return loaded.config.toolboxes[toolbox].servers[server]


def _list_servers(
    loaded: LoadedConfig, rows: Rows, *, quietly: bool, keeps_pins: bool
) -> dict[Origin, ServerListing]:
    """Start the servers, and return what each of them lists. Those that fail are missing."""
    listings: dict[Origin, ServerListing] = {}

    def on_listed(server: ConfiguredServer) -> None:
        listings[server.origin] = listing_of(server, loaded.programs.get(server.origin))

    if quietly:
        asyncio.run(connect(loaded, rows, lambda: None, on_listed, keeps_pins=keeps_pins))
        return listings
    heading = f"Listing the tools of {count(len(rows), 'server', 'servers')}"
    with Display(heading, loaded.warnings, list(rows.values())) as display:
        asyncio.run(connect(loaded, rows, display.update, on_listed, keeps_pins=keeps_pins))
    return listings


def _counted(lock: Lock) -> str:
    tools = sum(len(server.tools) for server in lock.values())
    return f"{count(len(lock), 'server', 'servers')}, {count(tools, 'tool', 'tools')}"
