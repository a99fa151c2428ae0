"""Whatever stands in place of our directories and files, nothing outside of them is changed or deleted."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.downstream.oauth.login_store import LoginStore
from mcp_workbench.errors import StoreError
from mcp_workbench.storage.kept_files import KeptFiles
from mcp_workbench.storage.protocol_versions import VersionMemory, Versions
from tests.storage.stores import (
    DIRECTORIES,
    LEGACY,
    LOGIN,
    ROOT,
    USES,
    age,
    make_victim,
    snapshot,
    use_all,
    use_versions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ANOTHER_USER = 12345
AS_ROOT = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root can give a file to another user"
)
SWAPS = 400

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="about the links and owners of POSIX")


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A directory that is not ours, and has to be the same in the end."""
    directory = make_victim(tmp_path / "victim")
    before = snapshot(directory)
    yield directory
    assert snapshot(directory) == before


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The directory that holds the one of ours."""
    home = tmp_path / "home"
    home.mkdir()
    return home


def our_files(home: Path, directory: str = "") -> list[Path]:
    return [path for path in (home / ROOT / directory).rglob("*") if path.is_file() and not path.is_symlink()]


@pytest.mark.parametrize("store", USES)
@pytest.mark.parametrize("level", ["root", "directory"])
def test_a_link_in_place_of_a_directory_is_not_followed(
    home: Path, victim: Path, store: str, level: str
) -> None:
    place = home / ROOT if level == "root" else home / ROOT / DIRECTORIES[store]
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(victim)
    USES[store](home)
    assert place.readlink() == victim


@pytest.mark.parametrize("store", USES)
def test_a_link_to_a_directory_that_is_not_there_makes_none(home: Path, tmp_path: Path, store: str) -> None:
    (home / ROOT).mkdir()
    (home / ROOT / DIRECTORIES[store]).symlink_to(tmp_path / "nowhere")
    USES[store](home)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("store", USES)
def test_a_link_in_place_of_a_file_is_not_followed(home: Path, victim: Path, store: str) -> None:
    USES[store](home)
    files = our_files(home)
    assert files
    for file in files:
        file.unlink()
        file.symlink_to(victim / "thesis.txt")
    USES[store](home)


def test_a_link_in_place_of_the_draft_that_earlier_versions_made_is_not_followed(
    home: Path, victim: Path
) -> None:
    use_versions(home)
    (file,) = our_files(home)
    file.with_name(f"{file.name}.{os.getpid()}").symlink_to(victim / "thesis.txt")
    file.with_name(f"{file.name}.draft").symlink_to(victim / "thesis.txt")
    use_versions(home)
    assert VersionMemory(home / ROOT).recall("server") == LEGACY


def test_the_directory_of_a_process_that_is_swapped_for_a_link_is_not_followed(
    home: Path, victim: Path
) -> None:
    files = KeptFiles(home / ROOT)
    files.write("7", b"content")
    (own,) = (path for path in (home / ROOT / "results").iterdir() if path.is_dir())
    shutil.rmtree(own)
    own.symlink_to(victim)
    with pytest.raises(OSError, match="symbolic link"):
        files.write("8", b"content")
    with pytest.raises(OSError, match="symbolic link"):
        files.read("1")
    files.remove("1")
    files.close()


def test_the_abandoned_directory_of_a_process_is_not_removed_through_a_link(home: Path, victim: Path) -> None:
    (home / ROOT / "results").mkdir(parents=True)
    (home / ROOT / "results" / "4321-aaaaaaaaaaaaaaaa").symlink_to(victim)
    USES["kept results"](home)


def test_only_directories_and_files_that_we_make_are_removed(home: Path) -> None:
    results = make_victim(home / ROOT / "results")
    abandoned, mixed = (results / f"77-{digit * 16}" for digit in "ab")
    for directory in (abandoned, mixed):
        directory.mkdir()
        (directory / "1").touch()
        (directory / "lock").touch()
    (mixed / "thesis.txt").touch()
    (mixed / "2").symlink_to(results / "thesis.txt")
    USES["kept results"](home)
    assert sorted(path.name for path in mixed.iterdir()) == ["2", "thesis.txt"]
    assert sorted(path.name for path in results.iterdir() if path.is_dir()) == [
        "1234-0123456789abcdef",  # with a file, and without the lock that shows that its process has ended
        mixed.name,
        "photos",
    ]
    assert (results / "thesis.txt").exists()


def test_only_records_are_dropped_from_the_catalogue(home: Path) -> None:
    catalogue = home / ROOT / "catalogue"
    catalogue.mkdir(parents=True)
    for name in ("thesis.txt", f"{'0' * 32}.json", f"{'0' * 33}.json", f"{'0' * 32}.json.bak", "a.draft"):
        (catalogue / name).touch()
        age(catalogue / name)
    USES["catalogue"](home)
    left = {path.name for path in catalogue.iterdir()}
    assert f"{'0' * 32}.json" not in left
    assert {"thesis.txt", f"{'0' * 33}.json", f"{'0' * 32}.json.bak", "a.draft"} <= left


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_no_other_user_can_use_what_is_made_whatever_the_umask(home: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        use_all(home / "not" / "there yet")
        kept = KeptFiles(home / "not" / "there yet" / ROOT)
        kept.write("1", b"content")
    finally:
        os.umask(before)
    modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in home.rglob("*")}
    kept.close()
    assert modes == {(True, 0o700), (False, 0o600)}


@pytest.mark.parametrize("store", USES)
def test_directories_that_were_open_to_others_are_closed(home: Path, store: str) -> None:
    for path in (home / ROOT, home / ROOT / DIRECTORIES[store]):
        path.mkdir()
        path.chmod(0o777)
    USES[store](home)
    modes = [path.stat().st_mode & 0o777 for path in (home / ROOT, home / ROOT / DIRECTORIES[store])]
    assert modes == [0o700, 0o700]
    assert our_files(home)


@AS_ROOT
@pytest.mark.parametrize("store", USES)
@pytest.mark.parametrize("level", ["root", "directory"])
def test_a_directory_of_another_user_is_left_alone(home: Path, store: str, level: str) -> None:
    directory = make_victim(home / ROOT / DIRECTORIES[store])
    os.chown(home / ROOT if level == "root" else directory, ANOTHER_USER, -1)
    before = snapshot(directory)
    USES[store](home)
    assert snapshot(directory) == before


@AS_ROOT
def test_a_file_of_another_user_is_not_believed_and_is_replaced(home: Path) -> None:
    use_versions(home)
    (file,) = our_files(home)
    os.chown(file, ANOTHER_USER, -1)
    memory = VersionMemory(home / ROOT)
    assert memory.recall("server") == Versions()
    memory.remember("server", LEGACY)
    assert memory.recall("server") == LEGACY


def test_a_file_that_others_can_write_to_is_not_believed(home: Path) -> None:
    use_versions(home)
    (file,) = our_files(home)
    file.chmod(0o666)
    assert VersionMemory(home / ROOT).recall("server") == Versions()


async def test_a_login_that_others_can_write_to_is_refused(home: Path) -> None:
    kept = LoginStore({"XDG_DATA_HOME": str(home)}, ("team", "wiki"), LOGIN.resource)
    async with kept.locked():
        await kept.save(LOGIN)
    Path(kept.path).chmod(0o660)  # noqa: ASYNC240 - a moment
    with pytest.raises(StoreError, match="other users can write to"):
        await kept.load()


def put_fifo(path: Path) -> None:
    os.mkfifo(path, 0o600)


def put_directory(path: Path) -> None:
    (path / "inside").mkdir(parents=True)


def put_device(path: Path) -> None:
    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero, which has no end


@pytest.mark.parametrize(
    "put", [put_fifo, put_directory, pytest.param(put_device, marks=AS_ROOT)], ids=lambda put: put.__name__
)
@pytest.mark.parametrize("store", USES)
def test_something_that_is_no_file_neither_hangs_nor_fails_a_store(
    home: Path, store: str, put: Callable[[Path], None]
) -> None:
    USES[store](home)
    for file in our_files(home):
        file.unlink()
        try:
            put(file)
        except PermissionError:
            pytest.skip("devices cannot be made here")
    USES[store](home)


def test_a_hard_link_to_another_file_does_not_change_it(home: Path, victim: Path) -> None:
    use_all(home)
    for file in our_files(home):
        file.unlink()
        file.hardlink_to(victim / "thesis.txt")
    use_all(home)


@pytest.mark.parametrize("store", USES)
def test_an_attacker_who_swaps_a_directory_for_a_link_meanwhile_gains_nothing(
    home: Path, victim: Path, store: str
) -> None:
    USES[store](home)
    place = home / ROOT / DIRECTORIES[store]
    aside, link = place.with_name("aside"), place.with_name("link")
    ended = threading.Event()

    def attack() -> None:
        try:
            for _ in range(SWAPS):
                link.symlink_to(victim)
                try:
                    place.rename(aside)
                    link.rename(place)
                    place.unlink()
                    aside.rename(place)
                except OSError:  # it was made again meanwhile
                    link.unlink(missing_ok=True)
                    if aside.exists():
                        shutil.rmtree(aside)
        finally:
            ended.set()

    attacker = threading.Thread(target=attack)
    attacker.start()
    while not ended.is_set():
        USES[store](home)
    attacker.join()


def test_a_directory_that_vanishes_is_made_again(home: Path) -> None:
    memory, files = VersionMemory(home / ROOT), KeptFiles(home / ROOT)
    for number in (1, 2):
        memory.remember("server", LEGACY)
        files.write(str(number), b"content")
        assert (memory.recall("server"), files.read(str(number))) == (LEGACY, b"content")
        shutil.rmtree(home / ROOT)
    with pytest.raises(FileNotFoundError):
        files.read("2")
    files.close()
    assert not (home / ROOT).exists()


def test_links_on_the_way_to_our_directory_are_the_users_own_business(home: Path, tmp_path: Path) -> None:
    (tmp_path / "other disk").mkdir()
    (home / ".cache").symlink_to(tmp_path / "other disk")
    use_all(home / ".cache")
    assert {path.parent.name for path in (tmp_path / "other disk" / ROOT).rglob("*") if path.is_file()} == {
        *DIRECTORIES.values()
    }


def test_an_unsafe_directory_is_warned_of_once_with_what_to_do(
    home: Path, victim: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (home / ROOT).symlink_to(victim)
    use_all(home)
    use_all(home)
    (warning,) = [words for words in caplog.messages if words.startswith("nothing is kept on disk there: ")]
    assert f"{home / ROOT} is a symbolic link, which is not followed here. Replace it" in warning
    assert "XDG_CACHE_HOME" in warning


async def test_a_login_that_cannot_be_kept_safely_is_refused_with_what_to_do(
    home: Path, victim: Path
) -> None:
    (home / ROOT).symlink_to(victim)
    kept = LoginStore({"XDG_DATA_HOME": str(home)}, ("team", "wiki"), LOGIN.resource)
    with pytest.raises(StoreError, match=r"is a symbolic link, which is not followed here\. Replace it"):
        await kept.load()
