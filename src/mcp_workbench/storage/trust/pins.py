"""Pins and approved texts: two files for each server, in the data directory.

Owns the formats of these files, and how several processes change them: under one lock, each file replaced in
one step. What has to be held is decided in `workbench.trust`, and written by `held_files`. `review` approves
and rejects what is held by `PinStore.approve`, `PinStore.reject` and, with a lock, `PinStore.release`.

If nothing can be written, that is logged once, and pins are kept in memory until they can be written. If
another process has written the file meanwhile, the file counts: a person may have approved something there.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.config.source.reading import Stamp, stamp_of
from mcp_workbench.storage.private_files import POLL_SECONDS, PrivateDirectory, try_lock, warn_if_unsafe
from mcp_workbench.storage.trust.held_files import MAX_FILE_BYTES, HeldFiles
from mcp_workbench.storage.trust.pin_records import (
    PinPlace,
    ServerPin,
    approved_pin,
    approved_texts,
    file_name,
    shown_versions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from mcp_workbench.errors import StrPath
    from mcp_workbench.storage.trust.pin_records import HeldServer

MAX_REJECTED: Final = 20
"""Rejected definitions that are remembered for each tool; the oldest are forgotten."""
MAX_JUDGED: Final = 4
"""Lists that are remembered as exactly what was approved: a server may have one in each protocol version."""
LOCK_TIMEOUT_SECONDS: Final = 10.0
"""Seconds that a change waits for that of another process, because a file system may hang."""

_LOCK: Final = "lock"

log = logging.getLogger(__name__)


class PinRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered about one server: its pin, and what a person has rejected."""

    pin: ServerPin | None = None
    rejected: dict[str, tuple[str, ...]] = {}
    """The rejected definitions of each tool, see `HeldTool.version`; the digests of rejected instructions."""
    judged: tuple[str, ...] = ()
    """Digests of pins with lists of tools that are exactly what these pins approve."""
    is_damaged: bool = False
    """Whether there was a file that cannot be read, so that nobody knows what was approved."""


class _Unwritten(msgspec.Struct, frozen=True):
    """What could not be written about a server."""

    record: PinRecord
    texts: dict[str, msgspec.Raw]
    stamp: Stamp | None
    """The state of the file when it could not be written; None if there was none that could be read."""


class _PinFile(msgspec.Struct, kw_only=True):
    format: Literal[1] = 1
    place: PinPlace
    pin: ServerPin | None = None
    rejected: dict[str, tuple[str, ...]] = {}
    judged: tuple[str, ...] = ()


class _TextFile(msgspec.Struct, kw_only=True):
    format: Literal[1] = 1
    texts: dict[str, msgspec.Raw]
    """Approved definitions, and approved instructions as JSON strings, by their digests."""


_NOTHING: Final = PinRecord()
_DAMAGED: Final = PinRecord(is_damaged=True)
_decode_pin = msgspec.json.Decoder(_PinFile).decode
_decode_texts = msgspec.json.Decoder(_TextFile).decode


