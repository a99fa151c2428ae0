"""Backups are private, bounded, and survive damage of their journal."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mcp_workbench.storage.backups import MAX_CLOSED_CHANGES, Backups, ChangeRecord, digest_of


@pytest.fixture
def backups(tmp_path: Path) -> Backups:
    return Backups({"XDG_DATA_HOME": str(tmp_path)})


def test_a_change_is_recorded_with_its_backup(backups: Backups) -> None:
    backups.add("cursor", "/home/me/mcp.json", b"old", b"new", command="install")
    [record] = backups.records()
    assert record == ChangeRecord(
        id=record.id,
        time=record.time,
        subject="cursor",
        path="/home/me/mcp.json",
        before=digest_of(b"old"),
        after=digest_of(b"new"),
        command="install",
        undone=False,
    )
    assert record.id.startswith("cursor-20")
    assert backups.content(record) == b"old"


def test_a_change_of_no_file_has_no_backup(backups: Backups) -> None:
    backups.add("cursor", "/mcp.json", None, b"new")
    [record] = backups.records()
    assert (record.backup, backups.content(record)) == ("", None)
    assert [path.name for path in Path(backups.path).iterdir()] == ["journal.jsonl"]


def test_only_the_owner_can_read_them(backups: Backups) -> None:
    backups.add("cursor", "/mcp.json", b"secret", b"new")
    directory = Path(backups.path)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}


def test_undone_changes_are_marked(backups: Backups) -> None:
    for number in range(3):
        backups.add("cursor", "/mcp.json", b"%d" % number, b"")
    backups.mark_undone([record.id for record in backups.records()[:2]])
    assert [record.undone for record in backups.records()] == [True, True, False]


def test_changes_that_an_undo_of_a_client_needs_are_all_kept(backups: Backups) -> None:
    backups.add("zed", "/settings.json", b"zed", b"")
    backups.add("config", "/workbench-lock.json", b"lock", b"")
    for number in range(MAX_CLOSED_CHANGES + 3):
        backups.add("config", "/config.json", b"%d" % number, b"")
    kept = [backups.content(record) for record in backups.records()]
    assert kept == [b"zed", b"lock", *(b"%d" % number for number in range(3, MAX_CLOSED_CHANGES + 3))]
    assert len(list(Path(backups.path).iterdir())) == len(kept) + 1


def test_a_damaged_line_costs_only_that_change(backups: Backups) -> None:
    for number in range(3):
        backups.add("cursor", "/mcp.json", b"%d" % number, b"")
    journal = Path(backups.path, "journal.jsonl")
    first, _, third = journal.read_bytes().splitlines()
    damaged = first + b'\n\xff{"id": \n' + third
    journal.write_bytes(damaged)
    backups.add("cursor", "/mcp.json", b"3", b"")
    assert [backups.content(record) for record in backups.records()] == [b"0", b"2", b"3"]
    assert Path(backups.path, "journal.damaged").read_bytes() == damaged


def test_a_damaged_or_missing_backup_is_an_error(backups: Backups) -> None:
    backups.add("cursor", "/mcp.json", b"old", b"new")
    [record] = backups.records()
    path = Path(backups.path, record.backup)
    path.write_bytes(b"other")
    with pytest.raises(OSError, match="the backup is damaged"):
        backups.content(record)
    path.unlink()
    with pytest.raises(FileNotFoundError, match="the backup is missing"):
        backups.content(record)


def test_a_path_that_is_not_utf_8_is_refused_before_anything_is_written(backups: Backups) -> None:
    with pytest.raises(UnicodeEncodeError):
        backups.add("cursor", os.fsdecode(b"/\xff"), b"old", b"new")
    assert not Path(backups.path).exists()


def test_the_lock_excludes_others(backups: Backups, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_workbench.storage.backups.LOCK_SECONDS", 0.0)
    expected = pytest.raises(TimeoutError, match="another mcp-workbench command")
    with backups.locked(), expected, backups.locked():
        pass
    with backups.locked():
        pass
