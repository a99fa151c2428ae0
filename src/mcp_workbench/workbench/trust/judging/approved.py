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
    from mcp_workbench.storage.trust.pins import PinRecord

    Texts = Mapping[str, msgspec.Raw]

OTHER_PROGRAM: Final = "another program has the name of this server now"
NOT_IN_LOCK: Final = "the lock does not have this server"
LOCK_UNUSABLE: Final = "the lock cannot be used"
DAMAGED: Final = "what was approved of this server cannot be read any more"


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
    pin, fault, locked = _approved(seen, identity)
    is_strict = seen.level == "strict"
    is_locked = locked is not None and not fault
    return Basis(
        is_strict=is_strict,
        identity=identity,
        pin=pin,
        is_locked=is_locked,
        read_texts=(lambda: _locked_texts(locked)) if locked is not None and pin is not None else read_texts,
        rejected=seen.record.rejected,
        refusal=fault if is_strict else "",
        warning="" if is_strict else fault,
    )


def pin_in_force(seen: Seen, identity: ServerIdentity) -> ServerPin | None:
    """Return what was approved of a server, as far as it counts for the program that it is now."""
    pin, fault, _ = _approved(seen, identity)
    return None if fault and seen.level == "strict" else pin


def _approved(seen: Seen, identity: ServerIdentity) -> tuple[ServerPin | None, str, LockedServer | None]:
    """Return the pin that counts, what is wrong about it, and the server in the lock if that counts.

    Under `strict`, what is wrong holds the whole server, and the pin is what to compare it with. Under
    `scan`, what is wrong does not count: the server is pinned in the data directory.
    """
    locked, fault = _locked(seen, identity)
    if locked is not None and (not fault or seen.level == "strict"):
        return _pin_of(locked), fault, locked
    if fault and seen.level == "strict":
        return None, fault, None
    record = seen.record
    if record.is_damaged:
        return None, DAMAGED, None
    if record.pin is not None and record.pin.identity != identity.digest:
        return (record.pin if seen.level == "strict" else None), OTHER_PROGRAM, None
    return record.pin, "", None


def _locked(seen: Seen, identity: ServerIdentity) -> tuple[LockedServer | None, str]:
    """Return the server as the lock has it, and what is wrong about that."""
    if seen.lock is None:
        return None, ""
    if isinstance(seen.lock, LockUnusable):
        return None, LOCK_UNUSABLE
    locked = seen.lock.get(identity.origin)
    if locked is None:
        return None, NOT_IN_LOCK
    return locked, "" if locked.identity == identity.digest else OTHER_PROGRAM


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
