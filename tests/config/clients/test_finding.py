"""The files of clients are found where they are, and one that cannot be read stops nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from mcp_workbench.config.clients import (
    CLIENTS,
    FoundServer,
    Machine,
    client_named,
    convert,
    find_files,
    read_file,
    this_machine,
)
from mcp_workbench.config.clients.parsing import MAX_FILE_BYTES
from tests.config.clients.places import client_of, make_place
from tests.support.privileges import ordinary_user

if TYPE_CHECKING:
    from mcp_workbench.config.clients.model import System

SERVERS = json.dumps({"mcpServers": {"fs": {"command": "x"}}})
CURSOR = "~/.cursor/mcp.json"


@pytest.mark.parametrize("text", ["vscode", "VS Code", "vs_code", "Code", "visual-studio-code"])
def test_a_client_has_several_names(text: str) -> None:
    assert client_named(text) == client_of("vscode")
    assert client_named(f"not {text}") is None


def test_no_two_clients_share_a_name() -> None:
    names = [name for client in CLIENTS for name in {client.id, *client.aliases}]
    assert sorted(names) == sorted(set(names))
    assert all(client.files or client.paste for client in CLIENTS)


@pytest.mark.parametrize(
    ("system", "environ", "client", "path"),
    [
        ("darwin", {}, "claude-desktop", "~/Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", {}, "claude-desktop", "~/AppData/Roaming/Claude/claude_desktop_config.json"),
        ("win32", {"APPDATA": "HOME/Data"}, "vscode", "~/Data/Code/User/mcp.json"),
        ("linux", {}, "claude-desktop", "~/.config/claude/claude_desktop_config.json"),
        ("linux", {"XDG_CONFIG_HOME": "HOME/xdg"}, "vscode", "~/xdg/Code/User/mcp.json"),
        ("linux", {}, "vscode", "~/.vscode-server/data/User/mcp.json"),
        ("linux", {}, "vscode", "~/.config/Code/User/profiles/abc/mcp.json"),
        ("darwin", {}, "zed", "~/.config/zed/settings.json"),
        ("win32", {}, "zed", "~/AppData/Roaming/Zed/settings.json"),
        ("darwin", {}, "roo-code", ".roo/mcp.json"),
        ("linux", {"CODEX_HOME": "HOME/codex"}, "codex", "~/codex/config.toml"),
        ("linux", {"CLAUDE_CONFIG_DIR": "HOME/cc"}, "claude-code", "~/cc/.claude.json"),
        ("linux", {"OPENCODE_CONFIG": "HOME/oc.json"}, "opencode", "~/oc.json"),
        ("win32", {}, "opencode", "~/AppData/Local/opencode/opencode.json"),
        ("win32", {}, "goose", "~/AppData/Roaming/Block/goose/config/config.yaml"),
        ("linux", {}, "continue", ".continue/mcpServers/mine.yaml"),
        ("linux", {}, "windsurf", "~/.codeium/mcp_config.json"),
        ("linux", {}, "lm-studio", "~/.cache/lm-studio/mcp.json"),
    ],
)
def test_a_file_is_found_where_the_client_of_this_system_keeps_it(
    tmp_path: Path, system: System, environ: dict[str, str], client: str, path: str
) -> None:
    place = make_place(tmp_path)
    set_ = {name: value.replace("HOME", place.machine.home) for name, value in environ.items()}
    machine = msgspec.structs.replace(place.machine, system=system, environ=set_)
    written = place.put(path, "")
    assert [(file.client, file.path) for file in find_files(machine)] == [(client_of(client), str(written))]


def test_every_file_of_a_client_is_found_of_the_person_and_of_the_project(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    for path in (CURSOR, ".cursor/mcp.json", "~/.vscode-server/data/User/mcp.json", ".vscode/mcp.json"):
        place.put(path, "{}")
    found = [(file.client and file.client.id, file.scope) for file in place.found()]
    assert found == [("cursor", "user"), ("cursor", "project"), ("vscode", "user"), ("vscode", "project")]


def test_older_settings_of_vs_code_are_read(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    settings = {
        "mcp": {"inputs": [{"id": "t", "description": "T"}], "servers": {"fs": {"command": "${input:t}"}}}
    }
    place.put("~/.config/Code/User/settings.json", json.dumps(settings))
    (file,) = place.found()
    (server,) = file.servers
    assert server == FoundServer("fs", {"command": "${input:t}"}, ("mcp", "servers", "fs"))
    assert convert(file, server, place.machine).inputs == {"t": "T"}


def test_settings_without_servers_are_no_file_of_servers(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    place.put("~/.config/Code/User/settings.json", '{"editor.fontSize": 12}')
    place.put("~/.claude.json", '{"projects": {"PROJECT": {}}}')
    assert [(file.client and file.client.id, file.key) for file in place.found()] == [
        ("claude-code", ("mcpServers",))
    ]


@pytest.mark.parametrize("content", ['{"fs": {"command": "x"}}', SERVERS])
def test_the_file_of_a_project_of_claude_code_may_be_flat(tmp_path: Path, content: str) -> None:
    place = make_place(tmp_path)
    place.put(".mcp.json", content)
    (file,) = place.found()
    assert [(server.name, server.path) for server in file.servers] == [("fs", (*file.key, "fs"))]


def test_the_servers_of_a_project_in_the_file_of_the_person_are_those_of_this_project(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    place.put_example("claude-code.json", "~/.claude.json")
    found = [(file.scope, file.key, [server.name for server in file.servers]) for file in place.found()]
    project = place.machine.directory
    assert found == [
        ("user", ("mcpServers",), ["github", "events", "quick", "turned-off"]),
        ("project", ("projects", project, "mcpServers"), ["database"]),
    ]


def test_servers_of_the_client_itself_are_left_out_with_a_note(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    place.put_example("goose.yaml", "~/.config/goose/config.yaml")
    (file,) = place.found()
    assert file.notes == (
        "developer: is part of Goose itself, and is left out",
        "todo: is part of Goose itself, and is left out",
    )


def test_a_list_of_servers_has_their_indexes_as_paths(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    place.put_example("continue.yaml", "~/.continue/config.yaml")
    (file,) = place.found()
    assert [(server.name, server.path) for server in file.servers] == [
        ("SQLite", ("mcpServers", 0)),
        ("Remote docs", ("mcpServers", 1)),
    ]
    assert file.notes == ("a server without a name is left out",)


@pytest.mark.parametrize(
    "content",
    [
        '{"mcpServers": {',
        "",
        "null",
        "[]",
        '{"mcpServers": null}',
        '{"mcpServers": "x"}',
        '{"mcpServers": 5}',
        '{"mcpServers": [1, {"name": 3}, {"name": "  "}]}',
        '{"mcpServers": {"": {"command": "x"}, "a": "text", "b": null}}',
        '{"a":' * 50_000,
        b"\xff\xfe{}",
        b"\x00" * 100,
        " " * (MAX_FILE_BYTES + 1),
    ],
)
def test_a_broken_file_has_no_servers_and_stops_no_other(tmp_path: Path, content: str | bytes) -> None:
    place = make_place(tmp_path)
    place.put(CURSOR, content)
    place.put("~/.kiro/settings/mcp.json", SERVERS)
    cursor, kiro = place.found()
    assert cursor.servers == ()
    assert [server.name for server in kiro.servers] == ["fs"]


@pytest.mark.parametrize(
    ("client", "path"), [("codex", "~/.codex/config.toml"), ("goose", "~/.config/goose/config.yaml")]
)
@pytest.mark.parametrize("content", ["[", "a: [", "a = ", "\t- x", "&a [*a", b"\xff"])
def test_a_broken_file_of_another_format_has_an_error(
    tmp_path: Path, client: str, path: str, content: str | bytes
) -> None:
    place = make_place(tmp_path)
    place.put(path, content)
    (file,) = place.found(client_of(client))
    assert file.error
    assert file.servers == ()


@pytest.mark.skipif(os.name == "nt", reason="there are no such files on Windows")
def test_what_is_no_file_has_an_error(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    home = Path(place.machine.home)
    for directory in (".cursor/mcp.json", ".lmstudio", ".kiro/settings", ".junie/mcp", ".copilot"):
        (home / directory).mkdir(parents=True)
    (home / ".lmstudio/mcp.json").symlink_to("mcp.json")
    (home / ".kiro/settings/mcp.json").symlink_to("nowhere")
    os.mkfifo(home / ".copilot/mcp-config.json")
    errors = {file.client.id: file.error for file in place.found() if file.client}
    assert errors == {
        "cursor": "this is a directory",
        "copilot-cli": "this is not a regular file",
        "lm-studio": "Too many levels of symbolic links",
        "kiro": "this is a link to a file that does not exist",
    }


@pytest.mark.skipif(os.name == "nt", reason="there are no such permissions on Windows")
def test_a_file_that_may_not_be_read_has_an_error() -> None:
    with ordinary_user() as directory:
        place = make_place(directory)
        place.put(CURSOR, SERVERS).chmod(0)
        errors = [file.error for file in place.found()]
    assert errors == ["Permission denied"]


@pytest.mark.parametrize(
    ("path", "example", "client", "scope"),
    [
        ("somewhere/claude_desktop_config.json", "claude-desktop.json", "claude-desktop", "user"),
        ("copy.json", "vscode.json", "vscode", "user"),
        ("copy.toml", "codex.toml", "codex", "user"),
        ("copy.yaml", "goose.yaml", "goose", "user"),
        ("copy.yml", "continue.yaml", "continue", "user"),
        ("copy.json", "zed.json", "zed", "user"),
        ("copy.json", "amp.json", "amp", "user"),
        ("copy.json", "opencode.jsonc", "opencode", "user"),
        ("copy.json", "crush.json", "crush", "user"),
        ("other/.cursor/mcp.json", "cursor.json", "cursor", "project"),
        ("other/.gemini/settings.json", "gemini-cli.json", "gemini-cli", "project"),
        ("copy.json", "kiro.json", None, "user"),
    ],
)
def test_the_client_of_a_named_file_is_known_by_its_path_or_its_keys(
    tmp_path: Path, path: str, example: str, client: str | None, scope: str
) -> None:
    place = make_place(tmp_path)
    file = read_file(str(place.put_example(example, path)), None, place.machine)
    assert (file.client and file.client.id, file.scope, file.error) == (client, scope, "")
    assert file.servers
    assert file.context.project == (f"{place.machine.directory}/other" if scope == "project" else "")


def test_a_named_file_is_relative_to_the_project_or_the_home(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    place.put("mine.json", SERVERS)
    place.put("~/mine.json", SERVERS)
    kiro = client_of("kiro")
    for path in ("mine.json", "~/mine.json"):
        file = read_file(path, kiro, place.machine)
        assert (file.client, [server.name for server in file.servers]) == (kiro, ["fs"])
    assert read_file("missing.json", None, place.machine).error == "there is no such file"
    assert read_file("nul\0byte", None, place.machine).error


def test_relative_paths_of_a_project_are_made_absolute_or_start_in_it(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    place.put("server.py", "")
    servers = {
        "command": {"command": "./bin/server", "args": ["--flag"]},
        "argument": {"command": "node", "args": ["../server.js"]},
        "file": {"command": "python", "args": ["server.py"]},
        "directory": {"command": "x", "cwd": "sub"},
        "plain": {"command": "npx", "args": ["-y", "a.b"]},
    }
    place.put(".cursor/mcp.json", json.dumps({"mcpServers": servers}))
    project = place.machine.directory
    assert {name: found.entry for name, found in place.converted("cursor").items()} == {
        "command": {"command": f"{project}/bin/server", "args": ["--flag"]},
        "argument": {"command": "node", "args": ["../server.js"], "cwd": project},
        "file": {"command": "python", "args": ["server.py"], "cwd": project},
        "directory": {"command": "x", "cwd": f"{project}/sub"},
        "plain": {"command": "npx", "args": ["-y", "a.b"]},
    }


def test_this_machine_has_the_home_of_its_environment(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    machine = this_machine(environ, str(tmp_path))
    assert machine == Machine(machine.system, str(tmp_path), str(tmp_path), environ)


def test_servers_at_the_top_of_a_file_are_found_by_any_key_of_a_target(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    path = place.put("flat.json", '{"a": {"command": "x"}, "b": {"serverUrl": "https://b.example/mcp"}}')
    assert [server.name for server in read_file(str(path), None, place.machine).servers] == ["a", "b"]
