"""Backups of the files that commands change, and the journal of those changes.

Owns the directory `backups` in the data directory: one file for the bytes before each change, and a journal
with one JSON object per line. A backup is on disk before the file that it belongs to is replaced. Lines of
the journal that are damaged are skipped, and the damaged journal is kept beside the new one.

Every method can raise OSError.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.storage.directories import data_directory
from mcp_workbench.storage.private_files import POLL_SECONDS, PrivateDirectory, try_lock

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

CONFIG: Final = "config"
"""Subject of changes of our own files: configurations, locks, token files. Others are the ids of clients."""
MAX_CLOSED_CHANGES: Final = 50
"""Number of changes of a file that are kept although no undo of a client needs them: undone ones, and those
of our own files."""
LOCK_SECONDS: Final = 10.0
"""Seconds to wait for another command that changes files."""

_JOURNAL: Final = "journal.jsonl"
_DAMAGED: Final = "journal.damaged"
_LOCK: Final = "journal.lock"
_MAX_JOURNAL_BYTES: Final = 16 * 1024 * 1024
_DRAFT_SECONDS: Final = 3600.0


class ChangeRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change of a file: a line of the journal."""

    id: str
    time: str
    """When the change was made, in UTC: `2026-11-17T20:45:00Z`."""
    subject: str
    path: str
    """Path of the file that was replaced, with all links resolved."""
    before: str | None
    """Digest of the bytes before the change; None if there was no file."""
    after: str | None
    """Digest of the bytes after the change; None if the file was deleted."""
    command: str = ""
    undone: bool = False

    @property
    def backup(self) -> str:
        """Name of the backup; empty if there was no file to back up."""
        return "" if self.before is None else f"{self.id}.bak"


def digest_of(data: bytes | None) -> str | None:
    """Return the digest by which the journal identifies the content of a file; None without a file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


class Backups:
    """The backups and the journal of the current user."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._directory = PrivateDirectory(data_directory(environ), "backups")
        self.path = self._directory.path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock that excludes other commands. Raises TimeoutError after `LOCK_SECONDS`."""
        descriptor = self._directory.open_lock(_LOCK)
        try:
            deadline = time.monotonic() + LOCK_SECONDS
            while os.name != "nt" and not try_lock(descriptor):
                if time.monotonic() > deadline:
                    raise TimeoutError(errno.ETIMEDOUT, "another mcp-workbench command is changing files")
                time.sleep(POLL_SECONDS)
            yield
        finally:
            os.close(descriptor)

    def records(self) -> list[ChangeRecord]:
        """Return the changes in the journal, oldest first. Damaged lines are left out."""
        return self._read()[0]

    def content(self, record: ChangeRecord) -> bytes | None:
        """Return the bytes before a change; None if there was no file. A damaged backup is an OSError."""
        if record.before is None:
            return None
        found = self._directory.read(record.backup)
        path = os.path.join(self.path, record.backup)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "the backup is missing", path)
        if digest_of(found[0]) != record.before:
            raise OSError(errno.EIO, "the backup is damaged", path)
        return found[0]

    def add(
        self,
        subject: str,
        path: str,
        before: bytes | None,
        after: bytes | None,
        *,
        command: str = "",
        undone: bool = False,
    ) -> None:
        """Write a backup and its line in the journal. The caller holds the lock, and changes the file after.

        With `undone`, the change is itself an undo, which a later undo does not undo.
        """
        now = datetime.now(UTC)
        record = ChangeRecord(
            id=f"{subject}-{now:%Y%m%dT%H%M%SZ}-{os.urandom(4).hex()}",
            time=f"{now:%Y-%m-%dT%H:%M:%SZ}",
            subject=subject,
            path=path,
            before=digest_of(before),
            after=digest_of(after),
            command=command,
            undone=undone,
        )
        # A path that is no UTF-8 cannot stand in the journal: found out before anything is written.
        msgspec.json.encode(record)
        if before is not None:
            self._directory.replace(record.backup, [before], durable=True)
        self._write([*self._checked(), record])

    def mark_undone(self, ids: Collection[str]) -> None:
        """Note that changes are undone, so that no later undo goes back beyond them."""
        records = self._checked()
        self._write(
            [
                msgspec.structs.replace(record, undone=True) if record.id in ids else record
                for record in records
            ]
        )

    def _checked(self) -> list[ChangeRecord]:
        """Return the changes in the journal, after putting a damaged journal aside."""
        records, damaged = self._read()
        if damaged:
            self._directory.replace(_DAMAGED, [damaged], durable=True)
        return records

    def _read(self) -> tuple[list[ChangeRecord], bytes]:
        """Return the changes, and the content of the journal if any of it is damaged."""
        found = self._directory.read(_JOURNAL, max_bytes=_MAX_JOURNAL_BYTES)
        data = b"" if found is None else found[0]
        records: list[ChangeRecord] = []
        is_damaged = False
        for line in data.splitlines():
            try:
                records.append(msgspec.json.decode(line, type=ChangeRecord))
            except (msgspec.DecodeError, UnicodeDecodeError):
                is_damaged = True
        return records, data if is_damaged else b""

    def _write(self, records: list[ChangeRecord]) -> None:
        kept = _within_bounds(records)
        self._directory.replace(_JOURNAL, [msgspec.json.Encoder().encode_lines(kept)], durable=True)
        # After the journal, so that it never names a backup that is gone.
        for record in records:
            if record not in kept and record.backup:
                with suppress(OSError):
                    self._directory.remove(record.backup)
        self._directory.remove_drafts(older_than_seconds=_DRAFT_SECONDS)


def _within_bounds(records: list[ChangeRecord]) -> list[ChangeRecord]:
    """Return the changes without the oldest of those that no undo of a client needs."""
    closed: dict[str, list[str]] = {}
    for record in records:
        if record.undone or record.subject == CONFIG:
            closed.setdefault(record.path, []).append(record.id)
    dropped = {one for ids in closed.values() for one in ids[:-MAX_CLOSED_CHANGES]}
    return [record for record in records if record.id not in dropped]
