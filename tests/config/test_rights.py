"""Other users who could change the configuration are warned of, and ordinary set-ups are not."""

from __future__ import annotations

import grp
import os
import pwd
import sys
from pathlib import Path

import pytest

from mcp_workbench.config import load
from mcp_workbench.config.source import rights
from mcp_workbench.config.source.rights import is_private_group
from tests.config.loading import one_server, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="about the modes of POSIX")

ANOTHER_USER = 12345
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
HARM = "choose the programs that the workbench starts"


@pytest.fixture(autouse=True)
def outside_of_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the workbench believe that it is not in a container, wherever the tests run."""
    monkeypatch.setattr(rights, "_CONTAINER_FILES", ())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "it's home"
    home.mkdir()
    home.chmod(0o755)
    return home


@pytest.fixture
def config(home: Path) -> Path:
    path = write(home, one_server({"command": "cat"}))
    path.chmod(0o644)
    return path


def warnings(path: Path, **environ: str) -> list[str]:
    return list(load(path, environ).warnings)


def quoted(path: Path) -> str:
    """The path in quotes for a shell, because its name has a quote in it."""
    return "'" + str(path).replace("'", "'\"'\"'") + "'"


def test_a_file_and_a_directory_of_the_users_own_are_fine(config: Path) -> None:
    assert warnings(config) == []


def test_a_file_that_everybody_can_write_to_is_warned_of_with_the_command_that_mends_it(config: Path) -> None:
    config.chmod(0o646)
    expected = f"other users can write to {config}, and {HARM}: chmod o-w {quoted(config)}"
    assert warnings(config) == [expected]


def test_a_directory_that_everybody_can_write_to_is_warned_of(config: Path, home: Path) -> None:
    home.chmod(0o757)
    where = f"the directory {home}"
    expected = f"other users can write to {where}, replace the file and {HARM}: chmod o-w {quoted(home)}"
    assert warnings(config) == [expected]


def test_in_a_sticky_directory_nobody_else_can_replace_the_file(config: Path, home: Path) -> None:
    home.chmod(0o1777)
    assert warnings(config) == []


@AS_ROOT
def test_a_group_of_others_is_warned_of(config: Path, home: Path) -> None:
    for path in (config, home):
        os.chown(path, -1, ANOTHER_USER)
    config.chmod(0o666)
    home.chmod(0o775)
    assert [warning.partition(": ")[2].partition(" '")[0] for warning in warnings(config)] == [
        "chmod go-w",
        "chmod g-w",
    ]


def test_a_private_group_may_write(config: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.chmod(0o664)
    home.chmod(0o775)
    monkeypatch.setattr(rights, "is_private_group", lambda _: True)
    assert warnings(config) == []


ADA = pwd.struct_passwd(("ada", "x", 1000, 1000, "", "/home/ada", "/bin/sh"))


@pytest.mark.parametrize(
    ("group", "is_private"),
    [
        (("ada", "x", 1000, []), True),
        (("ada", "x", 1000, ["ada"]), True),
        (("ada", "x", 1000, ["bob"]), False),
        (("users", "x", 1000, []), False),
        (("ada", "x", 1001, []), False),
        (("root", "x", 0, []), True),
        (("wheel", "x", 0, ["root"]), True),
        (("wheel", "x", 0, ["root", "bob"]), False),
    ],
)
def test_a_group_is_private_if_its_owner_is_alone_in_it(
    monkeypatch: pytest.MonkeyPatch, group: tuple[object, ...], is_private: bool
) -> None:
    monkeypatch.setattr(pwd, "getpwuid", lambda _: ADA)
    monkeypatch.setattr(grp, "getgrgid", lambda _: grp.struct_group(group))
    assert is_private_group(status(1000, int(str(group[2])))) is is_private


@pytest.mark.parametrize(("group", "is_private"), [(4_000_001, True), (0, True), (4_000_002, False)])
def test_a_user_without_a_name_has_a_group_of_its_own_number(group: int, is_private: bool) -> None:
    assert is_private_group(status(4_000_001, group)) is is_private


def status(user: int, group: int) -> os.stat_result:
    return os.stat_result((0o100664, 1, 1, 1, user, group, 0, 0, 0, 0))


@AS_ROOT
@pytest.mark.parametrize("what", ["file", "directory", "link"])
def test_another_owner_is_warned_of_but_not_in_a_container(config: Path, tmp_path: Path, what: str) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(config)
    owned = {"file": config, "directory": config.parent, "link": link}[what]
    os.chown(owned, ANOTHER_USER, -1, follow_symlinks=False)
    (warning,) = warnings(link)
    assert f"belongs to the user {ANOTHER_USER}, who can " in warning
    assert warnings(link, KUBERNETES_SERVICE_HOST="10.0.0.1") == []


@AS_ROOT
def test_what_belongs_to_root_is_fine(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert warnings(config) == []


def test_the_directory_behind_a_link_counts_too(config: Path, home: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(config)
    assert warnings(link) == []
    home.chmod(0o757)
    (warning,) = warnings(link)
    assert f"the directory {home}" in warning


def test_a_mount_that_is_read_only_is_fine(config: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As a ConfigMap of Kubernetes: a directory that everybody could write to, were it not for the mount.
    config.chmod(0o666)
    home.chmod(0o777)
    state = os.statvfs(config)
    read_only = [os.ST_RDONLY if number == 8 else value for number, value in enumerate(state)]
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(read_only))
    assert warnings(config) == []


def test_a_drive_of_windows_in_wsl_is_fine(config: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.chmod(0o777)
    home.chmod(0o777)
    assert len(warnings(config)) == 2
    monkeypatch.setattr(rights, "_file_system", lambda _: "9p")
    assert len(warnings(config)) == 2
    system = os.uname_result(("Linux", "pc", "5.15.153.1-microsoft-standard-WSL2", "", "x86_64"))
    monkeypatch.setattr(os, "uname", lambda: system)
    assert warnings(config) == []


@pytest.mark.skipif(sys.platform != "linux", reason="by the mounts of Linux")
def test_the_file_system_of_a_file_is_known() -> None:
    assert rights._file_system(Path("/proc/self/mountinfo").stat()) == "proc"


def test_a_file_by_name_alone_is_in_the_working_directory(
    config: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    home.chmod(0o757)
    (warning,) = load(config.name, {}).warnings
    assert warning.endswith(": chmod o-w .")
