"""An undo restores the bytes from before the first change, and notices what others have changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_workbench.errors import CannotChange
from mcp_workbench.setup.file_changes import FileChange, apply, read_for_change, restore
from mcp_workbench.setup.undoing import UndoPlan, plan_undo, plan_undo_of_config
from mcp_workbench.storage.backups import Backups


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_DATA_HOME": str(tmp_path / "data")}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mcp.json"
    path.write_bytes(b"original")
    return path


def write(file: Path, data: bytes, environ: dict[str, str], subject: str = "cursor") -> None:
    apply(FileChange(str(file), read_for_change(str(file)), data), environ, subject=subject)


def undo(plan: UndoPlan, environ: dict[str, str]) -> None:
    for it in plan.restorations:
        restore(it.path, it.before, it.after, environ, subject=it.subject, undoes=it.undoes)


def test_the_bytes_before_the_first_change_come_back(file: Path, environ: dict[str, str]) -> None:
    for data in (b"installed", b"updated", b"uninstalled"):
        write(file, data, environ)
    plan = plan_undo(environ, ["cursor"])
    assert [(it.before, it.after, it.is_edited) for it in plan.restorations] == [
        (b"uninstalled", b"original", False)
    ]
    undo(plan, environ)
    assert file.read_bytes() == b"original"
    assert plan_undo(environ, None) == UndoPlan((), ())


def test_an_undo_goes_back_to_the_last_undo_only(file: Path, environ: dict[str, str]) -> None:
    write(file, b"installed", environ)
    undo(plan_undo(environ, None), environ)
    file.write_bytes(b"edited")
    write(file, b"installed again", environ)
    undo(plan_undo(environ, None), environ)
    assert file.read_bytes() == b"edited"


def test_only_the_named_clients_are_undone(file: Path, environ: dict[str, str], tmp_path: Path) -> None:
    write(file, b"installed", environ)
    write(tmp_path / "settings.json", b"new", environ, "zed")
    write(tmp_path / "config.json", b"new", environ, "config")
    assert [it.subject for it in plan_undo(environ, ["zed"]).restorations] == ["zed"]
    assert [it.subject for it in plan_undo(environ, None).restorations] == ["cursor", "zed"]


@pytest.mark.parametrize("is_last", [True, False])
def test_a_change_of_somebody_else_is_noticed(file: Path, environ: dict[str, str], *, is_last: bool) -> None:
    write(file, b"installed", environ)
    file.write_bytes(b"edited")
    if not is_last:
        write(file, b"edited and installed", environ)
    assert [it.is_edited for it in plan_undo(environ, None).restorations] == [True]


def test_a_change_that_never_happened_is_no_edit(file: Path, environ: dict[str, str]) -> None:
    backups = Backups(environ)
    backups.add("cursor", str(file), b"original", b"killed before this was written")
    write(file, b"installed", environ)
    backups.add("cursor", str(file), b"installed", b"killed again")
    [restoration] = plan_undo(environ, None).restorations
    assert (restoration.before, restoration.after, restoration.is_edited) == (
        b"installed",
        b"original",
        False,
    )


def test_the_configuration_goes_back_one_change_at_a_time(file: Path, environ: dict[str, str]) -> None:
    seen = []
    for data in (b"first", b"second"):
        write(file, data, environ, "config")
    for _ in range(3):
        undo(plan_undo_of_config(environ, str(file)), environ)
        seen.append(file.read_bytes())
    assert seen == [b"first", b"original", b"original"]


def test_only_the_configuration_file_in_use_goes_back(
    file: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    write(file, b"changed", environ, "config")
    assert plan_undo_of_config(environ, str(tmp_path / "other.json")) == UndoPlan((), ())


def test_a_file_without_its_backup_is_left_alone(file: Path, environ: dict[str, str], tmp_path: Path) -> None:
    write(file, b"installed", environ)
    write(tmp_path / "new.json", b"installed", environ, "zed")
    backups = Backups(environ)
    Path(backups.path, backups.records()[0].backup).unlink()
    plan = plan_undo(environ, None)
    [(subject, error)] = plan.failures
    assert (subject, error.path) == ("cursor", str(file))
    assert "the backup is missing" in error.reason
    assert [(it.subject, it.after) for it in plan.restorations] == [("zed", None)]


def test_a_file_that_cannot_be_changed_is_a_failure(file: Path, environ: dict[str, str]) -> None:
    write(file, b"installed", environ)
    file.chmod(0o444)
    [(_, error)] = plan_undo(environ, None).failures
    assert isinstance(error, CannotChange)
    assert error.reason == "it is read-only"
