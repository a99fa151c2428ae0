"""The entry of the workbench itself is recognised, however it is started, and no other entry is."""

from __future__ import annotations

import pytest

from mcp_workbench.config.clients.own_entry import starts_workbench


@pytest.mark.parametrize(
    "words",
    [
        ["mcp-workbench"],
        ["/opt/tools/mcp-workbench", "--keep-going"],
        ["C:\\Tools\\mcp-workbench.exe"],
        ["workbench-mcp"],
        ["uvx", "workbench-mcp"],
        ["uvx", "workbench-mcp@latest", "--config", "x"],
        ["uvx", "--from", "workbench-mcp[semantic]==1.2", "mcp-workbench"],
        ["uvx", "--python", "3.12", "workbench-mcp"],
        ["uv", "tool", "run", "workbench-mcp"],
        ["uv", "run", "--directory", "/src", "mcp-workbench"],
        ["pipx", "run", "workbench-mcp"],
        ["python", "-m", "mcp_workbench"],
        ["/venv/bin/python3.12", "-u", "-m", "mcp_workbench"],
        ["python", "/venv/bin/mcp-workbench"],
        ["env", "A=b", "C=d", "mcp-workbench"],
        ["/usr/bin/env", "-S", "uvx", "workbench-mcp"],
        ["cmd", "/c", "uvx", "workbench-mcp"],
        ["cmd.exe", "/C", "mcp-workbench.cmd"],
        ["sh", "-c", "mcp-workbench --keep-going"],
    ],
)
def test_the_workbench_is_recognised(words: list[str]) -> None:
    command, *arguments = words
    assert starts_workbench({"command": command, "args": arguments})
    assert starts_workbench({"type": "local", "command": words})
    assert starts_workbench({"command": {"path": command, "args": arguments}})
    assert starts_workbench({"cmd": command, "args": arguments})


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"command": None},
        {"command": "npx", "args": ["-y", "server-filesystem", "/src/mcp-workbench"]},
        {"command": "uvx", "args": ["mcp-server-git", "--repository", "/src/mcp-workbench"]},
        {"command": "python", "args": ["-m", "http.server", "mcp-workbench"]},
        {"command": "python", "args": ["server.py", "mcp-workbench"]},
        {"command": "sh", "args": ["-c", "'unbalanced"]},
        {"command": "env", "args": [1, None]},
        {"command": "my-mcp-workbench"},
        {"url": "https://mcp-workbench"},
    ],
)
def test_another_server_is_not_the_workbench(entry: dict[str, object]) -> None:
    assert not starts_workbench(entry)
