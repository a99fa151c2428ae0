"""Files of people and clients are replaced in one step, after a backup, and only if that is safe."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_workbench.errors import CannotChange
from mcp_workbench.setup.file_changes import (
    MAX_FILE_BYTES,
    FileChange,
    apply,
    diff_of,
    read_for_change,
    restore,
)
from mcp_workbench.storage.backups import Backups
from tests.support.privileges import ordinary_user
from tests.support.waiting import PATIENCE

OLD, NEW = b'{"a": 1}\n', b'{"a": 2}\n'


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_DATA_HOME": str(tmp_path / "data")}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "home" / "mcp.json"
    path.parent.mkdir()
    path.write_bytes(OLD)
    return path


def change(path: Path, environ: dict[str, str], subject: str = "cursor") -> None:
    apply(FileChange(str(path), read_for_change(str(path)), NEW), environ, subject=subject)


def refused(path: Path) -> str:
    with pytest.raises(CannotChange) as caught:
        read_for_change(str(path))
    return str(caught.value)


def test_a_file_is_replaced_after_a_backup(file: Path, environ: dict[str, str]) -> None:
    change(file, environ)
    backups = Backups(environ)
    [record] = backups.records()
    assert file.read_bytes() == NEW
    assert (record.subject, record.path, backups.content(record)) == ("cursor", str(file), OLD)
    assert [path.name for path in file.parent.iterdir()] == ["mcp.json"]


def test_the_mode_stays(file: Path, environ: dict[str, str]) -> None:
    file.chmod(0o640)
    change(file, environ)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_the_time_of_the_change_is_that_of_the_file(file: Path, environ: dict[str, str]) -> None:
    os.utime(file, (1, 1))
    change(file, environ)
    assert file.stat().st_mtime > 1


def test_a_symlink_stays_a_symlink(file: Path, environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("home/mcp.json")
    change(tmp_path / "link", environ)
    assert (tmp_path / "link").readlink() == Path("home/mcp.json")
    assert file.read_bytes() == NEW
    assert Backups(environ).records()[0].path == str(file)


def test_a_link_to_a_missing_file_makes_the_file(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "link").symlink_to("dotfiles/mcp.json")
    change(tmp_path / "link", environ)
    assert (tmp_path / "dotfiles" / "mcp.json").read_bytes() == NEW


@pytest.mark.parametrize(("subject", "directory_mode"), [("cursor", 0o755), ("config", 0o700)])
def test_a_new_file_is_private(
    tmp_path: Path, environ: dict[str, str], subject: str, directory_mode: int
) -> None:
    old_umask = os.umask(0o022)
    try:
        change(tmp_path / "a" / "b" / "mcp.json", environ, subject)
    finally:
        os.umask(old_umask)
    made = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "mcp.json"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [directory_mode, directory_mode, 0o600]


def test_a_file_that_changed_since_the_preview_is_left_alone(file: Path, environ: dict[str, str]) -> None:
    planned = FileChange(str(file), read_for_change(str(file)), NEW)
    file.write_bytes(b"edited")
    with pytest.raises(CannotChange, match=r"it has changed since the preview\. Nothing was written"):
        apply(planned, environ, subject="cursor")
    assert file.read_bytes() == b"edited"
    assert Backups(environ).records() == []


def test_an_edit_while_the_new_file_is_written_is_not_lost(file: Path, environ: dict[str, str]) -> None:
    def edit(_frame: object, event: str, function: object) -> None:
        if event == "c_call" and function is os.utime and list(file.parent.glob(".*.tmp")):
            file.write_bytes(b"edited")

    sys.setprofile(edit)
    try:
        with pytest.raises(CannotChange, match="it has changed since the preview"):
            apply(FileChange(str(file), OLD, NEW), environ, subject="cursor")
    finally:
        sys.setprofile(None)
    assert {path.name: path.read_bytes() for path in file.parent.iterdir()} == {"mcp.json": b"edited"}


def test_a_file_that_appeared_since_the_preview_is_left_alone(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    (tmp_path / "new.json").write_bytes(b"made meanwhile")
    with pytest.raises(CannotChange, match="it has changed since the preview"):
        apply(FileChange(str(tmp_path / "new.json"), None, NEW), environ, subject="cursor")
    assert (tmp_path / "new.json").read_bytes() == b"made meanwhile"


def test_a_change_that_changes_nothing_leaves_no_trace(file: Path, environ: dict[str, str]) -> None:
    status = file.stat()
    apply(FileChange(str(file), OLD, OLD), environ, subject="cursor")
    assert (file.stat(), Backups(environ).records()) == (status, [])


def test_a_restored_file_that_did_not_exist_is_deleted(tmp_path: Path, environ: dict[str, str]) -> None:
    file = tmp_path / "new.json"
    change(file, environ)
    [made] = Backups(environ).records()
    restore(str(file), NEW, None, environ, subject="cursor", undoes=[made.id])
    first, second = Backups(environ).records()
    assert not file.exists()
    assert (first.undone, second.undone, second.command) == (True, True, "undo")
    assert Backups(environ).content(second) == NEW


def test_a_missing_file_is_read_as_none(tmp_path: Path) -> None:
    assert read_for_change(str(tmp_path / "a" / "b")) is None


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    assert "its symbolic links form a loop" in refused(tmp_path / "one")
    assert "Too many levels of symbolic links" in refused(tmp_path / "one" / "mcp.json")


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert "it is not a regular file" in refused(tmp_path / "fifo")
    assert "it is not a regular file" in refused(Path("/dev/null"))
    assert "it is a directory" in refused(tmp_path)


def test_a_file_where_a_directory_should_be_is_refused(file: Path) -> None:
    assert f"{file}/mcp.json: " in refused(file / "mcp.json")
    assert "directory" in refused(file / "mcp.json").lower()


def test_a_read_only_file_is_refused_even_for_root(file: Path) -> None:
    file.chmod(0o444)
    assert "it is read-only. Make it writable (chmod u+w)" in refused(file)


def test_a_file_with_another_name_is_refused(file: Path, tmp_path: Path) -> None:
    (tmp_path / "other").hardlink_to(file)
    assert "it has another name (a hard link)" in refused(file)


def test_a_huge_file_is_refused(file: Path) -> None:
    os.truncate(file, MAX_FILE_BYTES + 1)
    assert "it is larger than 16 MiB" in refused(file)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(file: Path) -> None:
    os.chown(file, 65534, 65534)
    assert "it belongs to another user (uid 65534)" in refused(file)


def test_a_directory_that_is_not_writable_is_refused() -> None:
    with ordinary_user() as directory:
        file = directory / "mcp.json"
        file.write_bytes(OLD)
        directory.chmod(0o555)
        reason = refused(file)
        directory.chmod(0o755)
    assert f"its directory {directory} is not writable" in reason


def test_without_a_place_for_backups_nothing_is_written(file: Path, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"")
    with pytest.raises(CannotChange, match="no backup can be made"):
        change(file, {"XDG_DATA_HOME": str(tmp_path / "data")})
    assert file.read_bytes() == OLD


def test_a_path_that_is_not_utf_8_is_refused(tmp_path: Path, environ: dict[str, str]) -> None:
    path = tmp_path / os.fsdecode(b"\xff.json")
    with pytest.raises(CannotChange, match="its path is not UTF-8"):
        change(path, environ)
    assert not path.exists()


def test_a_diff_shows_what_changes_masked() -> None:
    old = b'{\r\n  "token": "hunter22",\r\n  "a": 1\r\n}'
    lines = FileChange("f", old, old.replace(b"1", b"2") + b"\r\n").diff(
        lambda line: line.replace("hunter22", "***")
    )
    assert lines == [
        *("--- f", "+++ f", "@@ -1,4 +1,4 @@", " {", '   "token": "***",'),
        *('-  "a": 1', "-} (no line feed at the end)", '+  "a": 2', "+}"),
    ]


def test_a_diff_of_a_new_and_of_a_deleted_file() -> None:
    assert diff_of("f", None, b"x\n", str) == ["--- (no file)", "+++ f", "@@ -0,0 +1 @@", "+x"]
    assert diff_of("f", b"x\n", None, str) == ["--- f", "+++ (deleted)", "@@ -1 +0,0 @@", "-x"]
    assert diff_of("f", b"x", b"x", str) == []


@pytest.mark.slow
def test_killed_at_any_step_the_file_is_old_or_new_and_the_old_one_is_saved_first(tmp_path: Path) -> None:
    program = Path(__file__).with_name("killed_at.py")
    done = subprocess.run(
        [sys.executable, program, tmp_path, "old", "new"],
        capture_output=True,
        timeout=4 * PATIENCE,
        check=True,
    )
    outcomes = [(content, tuple(saved)) for content, saved in json.loads(done.stdout)]
    assert list(dict.fromkeys(outcomes)) == [("old", ()), ("old", ("old",)), ("new", ("old",))]
    assert len(outcomes) > 50


def test_two_commands_at_once_do_not_both_write(file: Path, environ: dict[str, str]) -> None:
    code = (
        "import os, sys\n"
        "from mcp_workbench.errors import CannotChange\n"
        "from mcp_workbench.setup.file_changes import FileChange, apply\n"
        "change = FileChange(sys.argv[1], sys.argv[2].encode(), sys.argv[3].encode())\n"
        "sys.stdin.read()\n"
        "try: apply(change, os.environ, subject='cursor')\n"
        "except CannotChange as error: sys.exit(error.reason)\n"
    )
    commands = [
        subprocess.Popen(
            [sys.executable, "-c", code, file, OLD, data],
            env={**os.environ, **environ},
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for data in (b"first", b"second", b"third")
    ]
    for command in commands:
        assert command.stdin is not None
        command.stdin.close()
        command.stdin = None
    errors = sorted(command.communicate(timeout=PATIENCE)[1] for command in commands)
    assert errors == [b"", *[b"it has changed since the preview\n"] * 2]
    assert len(Backups(environ).records()) == 1
