"""Plans what an undo restores, from the journal of changes.

A client's file gets the bytes that it had before the first change since the last undo. The configuration
file goes back by one change. Nothing is written here: `file_changes.restore` does that.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import CannotChange
from mcp_workbench.setup.file_changes import read_for_change, real_path
from mcp_workbench.storage.backups import CONFIG, Backups, digest_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from mcp_workbench.storage.backups import ChangeRecord

REPLACING: Final = "install --replace"
"""Name in the journal of an installation that took servers out of a client's file."""


class Restoration(msgspec.Struct, frozen=True):
    """A file that an undo restores: its present bytes, and the former ones. None means no file."""

    subject: str
    path: str
    before: bytes | None
    after: bytes | None
    undoes: tuple[str, ...]
    """Ids of the changes in the journal that are undone."""
    since: str
    """When the first of these changes was made."""
    is_edited: bool
    """Whether somebody else has changed the file since, so that their changes would be lost."""
    has_replaced: bool
    """Whether servers were taken out of the file, which are in the workbench now."""


class UndoPlan(msgspec.Struct, frozen=True):
    """The files that an undo restores, and those that it cannot restore, with the reason."""

    restorations: tuple[Restoration, ...]
    failures: tuple[tuple[str, CannotChange], ...]
    """Pairs of a subject and the reason why its file cannot be restored."""


def plan_undo(environ: Mapping[str, str], subjects: Collection[str] | None) -> UndoPlan:
    """Return what an undo of clients restores: of those named, or of all. Raises CannotChange."""
    groups: dict[tuple[str, str], list[ChangeRecord]] = {}
    for record in _open_records(environ):
        if record.subject != CONFIG and (subjects is None or record.subject in subjects):
            groups.setdefault((record.subject, record.path), []).append(record)
    return _plan(environ, groups.values())


def plan_undo_of_config(environ: Mapping[str, str], path: str) -> UndoPlan:
    """Return what an undo of the last change of the configuration file restores. Raises CannotChange."""
    real = real_path(path)
    records = [record for record in _open_records(environ) if (record.subject, record.path) == (CONFIG, real)]
    return _plan(environ, [records[-1:]] if records else [])


def open_commands(environ: Mapping[str, str], subject: str) -> set[str]:
    """Return the commands that have changed the files of a client since the last undo."""
    return {record.command for record in _open_records(environ) if record.subject == subject}


def _open_records(environ: Mapping[str, str]) -> list[ChangeRecord]:
    backups = Backups(environ)
    try:
        return [record for record in backups.records() if not record.undone]
    except OSError as error:
        reason = f"the journal of changes cannot be read: {error.strerror or error}"
        raise CannotChange(backups.path, reason, "Nothing was written.") from error


def _plan(environ: Mapping[str, str], groups: Collection[list[ChangeRecord]]) -> UndoPlan:
    restorations: list[Restoration] = []
    failures: list[tuple[str, CannotChange]] = []
    for records in groups:
        try:
            restorations.append(_restoration(Backups(environ), records))
        except CannotChange as error:
            failures.append((records[0].subject, error))
    return UndoPlan(tuple(restorations), tuple(failures))


def _restoration(backups: Backups, records: list[ChangeRecord]) -> Restoration:
    first = records[0]
    present = read_for_change(first.path)
    try:
        former = backups.content(first)
    except OSError as error:
        reason = f"{error.strerror or error} ({error.filename or backups.path})"
        other = f" Other backups are in {backups.path}." if os.path.isdir(backups.path) else ""
        raise CannotChange(first.path, reason, f"Nothing was written.{other}") from error
    return Restoration(
        subject=first.subject,
        path=first.path,
        before=present,
        after=former,
        undoes=tuple(record.id for record in records),
        since=first.time,
        is_edited=present != former and _was_edited(records, digest_of(present)),
        has_replaced=any(record.command == REPLACING for record in records),
    )


def _was_edited(records: list[ChangeRecord], present: str | None) -> bool:
    """Whether the file had bytes meanwhile, or has them now, that no change of ours gave it.

    A change whose command was killed may be in the journal although it never happened.
    """
    known = {records[0].before}
    for record in records:
        if record.before not in known:
            return True
        known.add(record.after)
    return present not in known
