"""Moving in: servers of six clients are imported, the workbench takes their place, undo brings all back."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from mcp_workbench.config.clients import client_named, find_files, install_target, this_machine
from mcp_workbench.config.source.json_comments import without_comments
from tests.cli.commands import Bench
from tests.cli.logins import FILE_ONLY
from tests.support.client import RawClient
from tests.support.configs import server, tool
from tests.support.sessions import session_of, text_of

if TYPE_CHECKING:
    from tests.support.client import Json
    from tests.support.sessions import Era, Session

CLIENTS = ("cursor", "vscode", "codex", "zed", "continue", "goose")
TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"  # noqa: S105 - not a real token


def echoing(client_id: str) -> Json:
    """A server that only this client has."""
    return server(tools=[tool("say", title=client_id), *([tool("shout")] if client_id == "codex" else [])])


def contents() -> dict[str, str]:
    """The file of each client, in its own form, with a server of its own."""
    entries = {client_id: echoing(client_id) for client_id in CLIENTS}
    command = {client_id: json.dumps(entry["command"]) for client_id, entry in entries.items()}
    args = {client_id: json.dumps(entry["args"]) for client_id, entry in entries.items()}
    cursor = {**entries["cursor"], "env": {"GITHUB_TOKEN": TOKEN}}
    zed = {"source": "custom", "enabled": True, **entries["zed"], "env": {}}
    return {
        "cursor": json.dumps({"mcpServers": {"from-cursor": cursor}}, indent=4),
        "vscode": '{\r\n\t// mine\r\n\t"servers": {"from-vscode": {"type": "stdio", "command": '
        f'{command["vscode"]}, "args": {args["vscode"]}}},}},\r\n}}\r\n',
        "codex": f'model = "m" # c\n\n[mcp_servers.from-codex]\ncommand = {command["codex"]}\n'
        f'args = {args["codex"]}\nenabled_tools = ["say"]\n',
        "zed": '// Zed\n{"theme": "x", "context_servers": ' + json.dumps({"from-zed": zed}) + "}",
        "continue": f"name: c\nversion: 1.0.0\nmcpServers:\n  - name: from-continue # c\n    command: "
        f"{command['continue']}\n    args: {args['continue']}\n",
        "goose": "extensions:\n  from-goose:\n    type: stdio\n    name: from-goose\n    enabled: true\n"
        f"    cmd: {command['goose']}\n    args: {args['goose']}\n",
    }


class Household(Bench):
    """A home with the files of six clients, and a project without any."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory / "project")
        self.directory.mkdir()
        self.home = directory / "home"
        self.personal = self.home / ".config" / "mcp-workbench" / "workbench-config.json"
        self.machine = this_machine({"HOME": str(self.home)}, str(self.directory))
        self.files: dict[str, Path] = {}
        for client_id, content in contents().items():
            client = client_named(client_id)
            assert client is not None
            target = install_target(self.machine, client, "user")
            assert target is not None
            path = self.files[client_id] = Path(target[0])
            path.parent.mkdir(parents=True)
            path.write_text(content, encoding="utf-8", newline="")

    def succeed(self, *args: str) -> str:
        """What a command prints that ends well."""
        done = self.run(*args, env={"HOME": str(self.home), **FILE_ONLY})
        assert done.returncode == 0, done.stderr
        assert TOKEN not in done.stdout + done.stderr
        return done.stdout

    def toolboxes(self) -> list[str]:
        """The names of the toolboxes that the import has made."""
        return list(json.loads(self.personal.read_text(encoding="utf-8"))["toolboxes"])

    def held(self) -> dict[str, bytes]:
        """The files of all clients, as they are."""
        return {client_id: path.read_bytes() for client_id, path in self.files.items()}

    def entry(self, client_id: str) -> tuple[list[str], dict[str, str]]:
        """The command line and the environment that the file of a client has for the workbench."""
        text = self.files[client_id].read_text(encoding="utf-8")
        data: Any
        if client_id == "codex":
            data = tomllib.loads(text)["mcp_servers"]["workbench"]
        elif client_id == "goose":
            data = yaml.safe_load(text)["extensions"]["workbench"]
        else:
            data = json.loads(without_comments(text))["mcpServers"]["workbench"]
        return [data.get("command") or data["cmd"], *data["args"]], data.get("env") or data["envs"]


@pytest.fixture
def household(tmp_path: Path) -> Household:
    return Household(tmp_path)


async def test_moving_in_and_out(household: Household, client_era: Era) -> None:
    before = household.held()
    household.succeed("import", "--yes")
    assert household.held() == before
    household.succeed("install", *CLIENTS, "--replace", "--yes")
    left = [server for file in find_files(household.machine) for server in file.servers]
    assert [(server.name, server.is_workbench) for server in left] == [("workbench", True)] * len(CLIENTS)
    for client_id in ("cursor", "codex", "goose"):
        command, env = household.entry(client_id)
        # Desktop programs start their servers with little more than what the entry says.
        async with RawClient(command, {"HOME": str(household.home), **env}) as client:
            session = session_of(client_era, client)
            await session.greet()
            expected = {f"from-{name}/say": '{"text": "hello"}' for name in CLIENTS}
            assert await answers(session, household.toolboxes()) == expected
    household.succeed("undo", "--yes")
    assert household.held() == before


async def answers(session: Session, toolboxes: list[str]) -> dict[str, str]:
    """What a tool of each server answers, by the name of the server."""
    answered = {}
    for box in toolboxes:
        opened = (await session.open_toolbox(box))["structuredContent"]
        for found in opened["tools"]:
            answer = await session.use_tool(box, found["source_server"], found["name"], {"text": "hello"})
            answered[f"{found['source_server']}/{found['name']}"] = text_of(answer)
    return answered
