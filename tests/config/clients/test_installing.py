"""The entry of the workbench in the form of every client: its file still parses, and holds what it held."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_workbench.config.clients import CLIENTS, Client, entry_for, find_files, install_target
from mcp_workbench.config.clients.installing import ENTRY_NAME
from mcp_workbench.config.documents import open_document
from tests.config.clients.places import FILES, client_of, make_place
from tests.config.clients.test_every_client import EXAMPLES

COMMAND = "/opt/tools/mcp-workbench"
ARGUMENTS = ["--config", "/home/ada/workbench-config.json", "--keep-going"]
ENV = {"PATH": "/opt/tools:/usr/bin"}

WITH_FILES = [client for client in CLIENTS if client.files]


def install(client: Client, path: Path, key: tuple[str, ...], *, is_list: bool, form: str) -> None:
    document = open_document(form, path.read_bytes() if path.exists() else b"")  # type: ignore[arg-type] # a format of the table
    entry = entry_for(client, COMMAND, ARGUMENTS, ENV)
    if is_list:
        document.append(key, entry)
    else:
        document.set((*key, ENTRY_NAME), entry)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(document.encode())


@pytest.mark.parametrize("client", WITH_FILES, ids=lambda client: str(client.id))
@pytest.mark.parametrize("has_file", [False, True])
def test_the_entry_is_found_again_beside_what_was_there(
    tmp_path: Path, client: Client, has_file: bool
) -> None:
    place = make_place(tmp_path)
    target = install_target(place.machine, client, "user")
    assert target is not None
    path, file = Path(target[0]), target[1]
    before: list[str] = []
    if has_file:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((FILES / next(iter(EXAMPLES[client.id][0]))).read_bytes())
        before = [server.name for found in find_files(place.machine, [client]) for server in found.servers]
    install(client, path, file.key, is_list=file.is_list, form=file.format)
    found = [server for found in find_files(place.machine, [client]) for server in found.servers]
    assert [server.name for server in found if not server.is_workbench] == before
    assert [(server.name, server.entry) for server in found if server.is_workbench] == [
        (ENTRY_NAME, entry_for(client, COMMAND, ARGUMENTS, ENV))
    ]


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        ("claude-desktop", {"command": COMMAND, "args": ARGUMENTS, "env": ENV}),
        ("vscode", {"type": "stdio", "command": COMMAND, "args": ARGUMENTS, "env": ENV}),
        ("copilot-cli", {"type": "local", "command": COMMAND, "args": ARGUMENTS, "env": ENV, "tools": ["*"]}),
        (
            "opencode",
            {"type": "local", "command": [COMMAND, *ARGUMENTS], "environment": ENV, "enabled": True},
        ),
        (
            "goose",
            {
                "name": ENTRY_NAME,
                "enabled": True,
                "type": "stdio",
                "cmd": COMMAND,
                "args": ARGUMENTS,
                "envs": ENV,
                "timeout": 300,
            },
        ),
        ("zed", {"source": "custom", "enabled": True, "command": COMMAND, "args": ARGUMENTS, "env": ENV}),
        ("codex", {"command": COMMAND, "args": ARGUMENTS, "env": ENV, "startup_timeout_sec": 60}),
        ("continue", {"name": ENTRY_NAME, "command": COMMAND, "args": ARGUMENTS, "env": ENV}),
        ("cline", {"command": COMMAND, "args": ARGUMENTS, "env": ENV, "disabled": False}),
    ],
)
def test_the_entry_has_the_form_of_the_client(client: str, expected: dict[str, object]) -> None:
    assert entry_for(client_of(client), COMMAND, ARGUMENTS, ENV) == expected


def test_an_empty_environment_is_left_out_unless_the_client_needs_it() -> None:
    assert entry_for(client_of("cursor"), "x", [], {}) == {"command": "x", "args": []}
    assert entry_for(client_of("zed"), "x", [], {})["env"] == {}


def test_a_file_that_exists_is_written_rather_than_a_new_one(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    windsurf = client_of("windsurf")
    new, _ = install_target(place.machine, windsurf, "user") or ("", None)
    assert new == f"{place.machine.home}/.codeium/windsurf/mcp_config.json"
    existing = place.put("~/.codeium/mcp_config.json", "{}")
    assert (install_target(place.machine, windsurf, "user") or ("",))[0] == str(existing)


def test_older_files_are_read_but_not_written(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    place.put("~/.config/Code/User/settings.json", "{}")
    path, _ = install_target(place.machine, client_of("vscode"), "user") or ("", None)
    assert path == f"{place.machine.home}/.config/Code/User/mcp.json"


def test_a_project_has_the_file_of_the_project_or_none(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    path, file = install_target(place.machine, client_of("claude-code"), "project") or ("", None)
    assert (path, file and file.key) == (f"{place.machine.directory}/.mcp.json", ("mcpServers",))
    assert install_target(place.machine, client_of("claude-desktop"), "project") is None
    assert install_target(place.machine, client_of("jetbrains"), "user") is None
