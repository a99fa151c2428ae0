"""`install --replace` imports a client's servers first, and then takes them out of its file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.setup.clients.desk import Desk

TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"  # noqa: S105 - not a real token
CURSOR = (
    '{\n  "mcpServers": {\n    "git": {"command": "npx", "args": ["-y", "git"], "env": {"GIT_TOKEN": "'
    + TOKEN
    + '"}},\n    "odd": {"command": "x", "sandbox": {"only": "/tmp"}}\n  }\n}\n'
)
CODEX = '# mine\n\n[mcp_servers.time]\ncommand = "uvx"\nargs = ["mcp-server-time"]\n'


@pytest.fixture
def both(desk: Desk) -> Desk:
    desk.write("cursor", CURSOR)
    desk.write("codex", CODEX)
    desk.config.unlink()
    return desk


def names_in(desk: Desk) -> list[str]:
    boxes = json.loads(desk.config.read_text(encoding="utf-8"))["toolboxes"].values()
    return sorted(name for box in boxes for name in box["mcpServers"])


def test_servers_are_in_the_workbench_and_no_more_in_the_clients(both: Desk) -> None:
    ran = both.run("install", "cursor", "codex", "--replace", "--yes")
    assert ran.code == 0
    assert names_in(both) == ["git", "time"]
    cursor = json.loads(both.file_of("cursor").read_text(encoding="utf-8"))
    assert list(cursor["mcpServers"]) == ["odd", "workbench"]
    assert "mcp-server-time" not in both.file_of("codex").read_text(encoding="utf-8")
    assert both.file_of("codex").read_text(encoding="utf-8").startswith("# mine\n")
    assert f"odd stays in {both.file_of('cursor')}: " in ran.err
    assert TOKEN not in ran.out + ran.err + both.config.read_text(encoding="utf-8")


def test_without_a_keyring_it_says_in_which_file_the_secrets_are(both: Desk) -> None:
    ran = both.run("install", "cursor", "--replace", "--yes")
    file = both.home / ".local" / "share" / "mcp-workbench" / "secrets.json"
    assert TOKEN in file.read_text(encoding="utf-8")
    assert f"secrets are in {file}, which only you can read: there is no usable keyring" in ran.err


def test_undo_brings_the_servers_back(both: Desk) -> None:
    both.run("install", "cursor", "codex", "--replace", "--yes")
    uninstalled = both.run("uninstall", "cursor", "--yes")
    assert "mcp-workbench undo cursor brings them back" in uninstalled.err
    ran = both.run("undo", "--yes")
    assert ran.code == 0
    assert both.file_of("cursor").read_text(encoding="utf-8") == CURSOR
    assert both.file_of("codex").read_text(encoding="utf-8") == CODEX
    assert "stay in the workbench too" in ran.out
    assert both.run("undo", "config", "--yes").code == 0
    assert not both.config.exists()


@pytest.mark.parametrize("options", [["--dry-run"], [], ["--json"]])
def test_without_a_yes_nothing_is_written(both: Desk, options: list[str]) -> None:
    ran = both.run("install", "cursor", "codex", "--replace", *options)
    assert ran.code == (0 if options == ["--dry-run"] else 1)
    assert not both.config.exists()
    assert both.file_of("cursor").read_text(encoding="utf-8") == CURSOR
    assert not list(both.home.rglob("*.bak"))


def test_one_question_is_asked_for_all(both: Desk) -> None:
    ran = both.run("install", "cursor", "codex", "--replace", typed="y\n")
    assert (ran.code, ran.err.count("[y/N]")) == (0, 1)
    assert names_in(both) == ["git", "time"]


def test_the_outcome_names_what_was_imported_and_replaced(both: Desk) -> None:
    ran = both.run("install", "cursor", "codex", "--replace", "--yes", "--json")
    outcome = ran.json
    assert [(one["client"], one["state"], one["replaced"]) for one in outcome["clients"]] == [
        ("cursor", "installed", ["git"]),
        ("codex", "installed", ["time"]),
    ]
    assert outcome["import"]["written"] is True
    assert outcome["import"]["refused"] == ["odd"]
    assert TOKEN not in ran.out


def test_replacing_again_changes_nothing(both: Desk) -> None:
    both.run("install", "cursor", "codex", "--replace", "--yes")
    again = both.run("install", "cursor", "codex", "--replace", "--json", "--yes").json
    assert [one["state"] for one in again["clients"]] == ["unchanged", "unchanged"]
    assert again["import"]["written"] is False


def test_servers_stay_where_the_import_fails(both: Desk) -> None:
    both.config.write_text("{", encoding="utf-8")
    ran = both.run("install", "cursor", "--replace", "--yes")
    assert (ran.code, both.file_of("cursor").read_text(encoding="utf-8")) == (2, CURSOR)


def test_servers_stay_where_the_configuration_cannot_be_written(both: Desk) -> None:
    both.config.write_text('{"toolboxes": {}}', encoding="utf-8")
    both.config.chmod(0o444)
    ran = both.run("install", "cursor", "--replace", "--yes")
    assert (ran.code, both.file_of("cursor").read_text(encoding="utf-8")) == (1, CURSOR)
    assert "it is read-only" in ran.err
