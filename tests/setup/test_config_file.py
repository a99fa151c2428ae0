"""The configuration file is edited as a whole: nothing invalid is written, and no edit is lost."""

from __future__ import annotations

import stat
import threading
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.errors import DocumentError, EditRefused
from mcp_workbench.setup import editing
from mcp_workbench.setup.config_file import edit, read_document
from mcp_workbench.setup.editing import Addition

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcp_workbench.config.documents import Document
    from mcp_workbench.setup.config_file import Edited

FILE = """\
{
\t"toolboxes": {
\t\t"dev": {
\t\t\t"description": "For development",
\t\t\t"mcpServers": {
\t\t\t\t"fs": { "command": "npx", "env": { "ROOT": "${FS_ROOT}" } }, // needs FS_ROOT
\t\t\t},
\t\t},
\t},
}
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "workbench-config.json"
    file.write_bytes(FILE.encode())
    return file


def adding(name: str, **entry: object) -> Callable[[Document], int | None]:
    entry = entry or {"command": "x"}
    return lambda document: editing.add(
        document, Addition(toolbox="dev", server=name, entry=entry, description="Tools")
    )


def add(path: Path, environ: dict[str, str], name: str, **entry: object) -> Edited:
    return edit(str(path), environ, adding(name, **entry), command="add")


@pytest.mark.parametrize("text", [FILE, FILE.replace("\n", "\r\n"), "\ufeff" + FILE])
def test_comments_tabs_line_ends_and_the_byte_order_mark_stay(
    path: Path, environ: dict[str, str], text: str
) -> None:
    path.write_bytes(text.encode())
    edited = add(path, environ, "time")
    after = path.read_bytes().decode()
    assert (edited.line, edited.is_changed, edited.is_new, edited.missing) == (7, True, False, ())
    new = [line for line in after.splitlines() if line not in text.splitlines()]
    assert new[0].startswith('\t\t\t\t"time": {')
    assert [line for line in text.splitlines() if line not in after.splitlines()] == []
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    assert after.count("\r\n") == (after.count("\n") if "\r" in text else 0)


def test_the_permissions_stay_and_a_symbolic_link_stays_one(path: Path, environ: dict[str, str]) -> None:
    path.chmod(0o640)
    link = path.with_name("link.json")
    link.symlink_to(path.name)
    add(link, environ, "time")
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert '"time"' in path.read_text()


def test_an_edit_that_changes_nothing_does_not_touch_the_file(path: Path, environ: dict[str, str]) -> None:
    before = path.stat().st_mtime_ns
    edited = edit(str(path), environ, lambda document: editing.enable(document, ("dev", "fs")), command="x")
    assert (edited.is_changed, edited.line) == (False, 6)
    assert (path.stat().st_mtime_ns, path.read_text()) == (before, FILE)
    assert not (path.parent / "data").exists()


def test_a_mistake_is_refused_and_nothing_is_written(path: Path, environ: dict[str, str]) -> None:
    with pytest.raises(EditRefused, match=r"not be valid(.|\n)*dev.mcpServers.time.timeout: should be a num"):
        add(path, environ, "time", command="x", timeout="soon")
    assert path.read_text() == FILE


def test_a_mistake_that_was_there_before_is_no_obstacle(path: Path, environ: dict[str, str]) -> None:
    path.write_text(FILE.replace('"command": "npx"', '"command": 1'))
    assert add(path, environ, "time").is_changed
    remove = edit(str(path), environ, lambda document: editing.remove(document, ("dev", "fs")), command="x")
    assert remove.is_changed


def test_a_variable_that_is_not_set_is_a_warning(path: Path, environ: dict[str, str]) -> None:
    edited = add(path, environ, "time", command="x", args=["${TIME_ZONE}", "${keyring:TIME_KEY}"])
    assert edited.is_changed
    assert [problem.what for problem in edited.missing] == [
        "the variable TIME_ZONE is not set",
        "there is no secret TIME_KEY",
    ]


def test_a_file_of_a_client_is_not_given_toolboxes(path: Path, environ: dict[str, str]) -> None:
    path.write_text('{"mcpServers": {"fs": {"command": "x"}}}')
    with pytest.raises(EditRefused, match="correct the file first"):
        add(path, environ, "time")
    assert path.read_text() == '{"mcpServers": {"fs": {"command": "x"}}}'


def test_a_broken_file_is_refused_with_line_and_column(path: Path, environ: dict[str, str]) -> None:
    path.write_text('{\n  "toolboxes": oops\n}\n')
    with pytest.raises(DocumentError) as refused:
        add(path, environ, "time")
    assert (refused.value.line, refused.value.column) == (2, 16)
    assert path.read_text() == '{\n  "toolboxes": oops\n}\n'


def test_a_file_that_is_not_there_is_made_for_its_owner_only(tmp_path: Path, environ: dict[str, str]) -> None:
    path = tmp_path / "new" / "workbench-config.json"
    edited = add(path, environ, "time")
    assert (edited.is_new, stat.S_IMODE(path.stat().st_mode)) == (True, 0o600)
    assert path.read_bytes().endswith(b"}\n")


def test_an_edit_is_made_anew_if_the_file_changes_meanwhile(path: Path, environ: dict[str, str]) -> None:
    def change(document: Document) -> int | None:
        if '"git"' not in path.read_text():
            add(path, environ, "git")
        return adding("time")(document)

    edit(str(path), environ, change, command="add")
    assert list(_servers(path)) == ["fs", "git", "time"]


def test_of_many_edits_at_once_none_is_lost(path: Path, environ: dict[str, str]) -> None:
    names = [f"server-{number}" for number in range(6)]
    threads = [threading.Thread(target=add, args=(path, environ, name)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(_servers(path)) == ["fs", *names]
    assert list(path.parent.glob(".*.tmp")) == []


def _servers(path: Path) -> dict[str, object]:
    return {server: entry for (_, server), entry in editing.servers_of(read_document(str(path)).data).items()}
