"""The files of the audit: whole lines, bounded, private, whatever happens around them."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.storage.audit import audit_files
from mcp_workbench.storage.audit.audit_files import MAX_FILE_BYTES, MAX_FILES, AuditFiles
from mcp_workbench.storage.open_directory import UnsafeDirectory
from mcp_workbench.storage.private_files import try_lock
from tests.storage.audit.lines import directory, line, read

if TYPE_CHECKING:
    from collections.abc import Callable

ONE_LINE = len(line(1))

WRITER = """
import sys
from mcp_workbench.storage.audit.audit_files import AuditFiles
from tests.storage.audit.lines import line
name, home = sys.argv[1:]
files = AuditFiles({"XDG_DATA_HOME": home}, 20_000)
for number in range(1, 101):
    files.append(line(number, client=name) * 2)
"""

FULL_DISK = """
import resource, sys
from mcp_workbench.storage.audit.audit_files import AuditFiles
from tests.storage.audit.lines import line
files = AuditFiles({"XDG_DATA_HOME": sys.argv[1]})
files.append(line(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (len(line(1)) + 100, resource.RLIM_INFINITY))
try:
    files.append(line(2) * 3)
except OSError as error:
    print(error.errno)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
files.append(line(3))
"""


@pytest.fixture
def files(tmp_path: Path) -> AuditFiles:
    return AuditFiles({"XDG_DATA_HOME": str(tmp_path)}, 10 * ONE_LINE)


def run(program: str, *args: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, *args]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")


@pytest.mark.slow
def test_lines_of_several_processes_neither_mix_nor_get_lost(tmp_path: Path) -> None:
    writers = [run(WRITER, name, str(tmp_path)) for name in ("one", "two", "three")]
    assert [(writer.communicate(timeout=60)[1], writer.returncode) for writer in writers] == [("", 0)] * 3
    lines = read(tmp_path)
    for name in ("one", "two", "three"):
        numbers = [it["number"] for it in lines if it["client"] == name]
        assert numbers == [number for number in range(1, 101) for _ in range(2)]
    assert {file.stat().st_size <= 20_000 for file in directory(tmp_path).iterdir()} == {True}


def test_ten_files_of_limited_size_have_the_newest_lines(tmp_path: Path, files: AuditFiles) -> None:
    for number in range(1000, 1500):
        files.append(line(number))
    sizes = [file.stat().st_size for file in directory(tmp_path).iterdir()]
    assert len(sizes) == MAX_FILES
    assert max(sizes) <= 10 * len(line(1000))
    numbers = [it["number"] for it in read(tmp_path)]
    assert numbers == list(range(1500 - len(numbers), 1500))
    assert len(numbers) > 80


def test_without_another_size_there_are_ten_files_of_ten_megabytes(tmp_path: Path) -> None:
    assert (MAX_FILES, MAX_FILE_BYTES) == (10, 10_000_000)
    directory(tmp_path).mkdir(parents=True)
    for number in range(1, 11):
        with (directory(tmp_path) / f"calls-{number:06d}.jsonl").open("wb") as file:
            file.seek(10_000_000 - ONE_LINE - 1)  # takes no space on the disk
            file.write(b"\n")
    large = AuditFiles({"XDG_DATA_HOME": str(tmp_path)})
    large.append(line(1))
    assert large.numbers() == list(range(1, 11))
    assert (directory(tmp_path) / "calls-000010.jsonl").stat().st_size == 10_000_000
    large.append(line(2))
    assert large.numbers() == list(range(2, 12))
    assert (directory(tmp_path) / "calls-000011.jsonl").read_bytes() == line(2)


def test_only_the_owner_can_read_whatever_the_umask(tmp_path: Path, files: AuditFiles) -> None:
    before = os.umask(0o777)
    try:
        files.append(line(1))
    finally:
        os.umask(before)
    (file,) = directory(tmp_path).iterdir()
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (directory(tmp_path), file)]
    assert modes == [0o700, 0o600]


@pytest.mark.slow
def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    said, failure = run(FULL_DISK, str(tmp_path)).communicate(timeout=60)
    assert (said.strip(), failure) == (str(errno.EFBIG), "")
    assert [it["number"] for it in read(tmp_path)] == [1, 3]


def test_a_half_line_of_a_killed_process_stays_alone(tmp_path: Path, files: AuditFiles) -> None:
    files.append(line(1))
    (file,) = directory(tmp_path).iterdir()
    file.write_bytes(file.read_bytes() + line(2)[:40])
    files.append(line(3))
    assert file.read_bytes() == line(1) + line(2)[:40] + b"\n" + line(3)


@pytest.mark.parametrize("move", [shutil.rmtree, lambda path: path.rename(path.with_name("old"))])
def test_a_directory_that_is_deleted_or_moved_away_is_made_again(
    tmp_path: Path, files: AuditFiles, move: shutil._RmtreeType
) -> None:
    files.append(line(1))
    move(directory(tmp_path))
    files.append(line(2))
    assert [it["number"] for it in read(tmp_path)] == [2]


def _rotate(path: Path) -> None:
    path.rename(path.with_name(f"{path.name}.{len(list(path.parent.iterdir()))}"))


@pytest.mark.parametrize(("move", "left"), [(_rotate, [1, 2, 3, 4]), (Path.unlink, [3, 4])])
def test_a_file_that_is_moved_away_between_two_writes_or_within_one_costs_no_line(
    tmp_path: Path,
    files: AuditFiles,
    monkeypatch: pytest.MonkeyPatch,
    move: Callable[[Path], None],
    left: list[int],
) -> None:
    newest = directory(tmp_path) / "calls-000001.jsonl"
    files.append(line(1))
    move(newest)
    files.append(line(2))
    assert newest.read_bytes() == line(2)

    def lock_late(descriptor: int, *, wait: bool) -> bool:
        monkeypatch.setattr(audit_files, "try_lock", try_lock)
        move(newest)
        return try_lock(descriptor, wait=wait)

    monkeypatch.setattr(audit_files, "try_lock", lock_late)
    files.append(line(3))
    files.append(line(4))
    assert sorted(it["number"] for it in read(tmp_path)) == left


def _link(path: Path, elsewhere: Path) -> None:
    path.symlink_to(elsewhere)


def _hard_link(path: Path, elsewhere: Path) -> None:
    path.hardlink_to(elsewhere)


def _fifo(path: Path, elsewhere: Path) -> None:
    os.mkfifo(path)


def _directory(path: Path, elsewhere: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("replace", [_link, _hard_link, _fifo, _directory])
def test_what_takes_the_place_of_a_file_is_not_touched(
    tmp_path: Path, files: AuditFiles, replace: object
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"mine\n")
    files.append(line(1))
    (file,) = directory(tmp_path).iterdir()
    file.unlink()
    assert callable(replace)
    replace(file, elsewhere)
    files.append(line(2))
    assert (directory(tmp_path) / "calls-000002.jsonl").read_bytes() == line(2)
    assert elsewhere.read_bytes() == b"mine\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_not_used(tmp_path: Path, files: AuditFiles) -> None:
    directory(tmp_path).mkdir(parents=True)
    os.chown(directory(tmp_path), 12345, 12345)
    with pytest.raises(UnsafeDirectory) as caught:
        files.append(line(1))
    assert "belongs to another user" in files.explain(caught.value)


def test_a_file_in_the_place_of_the_directory_is_said(tmp_path: Path, files: AuditFiles) -> None:
    directory(tmp_path).parent.mkdir()
    directory(tmp_path).write_bytes(b"")
    with pytest.raises(OSError, match="Not a directory") as caught:
        files.append(line(1))
    assert files.explain(caught.value) == f"Not a directory: {directory(tmp_path)}"


def test_without_a_home_directory_nothing_is_written_and_that_is_said() -> None:
    homeless = AuditFiles({"HOME": "nowhere"})
    with pytest.raises(OSError, match="Not a directory") as caught:
        homeless.append(line(1))
    assert homeless.explain(caught.value) == "there is no home directory"
