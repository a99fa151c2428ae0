"""Files of one process: private to their owner, and gone when the process is."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.storage.kept_files import KeptFiles

if TYPE_CHECKING:
    from pathlib import Path

WRITER = """
import sys
from mcp_workbench.storage.kept_files import KeptFiles
files = KeptFiles(sys.argv[1])
files.write("1", b"left behind")
print("written", flush=True)
sys.stdin.read()
"""


def everything(cache: Path) -> list[Path]:
    """The files with contents, of whatever process."""
    return [path for path in cache.rglob("*") if path.is_file() and path.name != "lock"]


def test_nothing_is_made_before_the_first_file(tmp_path: Path) -> None:
    KeptFiles(tmp_path / "cache").close()
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_is_for_its_owner_alone(tmp_path: Path) -> None:
    files = KeptFiles(tmp_path)
    files.write("1", b"content")
    (path,) = everything(tmp_path)
    places = [path, path.parent, path.parent.parent]
    assert [place.stat().st_mode & 0o777 for place in places] == [0o600, 0o700, 0o700]
    assert files.read("1") == b"content"
    files.close()


def test_a_file_can_be_removed_and_all_are_at_the_end(tmp_path: Path) -> None:
    files = KeptFiles(tmp_path)
    for name in ("1", "2"):
        files.write(name, b"x")
    files.remove("1")
    files.remove("1")
    assert [path.name for path in everything(tmp_path)] == ["2"]
    with pytest.raises(FileNotFoundError):
        files.read("1")
    files.close()
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["lock"]
    with pytest.raises(OSError, match="ending"):
        files.write("3", b"x")


def test_what_a_killed_process_left_is_removed_by_the_next_and_that_of_a_live_one_stays(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "written\n"
        assert len(everything(tmp_path)) == 2
        writers[0].kill()
        writers[0].wait()
        ours = KeptFiles(tmp_path)
        ours.write("1", b"ours")
        assert sorted(path.read_bytes() for path in everything(tmp_path)) == [b"left behind", b"ours"]
        ours.close()
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()


def test_where_nothing_can_be_written_it_is_an_error_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, where a directory would have to be")
    files = KeptFiles(tmp_path / "cache")
    with pytest.raises(OSError, match="cache"):
        files.write("1", b"x")
    files.remove("1")
    files.close()
