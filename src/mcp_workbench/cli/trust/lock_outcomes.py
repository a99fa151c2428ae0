"""What `lock` finds out about each server: what it lists, what of that is approved, and how the lock differs.

Decides what may be written to the lock. Servers are started by the caller, and nothing is written here.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

import msgspec

from mcp_workbench.protocol.lists import usable_tools
from mcp_workbench.setup.lock_changes import edit_to
from mcp_workbench.storage.trust.lock_file import LockedServer
from mcp_workbench.storage.trust.pin_records import INSTRUCTIONS, PinPlace, config_name, version_of
from mcp_workbench.workbench.trust.digests import program_digest, text_digest
from mcp_workbench.workbench.trust.judging.approved import Seen, ServerIdentity, basis_of
from mcp_workbench.workbench.trust.judging.judge import judge
from mcp_workbench.workbench.trust.lock_entries import differences, locked_tool, pinned_server
from mcp_workbench.workbench.trust.programs import server_program
from mcp_workbench.workbench.trust.scanning.scanner import scan_text, scan_tool

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from mcp_workbench.cli.inspection.rows import Rows
    from mcp_workbench.config import Origin
    from mcp_workbench.config.model.workbench import PinLevel
    from mcp_workbench.setup.lock_changes import LockEdit
    from mcp_workbench.storage.trust.lock_file import Lock, LockedTool
    from mcp_workbench.storage.trust.pins import PinStore
    from mcp_workbench.workbench.configured_server import ConfiguredServer
    from mcp_workbench.workbench.trust.lock_entries import PartDifference
    from mcp_workbench.workbench.trust.scanning.scanner import ScanFinding

State = Literal["same", "different", "missing", "unknown", "failed"]
"""How a server relates to the lock: `missing` is not in it, `unknown` is in it and not configured."""


class ServerListing(msgspec.Struct, frozen=True):
    """What a server lists now, as the lock would have it."""

    entry: LockedServer
    listed: tuple[msgspec.Raw, ...]
    """The definitions as the server sends them."""
    unwritable: tuple[str, ...]
    """Tools with a number that JSON cannot hold."""


class Approval(msgspec.Struct, frozen=True):
    """What is approved of a server that is not in the lock yet."""

    entry: LockedServer
    held: tuple[str, ...] = ()
    """The tools and `INSTRUCTIONS` that are not approved as the server lists them."""
    refusal: str = ""
    """Why nothing of the server is approved, if that is so."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """How a server differs from its entry in the lock, and the edit that would make both the same."""

    origin: Origin
    state: State
    parts: tuple[PartDifference, ...] = ()
    findings: dict[str, tuple[ScanFinding, ...]] = {}
    """What the scanner finds in the tools and `INSTRUCTIONS` that differ from the lock."""
    edit: LockEdit | None = None
    """None to remove the entry of a server that is not configured."""


def listing_of(server: ConfiguredServer, written: Sequence[str] | None) -> ServerListing:
    """Return what a connected server lists. `written` is its program in the file, see `server_program`."""
    connection = server.server.connections[True]
    listed = () if connection is None else tuple(connection.listed)
    program = server_program(server.server.config, written)
    tools: dict[str, LockedTool] = {}
    unwritable: list[str] = []
    for name, definition in usable_tools(listed).items():
        try:
            tools[name] = locked_tool(definition)
        except ValueError:
            unwritable.append(name)
    entry = LockedServer(
        identity=program_digest(program),
        program=server.server.mask(program),
        instructions=server.instructions,
        tools=tools,
    )
    return ServerListing(entry, listed, tuple(unwritable))


def compare(lock: Lock, listings: Mapping[Origin, ServerListing], rows: Rows) -> Iterator[Comparison]:
    """Yield how each server of these rows relates to the lock."""
    for origin in rows:
        listing, locked = listings.get(origin), lock.get(origin)
        if listing is None:
            yield Comparison(origin=origin, state="failed")
            continue
        entry = listing.entry
        nothing = LockedServer(identity=entry.identity, program=entry.program)
        parts = differences(locked or nothing, entry)
        state: State = "missing" if locked is None else "different" if parts else "same"
        yield Comparison(
            origin=origin,
            state=state,
            parts=tuple(parts),
            findings=_findings(entry, locked),
            edit=edit_to(locked, entry),
        )


def not_configured(lock: Lock, configured: Collection[Origin]) -> list[Comparison]:
    """Return the servers in the lock that the configuration does not have."""
    return [Comparison(origin=origin, state="unknown") for origin in lock if origin not in configured]


def _findings(entry: LockedServer, locked: LockedServer | None) -> dict[str, tuple[ScanFinding, ...]]:
    known = {} if locked is None else locked.tools
    found = {
        name: tuple(scan_tool(tool.definition, entry.tools.keys()))
        for name, tool in entry.tools.items()
        if name not in known or known[name].digest != tool.digest
    }
    if locked is None or text_digest(locked.instructions) != text_digest(entry.instructions):
        found[INSTRUCTIONS] = tuple(scan_text("instructions", entry.instructions))
    return {name: findings for name, findings in found.items() if findings}


class ApprovedEntries:
    """What is approved of servers that are not in the lock yet: as they are pinned, or as they list first."""

    def __init__(self, store: PinStore, config: str, lock: Lock | None) -> None:
        self._store = store
        self._config = config_name(config)
        self._lock = lock

    def of(self, origin: Origin, level: PinLevel, listing: ServerListing | None) -> Approval | None:
        """Return what is approved of a server; None if nothing is known of it.

        Without a listing, that is what is pinned. Nothing is pinned by this.
        """
        place = PinPlace(self._config, *origin)
        record, texts = self._store.read(place), self._store.texts(place)
        if listing is None:
            return None if record.pin is None else Approval(pinned_server(record.pin, texts))
        entry = listing.entry
        identity = ServerIdentity(origin, entry.identity, entry.program)
        basis = basis_of(Seen(level, record, self._lock), identity, lambda: texts)
        if basis.refusal:
            return Approval(entry, refusal=basis.refusal)
        outcome = judge(basis, listing.listed, entry.instructions, time.time())
        held = [*outcome.held, *([] if outcome.withheld is None else [INSTRUCTIONS])]
        return Approval(pinned_server(outcome.pin, {**texts, **outcome.texts}), tuple(held))


def release_approved(store: PinStore, config: str, listings: Mapping[Origin, ServerListing]) -> None:
    """Take off what is held if a lock that was just written approves it. Raises OSError."""
    for held in store.held.servers(config):
        listing = listings.get((held.place.toolbox, held.place.server))
        if listing is None or listing.entry.identity != held.identity:
            continue
        tools = listing.entry.tools
        names = [
            name
            for name, tool in held.tools.items()
            if name in tools and version_of(tools[name].digest, tools[name].hints) == tool.version
        ]
        if (
            held.instructions is not None
            and text_digest(listing.entry.instructions) == held.instructions.digest
        ):
            names.append(INSTRUCTIONS)
        if names:
            store.release(held, names)
