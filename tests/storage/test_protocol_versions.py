"""The versions that a server speaks are remembered for the next start, and a damaged memory does no harm."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.storage.directories import cache_directory
from mcp_workbench.storage.protocol_versions import VersionMemory, Versions
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path


UNKNOWN = Versions()
LEGACY = Versions(legacy=True)
MODERN = Versions(modern=True)


def files(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


@pytest.mark.parametrize("legacy", [None, False, True])
@pytest.mark.parametrize("modern", [None, False, True])
def test_what_is_remembered_is_recalled_in_the_next_process(
    tmp_path: Path, legacy: bool | None, modern: bool | None
) -> None:
    VersionMemory(tmp_path).remember("server", Versions(legacy, modern))
    assert VersionMemory(tmp_path).recall("server") == Versions(legacy, modern)
    assert VersionMemory(tmp_path).recall("another server") == UNKNOWN


def test_that_a_server_does_not_speak_a_version_counts_for_a_week(tmp_path: Path) -> None:
    memory = VersionMemory(tmp_path)
    memory.remember("server", Versions(legacy=True, modern=False))
    (file,) = files(tmp_path)
    learned = time.time()
    for days, known in ((6, Versions(legacy=True, modern=False)), (8, LEGACY)):
        os.utime(file, (learned, learned - days * 24 * 3600))
        assert memory.recall("server") == known


def test_what_was_found_out_since_is_added_to_what_was_known() -> None:
    assert LEGACY.with_learned(MODERN) == Versions(legacy=True, modern=True)
    assert Versions(legacy=True, modern=True).with_learned(Versions(modern=False)) == Versions(True, False)
    assert LEGACY.with_learned(UNKNOWN) == LEGACY


def test_the_latest_is_what_counts(tmp_path: Path) -> None:
    memory = VersionMemory(tmp_path)
    memory.remember("server", LEGACY)
    memory.remember("server", MODERN)
    assert memory.recall("server") == MODERN
    assert len(files(tmp_path)) == 1


def test_nothing_is_recalled_and_nothing_made_before_something_is_remembered(tmp_path: Path) -> None:
    memory = VersionMemory(tmp_path / "cache")
    memory.forget("server")
    assert memory.recall("server") == UNKNOWN
    assert list(tmp_path.iterdir()) == []


def test_what_is_forgotten_is_gone(tmp_path: Path) -> None:
    memory = VersionMemory(tmp_path)
    memory.remember("server", LEGACY)
    memory.remember("other", LEGACY)
    memory.forget("server")
    memory.forget("server")
    assert (memory.recall("server"), memory.recall("other")) == (UNKNOWN, LEGACY)


@pytest.mark.parametrize("damage", [b"", b"legac", b"2099-01-01", b"\xff\xfe", b"x" * 1_000_000])
def test_a_damaged_memory_is_none_and_can_be_written_anew(tmp_path: Path, damage: bytes) -> None:
    memory = VersionMemory(tmp_path)
    memory.remember("server", LEGACY)
    (file,) = files(tmp_path)
    file.write_bytes(damage)
    assert memory.recall("server") == UNKNOWN
    memory.remember("server", MODERN)
    assert memory.recall("server") == MODERN


def test_a_newline_that_an_editor_added_is_no_damage(tmp_path: Path) -> None:
    memory = VersionMemory(tmp_path)
    memory.remember("server", LEGACY)
    (file,) = files(tmp_path)
    file.write_text("legacy\n", "ascii")
    assert memory.recall("server") == LEGACY


def test_a_directory_that_cannot_be_made_is_done_without(tmp_path: Path) -> None:
    in_the_way = tmp_path / "cache"
    in_the_way.write_text("a file", "ascii")
    memory = VersionMemory(in_the_way)
    memory.remember("server", LEGACY)
    memory.forget("server")
    assert memory.recall("server") == UNKNOWN
    assert in_the_way.read_text("ascii") == "a file"


def test_a_directory_in_place_of_the_file_is_done_without(tmp_path: Path) -> None:
    memory = VersionMemory(tmp_path)
    memory.remember("server", LEGACY)
    (file,) = files(tmp_path)
    file.unlink()
    (file / "inside").mkdir(parents=True)
    memory.remember("server", LEGACY)
    memory.forget("server")
    assert memory.recall("server") == UNKNOWN


def test_what_is_asked_about_does_not_stand_in_the_file_or_its_name(tmp_path: Path) -> None:
    VersionMemory(tmp_path).remember("--token=hunter2-and-more", LEGACY)
    (file,) = files(tmp_path)
    assert "hunter2" not in f"{file.name} {file.read_text('ascii')}"


WRITE_OFTEN = """
import sys
from mcp_workbench.storage.protocol_versions import VersionMemory, Versions
memory = VersionMemory(sys.argv[1])
for _ in range(200):
    memory.remember("server", Versions(**{sys.argv[2]: True}))
    if memory.recall("server") == Versions():
        sys.exit("half a memory was read")
"""


def test_processes_that_write_at_the_same_time_never_leave_half_a_memory(tmp_path: Path) -> None:
    kinds = ["legacy", "modern"] * 2
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITE_OFTEN, str(tmp_path), kind], stderr=subprocess.PIPE)
        for kind in kinds
    ]
    ends = [(writer.communicate(timeout=PATIENCE)[1], writer.returncode) for writer in writers]
    assert ends == [(b"", 0)] * len(kinds)
    assert VersionMemory(tmp_path).recall("server") in (LEGACY, MODERN)
    assert len(files(tmp_path)) == 1


def test_a_user_without_a_home_has_no_memory_and_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    # What it does with a `~` that it knows nothing to put in place of.
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    memory = VersionMemory(cache_directory({}))
    memory.remember("server", LEGACY)
    assert memory.recall("server") == UNKNOWN
