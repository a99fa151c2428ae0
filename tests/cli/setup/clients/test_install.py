"""`install` shows, asks and writes; what it cannot do costs only the client concerned."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.setup.clients.desk import Desk

SERVERS = '{\n  "mcpServers": {\n    "mine": {"command": "npx", "env": {"KEY": "hunter2hunter2"}}\n  }\n}\n'


def test_a_client_starts_the_workbench_with_all_that_it_needs(desk: Desk) -> None:
    desk.configure(a={"command": "x", "args": ["${REGION}", "${API_TOKEN}"]})
    desk.environ |= {"REGION": "eu-central-1", "API_TOKEN": "ghp_0123456789abcdefghijklmnopqrstuvwxyz"}
    path = desk.write("cursor", SERVERS)
    ran = desk.run("install", "cursor", "--yes")
    entry = json.loads(path.read_text(encoding="utf-8"))["mcpServers"]["workbench"]
    assert ran.code == 0
    assert os.path.isabs(entry["command"])  # noqa: PTH117 - a path as text
    assert entry["args"][-3:] == ["--config", str(desk.config), "--keep-going"]
    assert entry["env"] == {"PATH": "/usr/bin", "REGION": "eu-central-1"}
    assert "warning: the variable API_TOKEN looks like a secret" in ran.err
    assert "ghp_" not in path.read_text(encoding="utf-8") + ran.out + ran.err
    assert "hunter2" not in ran.out + ran.err
    assert "Installed in Cursor. Reload the window of Cursor, or restart it.\n" in ran.out


def test_nothing_is_written_without_a_terminal_and_without_yes(desk: Desk) -> None:
    path = desk.write("cursor", SERVERS)
    ran = desk.run("install", "cursor")
    assert (ran.code, path.read_text(encoding="utf-8")) == (1, SERVERS)
    assert '+    "workbench": {' in ran.out
    assert "nothing is changed: there is no terminal to ask on" in ran.err


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 1), ("", 1)])
def test_a_person_is_asked(desk: Desk, typed: str, code: int) -> None:
    path = desk.write("cursor", SERVERS)
    ran = desk.run("install", "cursor", typed=typed)
    assert (ran.code, "workbench" in path.read_text(encoding="utf-8")) == (code, code == 0)
    assert "Write this? [y/N]" in ran.err


def test_a_dry_run_only_shows(desk: Desk) -> None:
    ran = desk.run("install", "zed", "--dry-run", "--yes")
    assert (ran.code, desk.file_of("zed").exists()) == (0, False)
    assert "context_servers" in ran.out


def test_one_client_that_fails_does_not_stop_the_others(desk: Desk) -> None:
    broken = desk.write("cursor", "{")
    desk.write("windsurf", SERVERS).chmod(0o444)
    ran = desk.run("install", "cursor", "windsurf", "codex", "--yes", "--json")
    assert ran.code == 1
    assert [(one["client"], one["state"]) for one in ran.json["clients"]] == [
        ("cursor", "failed"),
        ("windsurf", "failed"),
        ("codex", "installed"),
    ]
    assert broken.read_text(encoding="utf-8") == "{"
    assert "it is read-only. Make it writable (chmod u+w)" in ran.err


def test_the_outcome_is_printed_as_json(desk: Desk) -> None:
    path = desk.write("cursor", SERVERS)
    [one] = desk.run("install", "cursor", "--yes", "--json").json["clients"]
    assert [line for line in one.pop("diff") if line.startswith("+++")] == [f"+++ {path}"]
    assert one == {
        "client": "cursor",
        "path": str(path),
        "state": "installed",
        "names": ["workbench"],
        "next": "Reload the window of Cursor, or restart it.",
    }
    again = desk.run("install", "cursor", "--yes", "--json")
    assert again.json == {
        "config": str(desk.config),
        "clients": [{"client": "cursor", "path": str(path), "state": "unchanged", "names": ["workbench"]}],
        "warnings": [],
        "dryRun": False,
    }


def test_json_asks_nobody(desk: Desk) -> None:
    ran = desk.run("install", "cursor", "--json", typed="y\n")
    assert (ran.code, ran.json["clients"][0]["state"]) == (1, "pending")
    assert "with --json there is no question" in ran.err


def test_installing_again_has_nothing_to_change(desk: Desk) -> None:
    desk.run("install", "cursor", "--yes")
    ran = desk.run("install", "cursor")
    assert (ran.code, ran.out) == (0, f"Cursor: nothing to change in {desk.file_of('cursor')}\n")


def test_the_undo_that_it_names_is_that_of_the_clients_just_installed(desk: Desk) -> None:
    desk.run("install", "cursor", "--yes")
    ran = desk.run("install", "cursor", "zed", "codex", "--yes")
    assert ran.out.splitlines()[-1] == "To take it back: mcp-workbench undo zed codex"


def test_an_unknown_client_is_told_what_to_do(desk: Desk) -> None:
    ran = desk.run("install", "curser", "--yes")
    assert ran.code == 2
    assert "no client is known as 'curser'. Did you mean: cursor? Known clients: claude-desktop" in ran.err
    assert '"mcpServers": {' in ran.out


def test_json_has_nothing_else_on_stdout(desk: Desk) -> None:
    ran = desk.run("install", "emacs", "--json")
    assert (ran.code, ran.out) == (2, "")


def test_the_entry_for_any_other_client_is_printed(desk: Desk) -> None:
    ran = desk.run("install", "other")
    assert ran.code == 0
    title, *lines = ran.out.splitlines()
    assert title == "For a client that the workbench does not know, copy this entry into its settings:"
    entry = json.loads("\n".join(lines))["mcpServers"]["workbench"]
    assert entry["args"][-3:] == ["--config", str(desk.config), "--keep-going"]
    assert ran.err == f"Configuration: {desk.config}\n"
    (outcome,) = desk.run("install", "other", "--json").json["clients"]
    assert outcome["snippet"]["mcpServers"]["workbench"] == entry


def test_a_client_without_a_file_is_told_what_to_paste(desk: Desk) -> None:
    ran = desk.run("install", "jetbrains")
    assert ran.code == 0
    assert "JetBrains AI Assistant has no file for its servers. Paste this in Settings" in ran.out
    assert '"--keep-going"' in ran.out
    assert desk.run("install", "jetbrains", "--json").json["clients"][0]["state"] == "paste"


def test_an_entry_of_another_program_is_overwritten_only_by_a_yes(desk: Desk) -> None:
    taken = '{"mcpServers": {"workbench": {"command": "mine"}}}'
    path = desk.write("cursor", taken)
    refused = desk.run("install", "cursor", "--yes")
    assert (refused.code, path.read_text(encoding="utf-8")) == (1, taken)
    assert "another server has the name 'workbench' there" in refused.err
    assert "--name workbench-2" in refused.err
    assert desk.run("install", "cursor", typed="n\ny\n").code == 1
    assert desk.run("install", "cursor", typed="y\ny\n").code == 0
    assert "mine" not in path.read_text(encoding="utf-8")


def test_the_entry_can_have_another_name(desk: Desk) -> None:
    desk.run("install", "cursor", "--name", "bench", "--yes")
    assert list(json.loads(desk.file_of("cursor").read_text(encoding="utf-8"))["mcpServers"]) == ["bench"]


@pytest.mark.parametrize("name", ["", "a b", "a/b", "\u00e9", "x" * 41, "-"])
def test_a_name_that_not_every_client_takes_is_refused(desk: Desk, name: str) -> None:
    with pytest.raises(SystemExit) as caught:
        desk.run("install", "cursor", "--yes", f"--name={name}")
    assert (caught.value.code, desk.file_of("cursor").exists()) == (2, False)


def test_a_project_has_a_file_of_its_own(desk: Desk) -> None:
    ran = desk.run("install", "cursor", "--scope", "project", "--yes")
    assert ran.code == 0
    assert (desk.project / ".cursor" / "mcp.json").exists()
    assert "warning: the file of a project may be shared" in ran.err


def test_without_a_configuration_nothing_is_written(desk: Desk) -> None:
    desk.config.unlink()
    ran = desk.run("install", "cursor", "--yes")
    assert (ran.code, desk.file_of("cursor").exists()) == (2, False)
    assert "there is no such file" in ran.err
    assert "mcp-workbench import" in ran.err


def test_a_configuration_that_cannot_be_parsed_stops_everything(desk: Desk) -> None:
    desk.config.write_text('{"toolboxes": ', encoding="utf-8")
    ran = desk.run("install", "cursor", "--yes")
    assert (ran.code, desk.file_of("cursor").exists()) == (2, False)


def test_a_mistake_in_one_server_is_warned_of(desk: Desk) -> None:
    desk.configure(bad={"command": "x", "args": 1}, good={"command": "x"})
    ran = desk.run("install", "cursor", "--yes")
    assert (ran.code, desk.file_of("cursor").exists()) == (0, True)
    assert "warning: " in ran.err
    assert "toolboxes.dev.mcpServers.bad.args" in ran.err


def test_a_link_is_shown_with_the_file_that_it_leads_to(desk: Desk) -> None:
    real = desk.home / "dotfiles.json"
    real.write_text(SERVERS, encoding="utf-8")
    link = desk.file_of("cursor")
    link.parent.mkdir()
    link.symlink_to(real)
    ran = desk.run("install", "cursor", "--yes")
    assert f"Cursor: {link} (a link to {real})" in ran.out
    assert link.is_symlink()


def test_the_open_folder_is_asked_of_clients_that_know_it(desk: Desk) -> None:
    desk.configure(files={"command": "x", "args": ["${workspaceFolder}"]})
    ran = desk.run("install", "vscode", "codex", "--yes")
    assert '"WORKSPACE_FOLDER": "${workspaceFolder}"' in desk.file_of("vscode").read_text(encoding="utf-8")
    assert "WORKSPACE_FOLDER" not in desk.file_of("codex").read_text(encoding="utf-8")
    assert "warning: Codex does not tell which folder is open" in ran.err


def test_without_a_name_the_clients_are_listed(desk: Desk) -> None:
    desk.write("cursor", SERVERS)
    desk.write("codex", "[")
    desk.file_of("zed").parent.mkdir(parents=True)
    desk.run("install", "windsurf", "--yes")
    ran = desk.run("install")
    assert ran.code == 0
    assert f"Cursor (cursor)\n    {desk.file_of('cursor')}: 1 server, without the workbench\n" in ran.out
    assert f"Windsurf (windsurf)\n    {desk.file_of('windsurf')}: 0 servers, with the workbench\n" in ran.out
    assert f"Zed (zed)\n    {desk.file_of('zed')}: no file yet\n" in ran.out
    assert "Not found here: claude-desktop, claude-code, vscode" in ran.out
    listed = {one["id"]: one for one in desk.run("install", "--json").json["clients"]}
    assert set(listed) == {"cursor", "codex", "zed", "windsurf"}
    assert listed["cursor"] == {
        "id": "cursor",
        "title": "Cursor",
        "target": str(desk.file_of("cursor")),
        "files": [
            {
                "path": str(desk.file_of("cursor")),
                "scope": "user",
                "servers": ["mine"],
                "installedAs": [],
            }
        ],
    }
    assert listed["codex"]["files"][0]["error"]


def test_names_in_files_cannot_control_the_terminal(desk: Desk) -> None:
    desk.write("cursor", '{"mcpServers": {"\x1b[2J": {"command": "\\u001b[2J"}}}'.replace("\x1b", "\\u001b"))
    ran = desk.run("install", "cursor", "--yes")
    assert "\x1b" not in ran.out + ran.err
