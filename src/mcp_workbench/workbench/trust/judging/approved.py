"""What counts as approved of a server: its pin in the data directory, or the lock beside the configuration.

Owns which of the two counts, and when the whole server is held. `judge` compares a list of tools with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import LockUnusable
from mcp_workbench.storage.trust.pin_records import ServerPin, ToolPin
from mcp_workbench.workbench.trust.digests import text_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp_workbench.config import Origin
    from mcp_workbench.config.model.workbench import PinLevel
    from mcp_workbench.storage.trust.lock_file import Lock, LockedServer
    from mcp_workbench.storage.trust.pin_records import HeldTool
    from mcp_workbench.storage.trust.pins import PinRecord

    Texts = Mapping[str, msgspec.Raw]

OTHER_PROGRAM: Final = "another program has the name of this server now"
NOT_IN_LOCK: Final = "the lock does not have this server"
LOCK_UNUSABLE: Final = "the lock cannot be used"
DAMAGED: Final = "what was approved of this server cannot be read any more"
REJECTED: Final = "was rejected by a person"
_FAULTS: Final = frozenset((OTHER_PROGRAM, NOT_IN_LOCK, LOCK_UNUSABLE, DAMAGED))
"""Reasons to hold a whole server, whatever its tools are."""


class Seen(msgspec.Struct, frozen=True, eq=False):
    """The pin and the lock as they were found, and the level that is configured."""

    level: PinLevel
    record: PinRecord
    lock: Lock | LockUnusable | None

    def is_same(self, other: Seen | None) -> bool:
        """Whether nothing has changed between two looks."""
        if other is None or self.level != other.level:
            return False
        return self.record is other.record and self.lock is other.lock


class ServerIdentity(msgspec.Struct, frozen=True):
    """Which server it is, and which program it runs."""

    origin: Origin
    digest: str
    program: str
    """The command and arguments without values, or the URL's origin."""


def why_held(held: HeldTool) -> str:
    """Return why a tool is held, in words that a model may read: nothing in them is from the server."""
    fault = next((reason for reason in held.reasons if reason in _FAULTS), None)
    if fault is not None:
        return fault
    if REJECTED in held.reasons:
        return "a person has rejected it"
    return "its definition changed since it was approved" if held.approved else "nobody has approved it yet"


class Basis(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What a list of tools is judged by."""

    is_strict: bool
    identity: ServerIdentity
    pin: ServerPin | None
    """What was approved; None if nothing was, so that this is the first list."""
    is_locked: bool = False
    """Whether the lock says what was approved, which is not written."""
    read_texts: Callable[[], Texts]
    """Returns the approved definitions and instructions by their digests."""
    rejected: Mapping[str, Sequence[str]]
    refusal: str = ""
    """Why the whole server is held, if it is."""
    warning: str = ""
    """Why what was approved does not count any more, if it does not."""


def basis_of(seen: Seen, identity: ServerIdentity, read_texts: Callable[[], Texts]) -> Basis:
    """Return what the tools of a server are judged by. `read_texts` returns the texts of its pin."""
    found = _approved(seen, identity)
    locked = found.locked
    return Basis(
        is_strict=seen.level == "strict",
        identity=identity,
        pin=found.pin,
        is_locked=locked is not None,
        read_texts=read_texts if locked is None else lambda: _locked_texts(locked),
        rejected=seen.record.rejected,
        refusal=found.refusal,
        warning=found.warning,
    )


def pin_in_force(seen: Seen, identity: ServerIdentity) -> ServerPin | None:
    """Return what was approved of a server, as far as it counts for the program that it is now."""
    found = _approved(seen, identity)
    return None if found.refusal else found.pin


class _Approved(msgspec.Struct, frozen=True):
    pin: ServerPin | None = None
    """The pin that counts. If the whole server is held, what to compare it with."""
    locked: LockedServer | None = None
    """The server in the lock, if the pin is that."""
    refusal: str = ""
    warning: str = ""


def _approved(seen: Seen, identity: ServerIdentity) -> _Approved:
    """Return what counts. Under `scan`, a server that the lock does not have is pinned without it."""
    is_strict, warning = seen.level == "strict", ""
    if seen.lock is not None:
        locked = None if isinstance(seen.lock, LockUnusable) else seen.lock.get(identity.origin)
        if locked is not None and locked.identity == identity.digest:
            return _Approved(_pin_of(locked), locked)
        if locked is not None:
            fault, warning = OTHER_PROGRAM, f"{OTHER_PROGRAM}, and the lock does not count for it"
        else:
            fault = LOCK_UNUSABLE if isinstance(seen.lock, LockUnusable) else NOT_IN_LOCK
        if is_strict:
            return _Approved(None if locked is None else _pin_of(locked), locked, refusal=fault)
    record = seen.record
    if record.is_damaged:
        fault = DAMAGED
    elif record.pin is not None and record.pin.identity != identity.digest:
        fault = OTHER_PROGRAM
    else:
        return _Approved(record.pin, warning=warning)
    if is_strict:
        return _Approved(record.pin, refusal=fault)
    return _Approved(warning=f"{fault}; its tools are pinned anew")


def _pin_of(locked: LockedServer) -> ServerPin:
    tools = {
        name: ToolPin(digest=tool.digest, hints=tool.hints, since=0.0, by="lock")
        for name, tool in locked.tools.items()
    }
    return ServerPin(
        identity=locked.identity,
        program=locked.program,
        instructions=text_digest(locked.instructions),
        tools=tools,
    )


def _locked_texts(locked: LockedServer) -> Texts:
    texts = {tool.digest: tool.definition for tool in locked.tools.values()}
    if locked.instructions:
        encoded = msgspec.json.encode(locked.instructions)
        texts[text_digest(locked.instructions)] = msgspec.Raw(encoded)
    return texts
