"""Private files as their users see them: written in one step, and never outside of their directory."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import sys
from pathlib import Path

import pytest

from mcp_workbench.storage.open_directory import UnsafeDirectory
from mcp_workbench.storage.private_files import PrivateDirectory, drafted_name


@pytest.fixture(params=["POSIX", "Windows"])
def directory(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> PrivateDirectory:
    """A directory that is not there yet, used by its descriptor, and by its path as on Windows."""
    if request.param == "Windows":
        monkeypatch.setattr(sys, "platform", "win32")
    elif sys.platform == "win32":
        pytest.skip("there are no descriptors of directories here")
    return PrivateDirectory(tmp_path / "base" / "root", "files")


def test_nothing_is_read_listed_removed_or_made_where_nothing_was_written(
    directory: PrivateDirectory, tmp_path: Path
) -> None:
    assert (directory.read("a"), directory.scan(), directory.remove("a")) == (None, [], False)
    assert list(tmp_path.iterdir()) == []


def test_the_last_one_to_write_wins_and_leaves_no_draft(directory: PrivateDirectory) -> None:
    directory.replace("a", [b"first"])
    status = directory.replace("a", [b"sec", b"ond"], durable=True)
    found = directory.read("a")
    assert found is not None
    assert (found[0], found[1].st_ino) == (b"second", status.st_ino)
    assert [name for name, _ in directory.scan()] == ["a"]
    assert (directory.remove("a"), directory.remove("a")) == (True, False)


def test_a_new_file_does_not_take_the_place_of_another(directory: PrivateDirectory) -> None:
    with pytest.raises(FileNotFoundError):
        directory.create("a", b"content")
    directory.replace("a", [b"content"])
    with pytest.raises(FileExistsError):
        directory.create("a", b"other")
    directory.create("b", b"other")
    assert [found and found[0] for found in map(directory.read, "ab")] == [b"content", b"other"]


def test_a_write_that_fails_leaves_what_was_there_and_no_draft(directory: PrivateDirectory) -> None:
    def pieces() -> object:
        yield b"half"
        raise OSError("no room")

    directory.replace("a", [b"whole"])
    with pytest.raises(OSError, match="no room"):
        directory.replace("a", pieces())  # type: ignore[arg-type]  # a generator is an iterable
    assert [name for name, _ in directory.scan()] == ["a"]


@pytest.mark.parametrize("name", ["", ".", "..", "../a", "/etc/passwd", "a/b"])
def test_a_name_that_leads_elsewhere_is_a_mistake_of_ours(directory: PrivateDirectory, name: str) -> None:
    directory.replace("a", [b""])
    for work in (
        lambda: directory.read(name),
        lambda: directory.replace(name, [b""]),
        lambda: directory.create(name, b""),
        lambda: directory.remove(name),
        lambda: directory.remove_empty_directory(name),
        lambda: directory.open_lock(name),
        lambda: directory.below(name),
    ):
        with pytest.raises(ValueError, match="is not the name of a file"):
            work()


def test_a_file_that_is_too_large_is_not_read(directory: PrivateDirectory) -> None:
    directory.replace("a", [b"12345"])
    assert directory.read("a", max_bytes=5) is not None
    with pytest.raises(OSError, match="too large"):
        directory.read("a", max_bytes=4)


def test_drafts_of_killed_processes_are_removed_and_nothing_else(directory: PrivateDirectory) -> None:
    names = ["a.json", "a.json.draft", f"a.json.{'0' * 12}.draft", f"b.json.{'0' * 12}.draft"]
    for name in names:
        directory.replace(name, [b""])
    directory.remove_drafts(older_than_seconds=3600)
    assert len(directory.scan()) == 4
    directory.remove_drafts(of="a.json")
    assert sorted(name for name, _ in directory.scan()) == ["a.json", f"b.json.{'0' * 12}.draft"]
    directory.remove_drafts()
    assert [name for name, _ in directory.scan()] == ["a.json"]


def test_a_draft_tells_what_it_was_to_replace() -> None:
    assert drafted_name("a.json") is None
    assert drafted_name("a.json.draft") == "a.json"
    assert drafted_name("a.json.0123456789ab.draft") == "a.json"
    assert drafted_name("a.json.0123456789AB.draft") == "a.json.0123456789AB"


async def test_a_lock_can_be_held_again_and_again(directory: PrivateDirectory) -> None:
    for _ in range(2):
        async with directory.locked("lock", 1):
            assert [name for name, _ in directory.scan()] == ["lock"]


@pytest.mark.skipif(sys.platform == "win32", reason="about POSIX")
def test_a_root_with_a_slash_at_its_end_is_not_followed_either(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "root").symlink_to(tmp_path / "victim")
    with pytest.raises(UnsafeDirectory, match="symbolic link"):
        PrivateDirectory(f"{tmp_path}/root/", "files").replace("a", [b""])
    assert list((tmp_path / "victim").iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="about POSIX")
def test_a_file_system_that_cannot_keep_others_out_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files").chmod(0o777)
    # As on drives of Windows in WSL, where every mode is 0777 and stays so.
    monkeypatch.setattr(os, "fchmod", lambda *_: None)
    with pytest.raises(UnsafeDirectory, match="does not change that"):
        PrivateDirectory(tmp_path, "files").replace("a", [b""])
    assert stat.S_IMODE((tmp_path / "files").stat().st_mode) == 0o777


@pytest.mark.skipif(sys.platform == "win32", reason="about POSIX")
def test_a_cache_on_a_disk_that_is_read_only_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    PrivateDirectory(tmp_path, "files").replace("a", [b"content"])
    (tmp_path / "files").chmod(0o755)

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "fchmod", refuse)
    found = PrivateDirectory(tmp_path, "files").read("a")
    assert found is not None
    assert found[0] == b"content"
    (tmp_path / "files").chmod(0o775)
    with pytest.raises(OSError, match="Read-only"):
        PrivateDirectory(tmp_path, "files").read("a")


@pytest.mark.skipif(sys.platform != "linux", reason="counts by the file system of Linux")
def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    directory = PrivateDirectory(tmp_path, "files", "deeper")
    before = len(list(Path("/proc/self/fd").iterdir()))
    directory.replace("a", [b"content"])
    directory.read("a")
    directory.scan()
    (tmp_path / "files" / "link").symlink_to(tmp_path)
    for work in (
        PrivateDirectory(tmp_path, "files", "link").scan,
        PrivateDirectory(tmp_path, "files", "deeper", "a").scan,
        lambda: directory.create("a", b""),
    ):
        with pytest.raises(OSError, match=r"link|Not a directory|exists"):
            work()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


async def test_only_one_at_a_time_has_the_lock(tmp_path: Path) -> None:
    directory = PrivateDirectory(tmp_path, "locks")
    order: list[str] = []

    async def hold(name: str) -> None:
        async with directory.locked("lock", 10):
            order.append(f"{name} in")
            await asyncio.sleep(0)
            order.append(f"{name} out")

    await asyncio.gather(hold("one"), hold("two"), hold("three"))
    assert [word.split()[1] for word in order] == ["in", "out"] * 3


async def test_the_wait_for_the_lock_has_an_end(tmp_path: Path) -> None:
    directory = PrivateDirectory(tmp_path, "locks")
    async with directory.locked("lock", 1):
        with pytest.raises(TimeoutError):
            async with directory.locked("lock", 0.05):
                pass
