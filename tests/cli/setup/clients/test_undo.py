"""`undo` restores the bytes of files, and `uninstall` takes only the workbench out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.setup.clients.desk import Desk

SERVERS = (
    '{ // mine\n  "mcpServers": {\n    "mine": {"command": "npx", "env": {"KEY": "hunter2hunter2"}},\n  }\n}'
)


def test_undo_restores_all_clients(desk: Desk) -> None:
    path = desk.write("cursor", SERVERS)
    desk.run("install", "cursor", "codex", "--yes")
    ran = desk.run("undo", "--yes")
    assert ran.code == 0
    assert ran.out.endswith(f"Restored {path}\nDeleted {desk.file_of('codex')}\n")
    assert (path.read_text(encoding="utf-8"), desk.file_of("codex").exists()) == (SERVERS, False)
    assert "hunter2" not in ran.out + ran.err
    assert desk.run("undo").out == "Nothing to undo.\n"


def test_undo_restores_the_named_client_alone(desk: Desk) -> None:
    desk.run("install", "cursor", "codex", "--yes")
    assert desk.run("undo", "codex", "--yes", "--json").json == {
        "files": [{"subject": "codex", "path": str(desk.file_of("codex")), "state": "deleted"}],
        "dryRun": False,
    }
    assert desk.file_of("cursor").exists()


@pytest.mark.parametrize("options", [["--dry-run", "--yes"], []])
def test_undo_without_a_yes_only_shows(desk: Desk, options: list[str]) -> None:
    path = desk.write("cursor", SERVERS)
    desk.run("install", "cursor", "--yes")
    ran = desk.run("undo", *options)
    assert (ran.code, "workbench" in path.read_text(encoding="utf-8")) == (0 if options else 1, True)
    assert '-    "workbench": {' in ran.out


@pytest.mark.parametrize(("typed", "is_restored"), [("y\n", True), ("n\n", False)])
def test_a_person_is_asked(desk: Desk, typed: str, *, is_restored: bool) -> None:
    path = desk.write("cursor", SERVERS)
    desk.run("install", "cursor", "--yes")
    ran = desk.run("undo", typed=typed)
    assert (path.read_text(encoding="utf-8") == SERVERS) == is_restored
    assert "Restore 1 file? [y/N]" in ran.err


def test_json_asks_nobody(desk: Desk) -> None:
    path = desk.write("cursor", "{}")
    desk.run("install", "cursor", "--yes")
    ran = desk.run("undo", "--json", typed="y\n")
    assert (ran.code, ran.json["files"][0]["state"]) == (1, "pending")
    assert "with --json there is no question" in ran.err
    assert "workbench" in path.read_text(encoding="utf-8")


def test_changes_of_others_are_lost_only_by_force(desk: Desk) -> None:
    path = desk.write("cursor", SERVERS)
    desk.run("install", "cursor", "--yes")
    edited = path.read_text(encoding="utf-8").replace('"mine"', '"renamed"')
    path.write_text(edited, encoding="utf-8")
    refused = desk.run("undo", "--yes")
    assert (refused.code, path.read_text(encoding="utf-8")) == (1, edited)
    assert '-    "renamed": ' in refused.out
    assert "is left alone: somebody else has changed it since" in refused.err
    assert "mcp-workbench uninstall cursor" in refused.err
    assert desk.run("undo", "--yes", "--json").json["files"][0]["state"] == "refused"
    assert desk.run("undo", "--yes", "--force").code == 0
    assert path.read_text(encoding="utf-8") == SERVERS
    saved = [file.read_text(encoding="utf-8") for file in desk.home.rglob("*.bak")]
    assert edited in saved


def test_undo_goes_on_where_one_file_cannot_be_restored(desk: Desk) -> None:
    path = desk.write("cursor", SERVERS)
    desk.run("install", "cursor", "codex", "--yes")
    path.chmod(0o444)
    ran = desk.run("undo", "--yes")
    assert (ran.code, desk.file_of("codex").exists()) == (1, False)
    assert "cursor: " in ran.err
    assert "it is read-only" in ran.err


def test_an_unknown_client_is_an_error(desk: Desk) -> None:
    ran = desk.run("undo", "nobody")
    assert ran.code == 2
    assert "no client is known as 'nobody'" in ran.err


def test_undo_of_the_configuration_goes_back_one_change(desk: Desk) -> None:
    before = desk.config.read_text(encoding="utf-8")
    desk.write("cursor", SERVERS)
    desk.run("import", "cursor", "--yes")
    assert desk.config.read_text(encoding="utf-8") != before
    ran = desk.run("undo", "config", "--yes")
    assert (ran.code, desk.config.read_text(encoding="utf-8")) == (0, before)
    assert "hunter2" not in ran.out + ran.err
    assert desk.run("undo", "config", "--yes").out == "Nothing to undo.\n"


def test_uninstall_leaves_all_else_as_it_is(desk: Desk) -> None:
    path = desk.write("cursor", SERVERS)
    desk.run("install", "cursor", "--name", "bench", "--yes")
    shown = desk.run("uninstall", "cursor")
    assert (shown.code, "bench" in path.read_text(encoding="utf-8")) == (1, True)
    ran = desk.run("uninstall", "cursor", "--yes", "--json")
    assert (ran.code, path.read_text(encoding="utf-8")) == (0, SERVERS)
    assert [(one["state"], one["names"]) for one in ran.json["clients"]] == [("removed", ["bench"])]


def test_uninstall_takes_out_the_only_server(desk: Desk) -> None:
    path = desk.write("codex", 'model = "x"\n')
    desk.run("install", "codex", "--yes")
    ran = desk.run("uninstall", "codex", "--yes", "--json")
    assert (ran.code, ran.json["clients"][0]["state"], ran.err) == (0, "removed", "")
    assert path.read_text(encoding="utf-8") == 'model = "x"\n'


def test_uninstall_says_that_a_file_cannot_be_read(desk: Desk) -> None:
    path = desk.write("cursor", '{"mcpServers": {"workbench": {"command": "mcp-workbench"}}')
    ran = desk.run("uninstall", "cursor", "--yes")
    assert (ran.code, ran.out) == (1, "")
    assert f"Cursor: {path}: line 1, column 59: invalid JSON" in ran.err


def test_uninstall_says_where_nothing_is_installed(desk: Desk) -> None:
    ran = desk.run("uninstall", "cursor", "jetbrains", "--yes")
    assert ran.code == 0
    assert "Cursor: the workbench is not installed there." in ran.out
    assert "JetBrains AI Assistant has no file that can be changed." in ran.out
    assert desk.run("uninstall", "nobody").code == 2


def test_two_configurations_can_be_installed_side_by_side(desk: Desk) -> None:
    other = desk.home / "other.json"
    other.write_bytes(desk.config.read_bytes())
    desk.run("install", "cursor", "--yes")
    desk.run("install", "cursor", "--yes", "--name", "other", "--config", str(other))
    servers = json.loads(desk.file_of("cursor").read_text(encoding="utf-8"))["mcpServers"]
    assert [entry["args"][-2] for entry in servers.values()] == [str(desk.config), str(other)]
    desk.run("uninstall", "cursor", "--yes")
    assert json.loads(desk.file_of("cursor").read_text(encoding="utf-8")) == {"mcpServers": {}}
