"""A realistic file of every client is read, converted and loaded, and means the same as in the client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config import OAuthConfig, ServerConfig
from mcp_workbench.config.clients import CLIENTS
from tests.config.clients.places import make_place

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

URL = "https://mcp.example.com/mcp"
SSE = "https://mcp.example.com/sse"

Servers = dict[str, ServerConfig]


def remote(url: str = URL, **more: object) -> ServerConfig:
    return ServerConfig(url=url, transport="http", **more)  # type: ignore[arg-type] # the fields of a server


def sse(**more: object) -> ServerConfig:
    return ServerConfig(url=SSE, transport="sse", **more)  # type: ignore[arg-type] # the fields of a server


def claude_desktop(_home: str, _project: str) -> Servers:
    return {
        "filesystem": ServerConfig(
            command="npx", args=["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/notes"]
        ),
        "prices": ServerConfig(
            command="/opt/prices/server",
            env={"TEMPLATE": "costs ${amount}", "API_KEY": "fake-key-of-prices"},
        ),
    }


def claude_code(_home: str, project: str) -> Servers:
    return {
        "github": remote(
            "https://api.githubcopilot.com/mcp",
            headers={"Authorization": "Bearer value of GITHUB_TOKEN"},
            oauth=OAuthConfig(client_id="github-client", callback_port=8765),
        ),
        "events": sse(timeout=30),
        "quick": ServerConfig(command="quick-server"),
        "turned-off": ServerConfig(command="noisy-server", disabled=True),
        "tests": ServerConfig(command=f"{project}/tools/run-tests", args=["--watch"]),
        "blocked": ServerConfig(command="blocked-server", disabled=True),
        "database": ServerConfig(command="db-server", args=["--dsn", "value of dsn"]),
    }


def cursor(home: str, project: str) -> Servers:
    return {
        "local": ServerConfig(
            command="python",
            args=[f"{project}/server.py", f"{home}/cache"],
            env={"TOKEN": "value of CURSOR_TOKEN", "lower": "value of lower_case", "FROM_FILE": "yes"},
            env_file=f"{project}/server.env",
        ),
        "remote": remote(
            headers={"X-Api-Key": "value of CURSOR_TOKEN"},
            oauth=OAuthConfig(
                client_id="cursor-client",
                client_secret=ENVIRON["CURSOR_SECRET"],
                scopes=["read", "write"],
            ),
        ),
    }


def vscode(_home: str, project: str) -> Servers:
    return {
        "playwright": ServerConfig(
            command="npx",
            args=["-y", "@playwright/mcp", f"--output-dir={project}/out"],
            env={"PORT": "8931", "REGION": "eu-west-1"},
        ),
        "github": remote(
            "https://api.githubcopilot.com/mcp", headers={"Authorization": "Bearer secret github-token"}
        ),
    }


def copilot_cli(_home: str, _project: str) -> Servers:
    return {
        "everything": ServerConfig(command="everything", env={"A": "value of TOKEN"}),
        "few": ServerConfig(command="few", tool_filters=["list_issues", "get_issue"], timeout=90),
        "none": remote(headers={"X": "value of TOKEN"}, tool_filters=[]),
    }


def windsurf(_home: str, _project: str) -> Servers:
    return {
        "github": ServerConfig(
            command="docker",
            args=["run", "-i", "--rm", "ghcr.io/github/github-mcp-server"],
            env={"GITHUB_TOKEN": "value of GITHUB_TOKEN"},
            tool_filters=["!delete_repository", "!delete_*"],
        ),
        "figma": remote(
            "https://mcp.figma.example/mcp",
            headers={"Authorization": "Bearer ${file:/run/secrets/figma}"},
            disabled=True,
        ),
    }


def codex(_home: str, _project: str) -> Servers:
    return {
        "docs": ServerConfig(
            command="npx",
            args=["-y", "docs-server"],
            env={"TEMPLATE": "${name}"},
            inherit_env=["DOCS_TOKEN", "DOCS_USER"],
            cwd="/srv/docs",
            startup_timeout=20,
            timeout=45.5,
            tool_filters=["search", "fetch", "purge", "!purge"],
        ),
        "figma": remote(
            "https://mcp.figma.example/mcp",
            headers={
                "X-Region": "eu",
                "X-Team": "value of figma_team",
                "Authorization": "Bearer value of FIGMA_TOKEN",
            },
            startup_timeout=1.5,
            oauth=OAuthConfig(scopes=["files:read"]),
            required=True,
        ),
        "off": ServerConfig(command="off-server", disabled=True),
    }


def gemini_cli(_home: str, _project: str) -> Servers:
    hidden = ["!run_shell", "!ShellTool"]
    return {
        "python": ServerConfig(
            command="python",
            args=["-m", "my_server", "--user", "value of USER_NAME", "pa$word"],
            env={"KEY": "value of API_KEY", "MODE": "fast"},
            timeout=15,
            tool_filters=["safe_tool", "read", "run_shell", "!safe_delete", *hidden],
        ),
        "streamable": remote(headers={"A": "b"}, timeout=5, tool_filters=["!ShellTool"]),
        "old": sse(tool_filters=["!ShellTool"]),
        "typed": remote(tool_filters=["!ShellTool"]),
        "excluded": ServerConfig(command="excluded-server", disabled=True),
    }


def antigravity(_home: str, _project: str) -> Servers:
    return {
        "maps": remote(headers={"X-Goog-Api-Key": "fake-key"}),
        "sql": ServerConfig(
            command="toolbox", args=["--stdio"], env={"INSTANCE": "db"}, tool_filters=["!drop"]
        ),
        "off": ServerConfig(command="off-server", disabled=True),
    }


def zed(_home: str, _project: str) -> Servers:
    return {
        "new": ServerConfig(
            command="new-server", args=["--x"], env={"A": "${B}"}, tool_filters=["read", "!delete", "!push"]
        ),
        "old": ServerConfig(command="old-server", args=["-y"], env={"C": "d"}, disabled=True),
        "remote": remote(headers={"Authorization": "Bearer fake"}, disabled=True),
    }


def cline(_home: str, _project: str) -> Servers:
    return {
        "weather": ServerConfig(
            command="node",
            args=["/srv/weather/index.js"],
            env={"KEY": "value of WEATHER_KEY"},
            timeout=120,
        ),
        "remote": remote(),
        "old": sse(),
    }


def roo_code(_home: str, project: str) -> Servers:
    return {
        "remote": remote(
            headers={"Authorization": "Bearer value of ROO_TOKEN"}, tool_filters=["!write"], timeout=300
        ),
        "local": ServerConfig(command=f"{project}/server", disabled=True),
    }


def continue_(_home: str, _project: str) -> Servers:
    return {
        "SQLite": ServerConfig(
            command="npx",
            args=["-y", "mcp-sqlite", "/data/my.db"],
            env={"TOKEN": "secret SQLITE_TOKEN", "VERBOSE": "true"},
            startup_timeout=20,
            cwd="/data",
        ),
        "Remote docs": remote(headers={"X-Team": "docs", "Authorization": "Bearer secret DOCS_KEY"}),
    }


def goose(_home: str, _project: str) -> Servers:
    return {
        "fetch": ServerConfig(
            command="uvx",
            args=["mcp-server-fetch", "${literal}"],
            env={"REGION": "eu", "FETCH_TOKEN": "secret FETCH_TOKEN"},
            timeout=120,
            tool_filters=["fetch"],
        ),
        "remote": remote(
            env={"TEAM": "web", "REMOTE_TOKEN": "secret REMOTE_TOKEN"},
            headers={"Authorization": "Bearer secret REMOTE_TOKEN", "X-Team": "web"},
        ),
        "off": ServerConfig(command="off-server", disabled=True),
    }


def lm_studio(_home: str, _project: str) -> Servers:
    return {
        "hf": remote(headers={"Authorization": "Bearer fake-${token}"}),
        "time": ServerConfig(command="uvx", args=["mcp-server-time"]),
    }


def opencode(home: str, _project: str) -> Servers:
    return {
        "jira": ServerConfig(
            command="bun",
            args=["x", "jira-server"],
            env={"TOKEN": "value of JIRA_TOKEN", "KEY": "key in a file"},
            startup_timeout=10,
            tool_filters=["!delete*"],
        ),
        "local": ServerConfig(command="local-server", tool_filters=[]),
        "remote": remote(
            headers={"Authorization": "Bearer ${REMOTE_TOKEN}", "X-Literal": "${x}"},
            oauth=OAuthConfig(client_id="opencode", scopes="tools:read tools:write"),
            disabled=True,
        ),
        "open": remote("https://open.example.com/mcp"),
    }


def kiro(_home: str, _project: str) -> Servers:
    return {
        "aws-docs": ServerConfig(
            command="uvx",
            args=["awslabs.aws-documentation-mcp-server@latest"],
            env={"FASTMCP_LOG_LEVEL": "value of LOG_LEVEL"},
            tool_filters=["!recommend"],
            timeout=60,
        ),
        "remote": remote(headers={"X": "y"}, oauth=OAuthConfig(scopes=["a", "b"])),
    }


def amp(_home: str, _project: str) -> Servers:
    return {
        "playwright": ServerConfig(
            command="npx",
            args=["-y", "@playwright/mcp@latest", "--headless"],
            tool_filters=["browser_*", "!browser_close"],
        ),
        "linear": remote(
            "https://mcp.linear.example/mcp", headers={"Authorization": "Bearer value of LINEAR_TOKEN"}
        ),
        "bad": ServerConfig(command="rejected-server", disabled=True),
    }


def junie(_home: str, _project: str) -> Servers:
    return {
        "context7": ServerConfig(command="npx", args=["-y", "@upstash/context7-mcp"], env={"KEY": "fake"}),
        "off": ServerConfig(command="off-server", disabled=True),
    }


def crush(_home: str, _project: str) -> Servers:
    return {
        "filesystem": ServerConfig(
            command="node",
            args=["/srv/fs.js"],
            env={"TOKEN": "value of FS_TOKEN"},
            timeout=120,
            tool_filters=["!write_file"],
        ),
        "github": remote(
            "https://api.githubcopilot.com/mcp/", headers={"Authorization": "Bearer value of GH_PAT"}
        ),
    }


def amazon_q(_home: str, _project: str) -> Servers:
    return {
        "git": ServerConfig(
            command="git-server", env={"TOKEN": "value of GIT_TOKEN"}, timeout=120, tool_filters=["!push"]
        ),
        "docs": ServerConfig(command="docs-server", tool_filters=["search"]),
        "unused": remote(disabled=True),
    }


VARIABLES = (
    *("API_KEY", "CURSOR_SECRET", "CURSOR_TOKEN", "FIGMA_TOKEN", "FS_TOKEN", "GH_PAT", "GITHUB_TOKEN"),
    *("GIT_TOKEN", "JIRA_TOKEN", "LINEAR_TOKEN", "LOG_LEVEL", "ROO_TOKEN", "TOKEN", "USER_NAME"),
    *("WEATHER_KEY", "dsn", "figma_team", "lower_case"),
)
ENVIRON = {name: f"value of {name}" for name in VARIABLES}

CODE = "~/.config/Code/User"
EXAMPLES: dict[str, tuple[dict[str, str], Callable[[str, str], Servers], dict[str, str]]] = {
    "claude-desktop": (
        {"claude-desktop.json": "~/.config/Claude/claude_desktop_config.json"},
        claude_desktop,
        {},
    ),
    "claude-code": (
        {"claude-code.json": "~/.claude.json", "claude-code-project.json": ".mcp.json"},
        claude_code,
        {},
    ),
    "cursor": ({"cursor.json": ".cursor/mcp.json"}, cursor, {}),
    "vscode": ({"vscode.json": ".vscode/mcp.json"}, vscode, {"caged": "sandboxEnabled: limits the server"}),
    "vscode-insiders": (
        {"vscode.json": ".vscode/mcp.json"},
        vscode,
        {"caged": "sandboxEnabled: limits the server"},
    ),
    "copilot-cli": ({"copilot-cli.json": "~/.copilot/mcp-config.json"}, copilot_cli, {}),
    "windsurf": ({"windsurf.json": "~/.codeium/windsurf/mcp_config.json"}, windsurf, {}),
    "codex": ({"codex.toml": "~/.codex/config.toml"}, codex, {}),
    "gemini-cli": ({"gemini-cli.json": "~/.gemini/settings.json"}, gemini_cli, {}),
    "antigravity": ({"antigravity.json": "~/.gemini/antigravity/mcp_config.json"}, antigravity, {}),
    "zed": ({"zed.json": "~/.config/zed/settings.json"}, zed, {}),
    "cline": (
        {"cline.json": f"{CODE}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
        cline,
        {},
    ),
    "roo-code": ({"roo-code.json": ".roo/mcp.json"}, roo_code, {}),
    "continue": ({"continue.yaml": "~/.continue/config.yaml"}, continue_, {}),
    "goose": ({"goose.yaml": "~/.config/goose/config.yaml"}, goose, {}),
    "lm-studio": ({"lm-studio.json": "~/.lmstudio/mcp.json"}, lm_studio, {}),
    "opencode": ({"opencode.jsonc": "~/.config/opencode/opencode.jsonc"}, opencode, {}),
    "kiro": ({"kiro.json": "~/.kiro/settings/mcp.json"}, kiro, {}),
    "amp": ({"amp.json": "~/.config/amp/settings.json"}, amp, {}),
    "junie": ({"junie.json": "~/.junie/mcp/mcp.json"}, junie, {}),
    "crush": (
        {"crush.json": "~/.config/crush/crush.json"},
        crush,
        {"computed": "has the output of a command in it"},
    ),
    "amazon-q": ({"amazon-q.json": "~/.aws/amazonq/agents/default.json"}, amazon_q, {}),
}
"""For each client: the example files and where they go, the servers in them, and why some are refused."""


def test_every_client_that_has_a_file_has_an_example() -> None:
    assert set(EXAMPLES) == {client.id for client in CLIENTS if client.files}


@pytest.mark.parametrize("client", EXAMPLES)
def test_the_servers_of_a_client_load_with_the_meaning_that_they_have_there(
    tmp_path: Path, client: str
) -> None:
    files, expected, refused = EXAMPLES[client]
    place = make_place(tmp_path, ENVIRON)
    for example, path in files.items():
        place.put_example(example, path)
    place.put("server.env", "FROM_FILE=yes\n")
    place.put("~/.config/opencode/jira.key", "key in a file\n")
    converted = place.converted(client)
    fine = {name: server for name, server in converted.items() if not server.refusals}
    assert {name: place.loaded(server, ENVIRON) for name, server in fine.items()} == expected(
        place.machine.home, place.machine.directory
    )
    reasons = {name: server.refusals for name, server in converted.items() if server.refusals}
    assert {name: len(texts) for name, texts in reasons.items()} == dict.fromkeys(refused, 1)
    assert all(reasons[name][0].startswith(start) for name, start in refused.items())
