"""The lock is written with the care of every other file of a person, and no process's edit gets lost."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.errors import CannotChange, LockUnusable
from mcp_workbench.setup.lock_changes import LockEdit, edited, write_lock
from mcp_workbench.storage.trust.lock_file import FILE_NAME, encode_lock, read_lock
from tests.storage.trust.test_lock_file import IDENTITY, LOCK, digest_of, tool
from tests.support.privileges import ordinary_user
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_workbench.config import Origin

FS = "dev", "fs"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project" / FILE_NAME


def write(path: Path, edits: dict[Origin, LockEdit | None]) -> bool:
    environ = {"XDG_DATA_HOME": str(path.parent.parent / "data")}
    return write_lock(str(path), edits, digest_of, environ, command="lock")


def edit(*names: str, identity: str = IDENTITY, instructions: str | None = None) -> LockEdit:
    tools = {name: tool(name, description=f"Does {name}") for name in names}
    return LockEdit(identity=identity, program="npx -y fs", tools={**tools}, instructions=instructions)


def test_an_edit_leaves_the_rest_as_it_is() -> None:
    made = edited(
        LOCK,
        {FS: LockEdit(identity=IDENTITY, program="npx -y fs", tools={"read": None}), ("b", "s"): edit("x")},
    )
    assert list(made[FS].tools) == ["write"]
    assert made[FS].instructions == "Paths are absolute."
    assert edited(made, {("b", "s"): None}).keys() == {FS}
    assert edited(LOCK, {FS: edit(instructions="")})[FS].instructions == ""


def test_nothing_of_another_program_stays_approved() -> None:
    other = edited(LOCK, {FS: edit("read", identity="sha256:" + "1" * 64)})[FS]
    assert (list(other.tools), other.instructions) == (["read"], "")


def test_a_new_file_can_be_shared_and_a_file_keeps_its_mode(path: Path) -> None:
    before = os.umask(0o027)
    try:
        assert write(path, {FS: edit("read")})
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o664)
    assert write(path, {FS: edit("write")})
    assert stat.S_IMODE(path.stat().st_mode) == 0o664
    assert not write(path, {FS: edit("write")})
    assert [file.name for file in path.parent.iterdir()] == [FILE_NAME]


def test_edits_at_the_same_time_are_all_kept(path: Path) -> None:
    names = [f"tool{number}" for number in range(12)]
    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(lambda name: write(path, {FS: edit(name)}), names))
    lock = read_lock(str(path), digest_of)
    assert lock is not None
    assert sorted(lock[FS].tools) == sorted(names)


def test_a_killed_command_leaves_the_old_lock_and_the_next_one_cleans_up(path: Path) -> None:
    assert write(path, {FS: edit("read")})
    before = path.read_bytes()
    program = f"""
import os
from pathlib import Path
from tests.setup.test_lock_changes import FS, edit, write
replace = os.replace
os.replace = lambda *paths, **at: replace(*paths, **at) if at else os._exit(9)  # the lock, not a backup
write(Path({str(path)!r}), {{FS: edit("write")}})
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=PATIENCE, check=False).returncode == 9
    assert path.read_bytes() == before
    assert len(list(path.parent.iterdir())) == 2
    assert write(path, {FS: edit("write")})
    assert [file.name for file in path.parent.iterdir()] == [FILE_NAME]


def test_a_lock_with_a_mistake_is_not_overwritten(path: Path) -> None:
    path.write_text('{"version": 2}')
    with pytest.raises(LockUnusable, match="Update MCP Workbench"):
        write(path, {FS: edit("read")})
    assert path.read_text() == '{"version": 2}'


def test_a_link_stays_a_link(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "real.json")
    (tmp_path / "real.json").write_bytes(encode_lock(LOCK))
    assert write(path, {FS: edit("more")})
    assert path.is_symlink()
    assert b"more" in (tmp_path / "real.json").read_bytes()


def test_a_directory_that_is_not_writable_is_named() -> None:
    with ordinary_user() as home:
        project = home / "project"
        project.mkdir()
        (project / FILE_NAME).write_bytes(encode_lock(LOCK))
        project.chmod(0o555)
        with pytest.raises(CannotChange, match="is not writable"):
            write(project / FILE_NAME, {FS: edit("read")})
        project.chmod(0o755)
        assert [file.name for file in project.iterdir()] == [FILE_NAME]