class PinStore:
    """The pins, approved texts and held tools of all servers of a user. The methods block."""

    def __init__(self, data: StrPath) -> None:
        self._pins = PrivateDirectory(data, "pins")
        self._texts = PrivateDirectory(data, "texts")
        self.held = HeldFiles(data)
        """What is held of each server."""
        self._known: dict[str, tuple[Stamp, PinRecord]] = {}
        self._unwritten: dict[str, _Unwritten] = {}
        """Pins and texts that could not be written. They count until the file is another one."""
        self._changing = threading.RLock()
        self._has_warned = False

    def check(self) -> None:
        """Raise OSError if nothing can be read here, or if a workbench could not have written anything."""
        for directory in (self._pins, self._texts):
            directory.scan()
        self.held.check()

    def read(self, place: PinPlace) -> PinRecord:
        """Return what is remembered about a server. The object stays the same until that changes."""
        name = file_name(place)
        if (unwritten := self._in_memory(name)) is not None:
            return unwritten.record
        try:
            stamp = self._stamp(name)
        except OSError:
            return _DAMAGED
        if stamp is None:
            return _NOTHING
        known = self._known.get(name)
        if known is None or known[0] != stamp:
            known = self._known[name] = stamp, self._read(name)
        return known[1]

    def texts(self, place: PinPlace) -> Mapping[str, msgspec.Raw]:
        """Return the approved definitions, and the instructions as JSON, by digest. Some may be lost."""
        name = file_name(place)
        if (unwritten := self._in_memory(name)) is not None:
            return unwritten.texts
        with suppress(OSError, ValueError, RecursionError):
            if (found := self._texts.read(name, max_bytes=MAX_FILE_BYTES)) is not None:
                return _decode_texts(found[0]).texts
        return {}

    def change(
        self,
        place: PinPlace,
        change: Callable[[PinRecord], PinRecord],
        texts: Mapping[str, msgspec.Raw],
    ) -> PinRecord:
        """Change what is remembered about a server, and return it.

        `change` gets what is remembered at that moment; if it returns the same object, nothing is written but
        what could not be written before.
        `texts` has the definitions and instructions that the change approves, by digest.
        """
        name = file_name(place)
        with self._changing:
            try:
                with self._locked():
                    return self._change(place, name, change, texts)
            except OSError as error:
                self._warn(error)
            # Before the file is read: if another process writes it meanwhile, the file counts.
            stamp = None
            with suppress(OSError):
                stamp = self._stamp(name)
            record = change(before := self.read(place))
            if record is not before:
                needed = _needed(record.pin, {**self.texts(place), **texts})
                self._unwritten[name] = _Unwritten(record, needed, stamp)
            return record

    def keep_held(self, place: PinPlace, *held: HeldServer) -> None:
        """Write what is held of a server, or that nothing is. That it cannot be written is logged once."""
        if held:
            self._write_memory(place)
        try:
            self.held.keep(place, *held)
        except OSError as error:
            if held:
                self._warn(error)

    def keep_held_again(self, held: Iterable[HeldServer]) -> None:
        """Write what another process has removed. That it cannot be written is logged once."""
        try:
            for one in held:
                if not self.held.has(one):
                    self._write_memory(one.place)
                    self.held.add(one)
        except OSError as error:
            self._warn(error)

    def approve(self, held: HeldServer, names: Collection[str], *, by: str = "review") -> None:
        """Approve what a person was shown: tools by their names, and `INSTRUCTIONS`.

        Only the definitions in `held` are approved. If the server lists others by now, they stay held.
        Raises OSError if that cannot be written.
        """
        texts = approved_texts(held, names)

        def change(record: PinRecord) -> PinRecord:
            pin = approved_pin(held, record.pin, names, by=by, now=time.time())
            record = _not_rejected(record, shown_versions(held, names))
            return msgspec.structs.replace(record, pin=pin, is_damaged=False)

        with self._changing, self._locked():
            self._change(held.place, file_name(held.place), change, texts, durable=True)
            self.held.settle(held, names)

    def release(self, held: HeldServer, names: Collection[str]) -> None:
        """Take tools and `INSTRUCTIONS` off what is held: the lock approves them now. Raises OSError.

        A person who rejected them before has changed their mind.
        """

        def change(record: PinRecord) -> PinRecord:
            return _not_rejected(record, shown_versions(held, names))

        with self._changing, self._locked():
            self._change(held.place, file_name(held.place), change, {}, durable=True)
            self.held.settle(held, names)

    def reject(self, held: HeldServer, names: Collection[str]) -> None:
        """Remember that a person rejected definitions. They stay held, and do not wait for anybody.

        Raises OSError if that cannot be written.
        """
        versions = shown_versions(held, names)

        def change(record: PinRecord) -> PinRecord:
            rejected = dict(record.rejected)
            for name, version in versions.items():
                others = (other for other in rejected.get(name, ()) if other != version)
                rejected[name] = (*others, version)[-MAX_REJECTED:]
            return msgspec.structs.replace(record, rejected=rejected)

        with self._changing, self._locked():
            self._change(held.place, file_name(held.place), change, {}, durable=True)
            self.held.settle(held, names, is_rejected=True)

    def _change(
        self,
        place: PinPlace,
        name: str,
        change: Callable[[PinRecord], PinRecord],
        texts: Mapping[str, msgspec.Raw],
        *,
        durable: bool = False,
    ) -> PinRecord:
        record = change(before := self.read(place))
        if record is before and name not in self._unwritten:
            return record
        # The texts go first, those of the pin before included: whichever pin is there finds its texts.
        kept = self.texts(place)
        needed = _needed(before.pin, kept) | _needed(record.pin, {**kept, **texts})
        if needed != kept or name in self._unwritten:
            self._texts.replace(name, [msgspec.json.encode(_TextFile(texts=needed))])
        file = _PinFile(place=place, pin=record.pin, rejected=record.rejected, judged=record.judged)
        self._pins.replace(name, [msgspec.json.encode(file)], durable=durable)
        # Other processes wait for the lock meanwhile.
        self._known[name] = stamp_of(os.lstat(os.path.join(self._pins.path, name))), record
        self._unwritten.pop(name, None)
        return record

    def _write_memory(self, place: PinPlace) -> None:
        """Write the pin if that could not be done before.

        Otherwise an approval of what is held would make a pin that lacks all other tools.
        """
        if self._in_memory(file_name(place)) is not None:
            self.change(place, lambda record: record, {})

    def _in_memory(self, name: str) -> _Unwritten | None:
        """Return what could not be written, if it counts. It does not if the file was written meanwhile."""
        unwritten = self._unwritten.get(name)
        if unwritten is None:
            return None
        with suppress(OSError):
            # A file that is gone has no approval in it, and may be out of reach.
            if (stamp := self._stamp(name)) is not None and stamp != unwritten.stamp:
                self._unwritten.pop(name, None)
                return None
        return unwritten

    def _stamp(self, name: str) -> Stamp | None:
        """Return the state of a pin's file; None if there is none. Raises OSError."""
        try:
            return stamp_of(os.lstat(os.path.join(self._pins.path, name)))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _read(self, name: str) -> PinRecord:
        try:
            found = self._pins.read(name, max_bytes=MAX_FILE_BYTES)
            if found is None:
                return _NOTHING
            file = _decode_pin(found[0])
        except (OSError, ValueError, RecursionError) as error:
            log.debug("a pin cannot be read: %s", error)
            return _DAMAGED
        return PinRecord(pin=file.pin, rejected=file.rejected, judged=file.judged)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock that excludes other processes. Raises TimeoutError, which is an OSError."""
        descriptor = self._pins.open_lock(_LOCK)
        try:
            deadline = time.monotonic() + LOCK_TIMEOUT_SECONDS
            while os.name != "nt" and not try_lock(descriptor):
                if time.monotonic() > deadline:
                    raise TimeoutError(f"another process has locked {self._pins.path} for too long")
                time.sleep(POLL_SECONDS)
            yield
        finally:
            os.close(descriptor)

    def _warn(self, error: OSError) -> None:
        warn_if_unsafe(error)
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                "what was approved of servers cannot be written: %s. Changed tools are held only until this"
                " process ends",
                error,
            )


def _not_rejected(record: PinRecord, approved: Mapping[str, str]) -> PinRecord:
    """Return a record in which definitions are not rejected; the same object if none of them is."""
    rejected = dict(record.rejected)
    for name, version in approved.items():
        if version in rejected.get(name, ()):
            rejected[name] = tuple(other for other in rejected[name] if other != version)
            if not rejected[name]:
                del rejected[name]
    if rejected == record.rejected:
        return record
    return msgspec.structs.replace(record, rejected=rejected)


def _needed(pin: ServerPin | None, texts: Mapping[str, msgspec.Raw]) -> dict[str, msgspec.Raw]:
    """Return the texts that a pin refers to, as far as they are there."""
    if pin is None:
        return {}
    digests = {pin.instructions, pin.instructions_before}
    for tool in pin.tools.values():
        digests |= {tool.digest, tool.before}
    return {digest: text for digest, text in texts.items() if digest in digests}
