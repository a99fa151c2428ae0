"""Moving in, as a person does it: import, install, official SDKs that start what was written, and undo."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from mcp_workbench.config.source.json_comments import without_comments
from tests.cli.commands import Bench
from tests.cli.logins import FILE_ONLY
from tests.real.clients import KINDS, Call, Program
from tests.support.configs import server, tool

if TYPE_CHECKING:
    from collections.abc import Mapping

TIME = str(Path(sys.executable).with_name("mcp-server-time"))
TOKEN = "ghp_" + "q1W2e3R4" * 4 + "abcd"


def scripted(name: str) -> dict[str, Any]:
    """An entry of a server with one tool, which repeats its arguments."""
    return server(tools=[tool(name)])


def opencode(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "local", "command": [entry["command"], *entry["args"]], "environment": {"TOKEN": TOKEN}}


def toml(entry: Mapping[str, Any]) -> str:
    return f"command = {json.dumps(entry['command'])}\nargs = {json.dumps(entry['args'])}\n"


VSCODE = f"""\
{{
\t// mine
\t"servers": {{
\t\t"editor": {json.dumps({**scripted("editor_tool"), "type": "stdio"})},
\t\t"time": {json.dumps({"command": TIME})},
\t}},
}}
"""
CODEX = f"""\
# Codex
model = "best"

[mcp_servers.shell]
{toml(scripted("shell_tool"))}
enabled_tools = ["shell_tool"]  # no others

[profiles.x]
model = "other"
"""
GOOSE = f"""\
GOOSE_MODE: auto  # mine
extensions:
  goose_box:
    enabled: true
    type: stdio
    name: goose_box
    cmd: {sys.executable}
    args: {json.dumps(scripted("goose_tool")["args"])}
    timeout: 300
"""

FILES = {
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        json.dumps({"mcpServers": {"clock": {"command": TIME, "args": []}}, "theme": "dark"}, indent=4),
    ),
    "claude-code": (
        ".claude.json",
        json.dumps({"numStartups": 3, "mcpServers": {"code": {"type": "stdio", **scripted("code_tool")}}}),
    ),
    "vscode": (".config/Code/User/mcp.json", VSCODE.replace("\n", "\r\n")),
    "codex": (".codex/config.toml", CODEX),
    "goose": (".config/goose/config.yaml", GOOSE),
    "opencode": (
        ".config/opencode/opencode.json",
        json.dumps({"$schema": "x", "mcp": {"open": opencode(scripted("open_tool"))}}, indent=2),
    ),
}

SERVERS = {
    "clock": "get_current_time",
    "code": "code_tool",
    "editor": "editor_tool",
    "shell": "shell_tool",
    "goose_box": "goose_tool",
    "open": "open_tool",
}


@pytest.fixture
def home(tmp_path: Path) -> Bench:
    """A home with the files of six clients, and nothing else."""
    for place, content in FILES.values():
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
    return Bench(tmp_path)


def data_of(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        return tomllib.loads(text)
    return yaml.safe_load(text) if path.suffix == ".yaml" else json.loads(without_comments(text))


def written_entry(home: Bench, client: str) -> Program:
    """What the client would start now: its own format read by another parser, and the only entry in it."""
    data = data_of(home.directory / FILES[client][0])
    key = {"vscode": "servers", "codex": "mcp_servers", "goose": "extensions", "opencode": "mcp"}
    ((name, entry),) = data[key.get(client, "mcpServers")].items()
    assert name == "workbench"
    command = entry.get("cmd") or entry["command"]
    words = command if isinstance(command, list) else [command, *entry["args"]]
    env = entry.get("env") or entry.get("envs") or entry.get("environment") or {}
    # A desktop program has next to no environment.
    return Program(words[0], words[1:], {"HOME": str(home.directory), "PATH": "/usr/bin:/bin", **env})


def succeed(home: Bench, *words: str) -> str:
    done = home.run(*words, env=FILE_ONLY)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def location(home: Bench, server_name: str) -> str:
    config = json.loads((home.directory / ".config/mcp-workbench/workbench-config.json").read_text())
    (found,) = [box for box, it in config["toolboxes"].items() if server_name in it["mcpServers"]]
    return str(found)


async def test_three_commands_move_in_and_undo_moves_out(home: Bench) -> None:
    output = succeed(home, "import", "--yes")
    output += succeed(home, "install", *FILES, "--replace", "--yes")
    assert TOKEN not in output
    calls = [
        Call(
            "use_tool",
            {
                "tool": {"toolbox": location(home, name), "server": name, "tool": used},
                "arguments": {"timezone": "UTC"},
            },
        )
        for name, used in SERVERS.items()
    ]
    for client, kind in zip(FILES, KINDS.values(), strict=False):
        transcript = await kind.drive(written_entry(home, client), calls)
        assert [it["name"] for it in transcript.tools] == ["open_toolbox", "use_tool"]
        assert [it for it in transcript.results if it.get("isError")] == []
    files = [path for path in home.directory.rglob("*") if path.is_file() and path.suffix != ".bak"]
    assert [path for path in files if TOKEN.encode() in path.read_bytes()] == [
        home.directory / ".local/share/mcp-workbench/secrets.json"
    ]
    succeed(home, "undo", "--yes")
    assert {place: (home.directory / place).read_bytes().decode() for place, _ in FILES.values()} == dict(
        FILES.values()
    )


def test_a_second_import_and_a_second_installation_change_nothing(home: Bench) -> None:
    succeed(home, "import", "--yes")
    succeed(home, "install", *FILES, "--yes")
    paths = [path for path in home.directory.rglob("*") if path.is_file() and "backups" not in path.parts]
    before = {path: path.read_bytes() for path in paths}
    succeed(home, "import", "--yes")
    succeed(home, "install", *FILES, "--yes")
    assert {path: path.read_bytes() for path in paths} == before
