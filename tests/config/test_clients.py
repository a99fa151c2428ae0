"""Entries as people have them in their clients' files load as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.config import OAuthConfig, ServerConfig
from tests.config.loading import load_content

if TYPE_CHECKING:
    from pathlib import Path

FS = "toolboxes.dev.mcpServers"


def load_servers(
    directory: Path, servers: object, **environ: str
) -> tuple[dict[str, ServerConfig], tuple[str, ...]]:
    tree = {"toolboxes": {"dev": {"description": "Copied", "mcpServers": servers}}}
    loaded = load_content(directory, tree, environ)
    return loaded.config.toolboxes["dev"].servers, loaded.warnings


def test_entries_of_claude_desktop_load(tmp_path: Path) -> None:
    servers = {
        "filesystem": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/ada/Desktop"],
        },
        "github": {
            "command": "docker",
            "args": ["run", "-i", "--rm", "-e", "GITHUB_TOKEN", "ghcr.io/github/github-mcp-server"],
            "env": {"GITHUB_TOKEN": "<YOUR_TOKEN>"},
        },
    }
    expected = {
        "filesystem": ServerConfig(
            command="npx", args=["-y", "@modelcontextprotocol/server-filesystem", "/Users/ada/Desktop"]
        ),
        "github": ServerConfig(
            command="docker",
            args=["run", "-i", "--rm", "-e", "GITHUB_TOKEN", "ghcr.io/github/github-mcp-server"],
            env={"GITHUB_TOKEN": "<YOUR_TOKEN>"},
        ),
    }
    assert load_servers(tmp_path, servers) == (expected, ())


def test_entries_of_claude_code_load(tmp_path: Path) -> None:
    servers = {
        "database": {"type": "stdio", "command": "/opt/db-server", "args": ["--dsn", "${DSN}"], "env": {}},
        "api": {
            "type": "http",
            "url": "${API_BASE_URL:-https://api.example.com}/mcp",
            "headers": {"Authorization": "Bearer ${API_KEY}"},
        },
        "events": {"type": "sse", "url": "https://mcp.example.com/sse"},
    }
    expected = {
        "database": ServerConfig(command="/opt/db-server", args=["--dsn", "postgres://db"]),
        "api": ServerConfig(
            url="https://api.example.com/mcp", headers={"Authorization": "Bearer abc"}, transport="http"
        ),
        "events": ServerConfig(url="https://mcp.example.com/sse", transport="sse"),
    }
    assert load_servers(tmp_path, servers, DSN="postgres://db", API_KEY="abc") == (expected, ())


def test_entries_of_cursor_load(tmp_path: Path) -> None:
    servers = {
        "local": {"command": "python", "args": ["mcp-server.py"], "env": {"API_KEY": "value"}},
        "remote": {
            "url": "http://localhost:3000/mcp",
            "headers": {"API_KEY": "value"},
            "auth": {"CLIENT_ID": "id", "scopes": ["read"]},
        },
    }
    expected = {
        "local": ServerConfig(command="python", args=["mcp-server.py"], env={"API_KEY": "value"}),
        "remote": ServerConfig(
            url="http://localhost:3000/mcp",
            headers={"API_KEY": "value"},
            transport="http",
            oauth=OAuthConfig(client_id="id", scopes=["read"]),
        ),
    }
    assert load_servers(tmp_path, servers) == (expected, ())


def test_entries_of_vs_code_load(tmp_path: Path) -> None:
    servers = {
        "playwright": {
            "type": "stdio",
            "command": "npx",
            "args": ["-y", "@microsoft/mcp-server-playwright"],
            "env": {"PORT": 8931, "DEBUG": None},
            "envFile": ".env",
            "dev": {"watch": "src/**/*.ts", "debug": {"type": "node"}},
            "gallery": True,
            "version": "1.0.0",
        },
        "github": {"type": "http", "url": "https://api.githubcopilot.com/mcp"},
    }
    expected = {
        "playwright": ServerConfig(
            command="npx",
            args=["-y", "@microsoft/mcp-server-playwright"],
            env={"BROWSER": "firefox", "PORT": "8931"},
            env_file=".env",
        ),
        "github": ServerConfig(url="https://api.githubcopilot.com/mcp", transport="http"),
    }
    (tmp_path / ".env").write_text("BROWSER=firefox\nPORT=1\nDEBUG=*\n", encoding="utf-8")
    ignored = "the workbench does not use these keys, and ignores them: dev, gallery, version"
    warnings = (f"{FS}.playwright: {ignored}",)
    assert load_servers(tmp_path, servers) == (expected, warnings)
