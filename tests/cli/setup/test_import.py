"""`mcp-workbench import`, as a person or a script runs it."""

from __future__ import annotations

import json
import stat
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.commands import MODULE
from tests.cli.setup.terminals import run_answering
from tests.setup.importing.homes import GITHUB_TOKEN, LINEAR_KEY, NPX_GITHUB, Home
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.setup.terminals import Answer

FETCH = {"command": "uvx", "args": ["mcp-server-fetch"]}
NO_KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
CONFIG = ".config/mcp-workbench/workbench-config.json"


class Person(Home):
    """A home whose owner runs commands in the project."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.environ |= NO_KEYRING
        self.config = self.path / CONFIG

    def command(self, *args: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*MODULE, "import", *args],
            cwd=self.project,
            env=self.environ | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )

    def answering(self, *answers: Answer) -> tuple[int, str]:
        return run_answering(["import"], answers, self.project, self.environ)


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_yes_writes_the_persons_own_file_for_its_owner_alone(person: Person) -> None:
    person.write_six_clients()
    done = person.command("--yes")
    assert (done.returncode, done.stderr) == (0, f"Configuration: {person.config}\n")
    assert len(person.servers) == 8
    assert stat.S_IMODE(person.config.stat().st_mode) == 0o600
    assert stat.S_IMODE(person.config.parent.stat().st_mode) == 0o700


def test_it_shows_what_each_client_has_and_what_becomes_of_it(person: Person) -> None:
    person.write_six_clients()
    person.write(".codeium/windsurf/mcp_config.json", '{"mcpServers": {')
    person.write(".gemini/settings.json", {"mcpServers": {"boxed": {"command": "x", "sandbox": True}}})
    shown = person.command("--dry-run").stdout
    lines = shown.splitlines()
    assert f"Claude Code: {person.path}/.claude.json" in lines
    assert "  gh      the same as code/github" in lines
    assert "  fetch   new: web/fetch" in lines
    assert "  boxed  not imported:" in lines
    assert any(line.startswith("  cannot be read: line 1") for line in lines)
    assert "8 servers to add, 1 not imported (see above)." in lines
    assert '+  "toolboxes": {' in lines


def test_it_says_what_to_do_next(person: Person) -> None:
    person.write_six_clients()
    shown = person.command("--yes").stdout
    assert "A secret is missing: mcp-workbench secret set pg-password\n" in shown
    why = "there is no usable keyring on this system"
    assert f"Secrets are in {person.store.path}, which only you can read: {why}" in shown
    assert "mcp-workbench check --connect" in shown
    assert "mcp-workbench install" in shown


def test_running_it_twice_changes_nothing(person: Person) -> None:
    person.write_six_clients()
    person.command("--yes")
    before = person.snapshot()
    done = person.command()
    assert (done.returncode, "Nothing to change: 8 in the workbench already." in done.stdout) == (0, True)
    assert person.snapshot() == before


def test_a_dry_run_writes_nothing(person: Person) -> None:
    person.write_six_clients()
    before = person.snapshot()
    done = person.command("--dry-run", "--yes")
    assert (done.returncode, "Nothing was written: this is a dry run." in done.stdout) == (0, True)
    assert person.snapshot() == before


def test_without_a_terminal_and_without_yes_nothing_is_changed(person: Person) -> None:
    person.write_six_clients()
    before = person.snapshot()
    done = person.command()
    assert (done.returncode, "8 servers to add." in done.stdout) == (1, True)
    assert "nothing is changed: there is no terminal to ask on. Use --yes" in done.stderr
    assert person.snapshot() == before


def test_no_output_shows_a_secret(person: Person) -> None:
    person.write_six_clients()
    shown = []
    for args in (["--dry-run"], ["--dry-run", "--json"], [], ["--yes"], ["--json"]):
        done = person.command(*args)
        shown += [done.stdout, done.stderr]
    assert [text for text in shown if GITHUB_TOKEN in text or LINEAR_KEY in text] == []


def test_a_name_with_a_secret_in_it_is_not_shown(person: Person) -> None:
    address = "https://mcp.example.com/mcp?token=abc123def456"
    servers = {address: {"url": address}, f"{address}&x": {"url": address, "sandbox": True}}
    person.write(".cursor/mcp.json", {"mcpServers": servers})
    for args in (["--dry-run"], ["--dry-run", "--json"], ["--yes"]):
        done = person.command(*args)
        assert "abc123def456" not in done.stdout + done.stderr
    assert "abc123def456" not in person.config.read_text()


def test_a_very_long_name_does_not_push_the_others_aside(person: Person) -> None:
    person.write(".cursor/mcp.json", {"mcpServers": {"n" * 500: {"command": "a"}, "fetch": FETCH}})
    lines = person.command("--dry-run").stdout.splitlines()
    assert f"  {'fetch'.ljust(40)}  new: main/fetch" in lines


def test_a_person_is_asked_for_the_keyring_for_the_file_and_for_inputs(person: Person) -> None:
    person.write_six_clients()
    code, shown = person.answering(
        ("Move them to the keyring?", "y"),
        (f"Write {person.config}?", "y"),
        ("Password of the database (pg-password", "hunter2"),
    )
    assert (code, "hunter2" in shown, "is missing" in shown) == (0, False, False)
    assert (GITHUB_TOKEN in shown, LINEAR_KEY in shown) == (False, False)
    assert person.store.get("pg-password") == "hunter2"
    assert sorted(person.store.places()) == [
        "GITHUB_PERSONAL_ACCESS_TOKEN",
        "LINEAR_AUTHORIZATION",
        "pg-password",
    ]


def test_a_person_may_keep_the_secrets_in_the_file(person: Person) -> None:
    person.write(".cursor/mcp.json", {"mcpServers": {"github": NPX_GITHUB}})
    code, shown = person.answering(("Move them to the keyring?", "n"), ("workbench-config.json?", "y"))
    assert (code, GITHUB_TOKEN in shown, "<secret>" in shown) == (0, False, True)
    assert "will be readable in" in shown
    assert person.servers == {"main/github": NPX_GITHUB}
    assert person.store.places() == {}


def test_a_no_changes_nothing(person: Person) -> None:
    person.write(".cursor/mcp.json", {"mcpServers": {"github": NPX_GITHUB}})
    before = person.snapshot()
    code, shown = person.answering(("Move them to the keyring?", ""), ("workbench-config.json?", "n"))
    assert (code, shown.splitlines()[-1]) == (1, "mcp-workbench: nothing is changed")
    assert person.snapshot() == before


def test_the_outcome_as_json(person: Person) -> None:
    file = person.write(".cursor/mcp.json", {"mcpServers": {"github": NPX_GITHUB}})
    done = person.command("cursor", "--yes", "--json")
    server = {"server": "github", "state": "added", "toolbox": "main", "name": "github"}
    assert json.loads(done.stdout) == {
        "file": str(person.config),
        "written": True,
        "found": [
            {
                "client": "cursor",
                "scope": "user",
                "file": str(file),
                "error": None,
                "notes": [],
                "servers": [{**server, "reasons": [], "notes": []}],
            }
        ],
        "added": ["main/github"],
        "present": [],
        "refused": [],
        "secrets": ["GITHUB_PERSONAL_ACCESS_TOKEN"],
        "missing": [],
        "warnings": [],
    }
    assert person.servers["main/github"]["env"] == {
        "GITHUB_PERSONAL_ACCESS_TOKEN": "${keyring:GITHUB_PERSONAL_ACCESS_TOKEN}"
    }


@pytest.mark.parametrize(("args", "code"), [(["--dry-run"], 0), ([], 1)])
def test_json_without_yes_writes_nothing(person: Person, args: list[str], code: int) -> None:
    person.write(".cursor/mcp.json", {"mcpServers": {"fetch": FETCH}})
    before = person.snapshot()
    done = person.command("--json", *args)
    outcome: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode, outcome["written"], outcome["added"]) == (code, False, ["main/fetch"])
    assert person.snapshot() == before


def test_only_the_named_client_is_imported(person: Person) -> None:
    person.write_six_clients()
    person.command("codex", "--yes", "--toolbox", "mine")
    assert list(person.servers) == ["mine/fetch", "mine/context7"]


def test_a_name_is_that_of_a_client_even_beside_a_file_of_that_name(person: Person) -> None:
    person.write_six_clients()
    (person.project / "codex").mkdir()
    assert person.command("codex", "--dry-run").stdout.startswith("Codex: ")


def test_a_file_is_imported_by_its_path(person: Person) -> None:
    person.write("project/servers.json", {"mcpServers": {"fetch": FETCH}})
    for source in ("./servers.json", "servers.json"):
        assert person.command(source, "--yes").returncode == 0
        assert person.servers == {"main/fetch": FETCH}


def test_another_configuration_is_written_if_it_is_named(person: Person) -> None:
    person.write(".cursor/mcp.json", {"mcpServers": {"fetch": FETCH}})
    done = person.command("--yes", "--config", "mine.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((person.project / "mine.json").read_text())["toolboxes"]["main"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["cursr"],
            "no client is known as 'cursr'. Did you mean: cursor, crush? Known clients: claude-desktop, ",
        ),
        (["nosuch"], "Or name a file: mcp-workbench import path/to/file.json"),
        (["--toolbox", "workbench"], "the name workbench belongs to the toolbox for kept results"),
        (["--toolbox", " "], "use a name with visible characters"),
        (["./own.json"], "./own.json is a configuration of the workbench: use it with --config ./own.json"),
    ],
)
def test_wrong_words_are_answered_with_the_right_ones(person: Person, args: list[str], message: str) -> None:
    person.write("project/own.json", {"toolboxes": {}})
    done = person.command(*args, "--yes")
    assert (done.returncode, message in done.stderr, done.stdout) == (2, True, "")


@pytest.mark.parametrize("source", ["./missing.json", "cursor", "kiro"])
def test_a_source_that_cannot_be_read_is_a_failure(person: Person, source: str) -> None:
    person.write(".cursor/mcp.json", "{")
    done = person.command(source, "--yes")
    assert done.returncode == 1
    assert not person.config.exists()


def test_a_home_without_clients_has_nothing_to_import(person: Person) -> None:
    done = person.command("--yes")
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            "No servers of MCP clients were found in your home directory or in the project here.",
            "Name a client's file: mcp-workbench import path/to/file.json",
            "Or add a server:      mcp-workbench add time -- uvx mcp-server-time",
        ],
    )


def test_a_broken_configuration_is_named_with_its_line_and_not_touched(person: Person) -> None:
    person.write(".cursor/mcp.json", {"mcpServers": {"fetch": FETCH}})
    person.write(CONFIG, '{\n  "toolboxes": {,\n')
    before = person.snapshot()
    done = person.command("--yes")
    assert done.returncode == 2
    assert f"{person.config}:2:" in done.stderr
    assert "Nothing was written" in done.stderr
    assert person.snapshot() == before


def test_a_configuration_that_cannot_be_written_is_named(person: Person) -> None:
    person.write(".cursor/mcp.json", {"mcpServers": {"fetch": FETCH}})
    person.config.mkdir(parents=True)
    done = person.command("--yes")
    assert (done.returncode, "it is a directory" in done.stderr) == (1, True)


def test_names_of_servers_do_not_control_the_terminal(person: Person) -> None:
    person.write(".cursor/mcp.json", {"mcpServers": {"a\x1b[2J\nb": FETCH}})
    done = person.command("--dry-run")
    assert "\x1b" not in done.stdout + done.stderr
    assert "  a\\x1b[2J\\nb  new: main/a b" in done.stdout
