"""Homes of people with several MCP clients, in a temporary directory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcp_workbench.config.clients import Machine, find_files, read_file
from mcp_workbench.setup.importing.plan import ImportPlan, execute, plan_import
from mcp_workbench.storage.secret_lookup import secret_lookup
from mcp_workbench.storage.secrets import SecretStore
from tests.support.client import clean_environment

if TYPE_CHECKING:
    from pathlib import Path

GITHUB_TOKEN = "ghp_" + "a1B2c3" * 6
LINEAR_KEY = "lin_api_" + "Zx9Yw8Vu" * 5
NPX_GITHUB = {
    "command": "npx",
    "args": ["-y", "@modelcontextprotocol/server-github"],
    "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": GITHUB_TOKEN},
}

CLAUDE_DESKTOP = {
    "globalShortcut": "",
    "mcpServers": {
        "filesystem": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv/notes"],
        },
        "github": NPX_GITHUB,
    },
}
CLAUDE_CODE = {
    "numStartups": 7,
    "mcpServers": {
        "gh": {**NPX_GITHUB, "type": "stdio"},
        "sentry": {"type": "http", "url": "https://mcp.sentry.dev/mcp"},
    },
}
CURSOR = {
    "mcpServers": {
        "linear": {"url": "https://mcp.linear.app/mcp", "headers": {"Authorization": f"Bearer {LINEAR_KEY}"}},
        "fetch": {"command": "uvx", "args": ["mcp-server-fetch"]},
    }
}
VSCODE = """{
  // asked for once, and kept by the editor
  "inputs": [
    {
      "type": "promptString", "id": "pg-password",
      "description": "Password of the database", "password": true
    }
  ],
  "servers": {
    "postgres": {
      "type": "stdio",
      "command": "uvx",
      "args": ["postgres-mcp"],
      "env": { "PGPASSWORD": "${input:pg-password}" },
    },
  },
}
"""
CODEX = """\
model = "best"

[mcp_servers.fetch]
command = "uvx"
args = ["mcp-server-fetch"]
startup_timeout_sec = 90

[mcp_servers.context7]
command = "npx"
args = ["-y", "@upstash/context7-mcp"]
enabled_tools = ["query-docs"]
"""
ZED = """{
  "theme": "One",
  "context_servers": {
    "slack": {
      "source": "custom", "command": "npx", "args": ["-y", "slack-mcp"], "env": {}, "enabled": false
    }
  }
}
"""


class Home:
    """A home and a project in a directory, and the import into the person's own configuration."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "home"
        self.project = directory / "work" / "shop"
        self.project.mkdir(parents=True)
        self.path.mkdir()
        self.environ = clean_environment(self.path, {"XDG_DATA_HOME": str(self.path / "data")})
        self.config = self.path / "workbench-config.json"

    @property
    def machine(self) -> Machine:
        return Machine("linux", str(self.path), str(self.project), self.environ)

    def write(self, path: str, content: str | dict[str, Any]) -> Path:
        """Write a file of the home, or of the project if the path starts with `project/`."""
        file = self.project / path[8:] if path.startswith("project/") else self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        return file

    def write_six_clients(self) -> None:
        """Write the files of six clients, with servers that they share and servers that only one has."""
        self.write(".config/Claude/claude_desktop_config.json", CLAUDE_DESKTOP)
        self.write(".claude.json", CLAUDE_CODE)
        self.write(".cursor/mcp.json", CURSOR)
        self.write(".config/Code/User/mcp.json", VSCODE)
        self.write(".codex/config.toml", CODEX)
        self.write(".config/zed/settings.json", ZED)

    def plan(self, *paths: Path, toolbox: str | None = None, keep_literals: bool = False) -> ImportPlan:
        """Plan the import of all clients, or of these files."""
        files = [read_file(str(path), None, self.machine) for path in paths] or find_files(self.machine)
        lookup = secret_lookup(self.environ)
        config = str(self.config)
        return plan_import(files, config, self.machine, lookup, toolbox=toolbox, keep_literals=keep_literals)

    def run(self, *paths: Path, toolbox: str | None = None, **answers: str) -> ImportPlan:
        """Import, and return the plan that was executed."""
        plan = self.plan(*paths, toolbox=toolbox)
        execute(plan, self.environ, self.store, answers)
        return plan

    @property
    def store(self) -> SecretStore:
        return SecretStore(self.environ)

    @property
    def written(self) -> dict[str, Any]:
        """The toolboxes of the configuration."""
        toolboxes: dict[str, Any] = json.loads(self.config.read_text())["toolboxes"]
        return toolboxes

    @property
    def servers(self) -> dict[str, Any]:
        """The entries of the configuration by toolbox and name."""
        return {
            f"{box}/{name}": entry
            for box, toolbox in self.written.items()
            for name, entry in toolbox["mcpServers"].items()
        }

    def snapshot(self) -> dict[str, bytes | str]:
        """Every file below the directory with its bytes, and every link with its target."""
        root = self.path.parent
        return {
            str(path.relative_to(root)): str(path.readlink()) if path.is_symlink() else path.read_bytes()
            for path in sorted(root.rglob("*"))
            if path.is_symlink() or path.is_file()
        }
