"""A directory that cannot be used is named, with what a person can do about it."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.storage.directories import explain_unusable
from mcp_workbench.storage.open_directory import UnsafeDirectory
from mcp_workbench.storage.private_files import PrivateDirectory

if TYPE_CHECKING:
    from pathlib import Path


def environ_of(tmp_path: Path) -> dict[str, str]:
    return {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.mark.parametrize(("name", "variable"), [("data", "XDG_DATA_HOME"), ("cache", "XDG_CACHE_HOME")])
def test_what_is_in_the_way_is_named_with_the_variable_for_another_place(
    tmp_path: Path, name: str, variable: str
) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(NotADirectoryError) as raised:
        PrivateDirectory(str(tmp_path / name / "mcp-workbench"), "held").scan()
    assert explain_unusable(raised.value, environ_of(tmp_path)) == (
        f"{tmp_path / name} is not a directory. Move it away, or set {variable} to another directory"
    )


def test_a_directory_that_may_not_be_used_needs_rights(tmp_path: Path) -> None:
    place = tmp_path / "data" / "mcp-workbench"
    place.mkdir(parents=True)
    expected = (
        f"{place} cannot be used: Permission denied. "
        "Give your user all rights to it, or set XDG_DATA_HOME to another directory"
    )
    for name in (str(place), "key"):
        error = PermissionError(errno.EACCES, "Permission denied", name)
        assert explain_unusable(error, environ_of(tmp_path)) == expected


def test_other_errors_are_as_they_are_worded(tmp_path: Path) -> None:
    environ = environ_of(tmp_path)
    assert explain_unusable(OSError(errno.ENOSPC, "No space left on device"), environ) == (
        "No space left on device"
    )
    assert (
        explain_unusable(UnsafeDirectory("/x", "is odd", "Use another"), environ) == "/x is odd. Use another"
    )


def test_a_user_without_a_home_directory_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_workbench.storage.directories.home_directory", lambda _: "~")
    error = NotADirectoryError(errno.ENOTDIR, "Not a directory", "/dev/null")
    assert explain_unusable(error, {}) == (
        "there is no home directory. Set HOME, or XDG_CACHE_HOME and XDG_DATA_HOME"
    )


def test_a_sentence_can_follow_what_is_said_of_a_link(tmp_path: Path) -> None:
    (tmp_path / "mcp-workbench").symlink_to(tmp_path)
    with pytest.raises(UnsafeDirectory) as raised:
        PrivateDirectory(str(tmp_path / "mcp-workbench"), "pins").scan()
    # As in the warning of `PinStore`, which goes on about changed tools.
    said = f"{raised.value}. Changed tools are held"
    assert said.endswith("put a link to it in its place. Changed tools are held")
