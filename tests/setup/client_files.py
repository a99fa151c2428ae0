"""A file of each client as a person may have it, with servers, comments and settings of other kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.config.clients import CLIENTS, Machine

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_workbench.config.clients import Client

WITH_FILES = [client for client in CLIENTS if client.files]

JSON_SERVERS = """\
{
  "mcpServers": {
    "github": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-github"],
      "env": { "GITHUB_TOKEN": "ghp_0123456789abcdefghijklmnopqrstuvwxyz" }
    },
    "docs": { "url": "https://docs.example.com/mcp", "headers": { "X-Team": "tools" } }
  }
}
"""

VS_CODE = """\
{
\t// my servers
\t"servers": {
\t\t"fetch": { "type": "stdio", "command": "uvx", "args": ["mcp-server-fetch"] }, // the web
\t\t"db": { "command": "npx", "args": ["-y", "db"], "env": { "PASSWORD": "${input:db}" } },
\t},
\t"inputs": [{ "type": "promptString", "id": "db", "description": "Password", "password": true }],
}
"""

CODEX = """\
model = "gpt-5" # the usual one
approval_policy = "on-request"

[mcp_servers.fetch]
command = "uvx"
args = ["mcp-server-fetch"] # the web
enabled_tools = ["fetch"]

[mcp_servers.fetch.env]
LEVEL = "debug"

[profiles.deep]
model = "gpt-5-pro"
"""

ZED = """\
// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "fetch": { "source": "custom", "enabled": true, "command": "uvx", "args": ["mcp-fetch"], "env": {} }
  },
  "vim_mode": true
}
"""

CONTINUE = """\
name: Local Config
version: 1.0.0
schema: v1
models:
  - name: Sonnet # the usual one
    provider: anthropic
mcpServers:
  # the web
  - name: fetch
    command: uvx
    args:
      - mcp-server-fetch
"""

GOOSE = """\
GOOSE_PROVIDER: anthropic
extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    type: builtin
  fetch: # the web
    cmd: uvx
    args:
    - mcp-server-fetch
    enabled: true
    envs: {}
    name: fetch
    timeout: 300
    type: stdio
"""

OPENCODE = """\
{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "fetch": { "type": "local", "command": ["uvx", "mcp-server-fetch"], "environment": { "A": "b" } }, // web
    "docs": { "type": "remote", "url": "https://docs.example.com/mcp", "enabled": false }
  }
}
"""

CONTENTS = {
    "claude-code": '{\n  "numStartups": 3,\n'
    + JSON_SERVERS[2:-2]
    + ',\n  "projects": {"/x": {"mcpServers": {}}}\n}\n',
    "vscode": VS_CODE,
    "vscode-insiders": VS_CODE,
    "codex": CODEX,
    "gemini-cli": '{"theme": "Dark", "mcpServers": {"a": {"httpUrl": "https://a.example", "timeout": 500}}}',
    "zed": ZED,
    "continue": CONTINUE,
    "goose": GOOSE,
    "opencode": OPENCODE,
    "amp": '{\n    "amp.mcpServers": {\n        "a": { "command": "npx" }\n    },\n    "amp.url": "x"\n}\n',
    "crush": '{\n  "mcp": { "a": { "type": "stdio", "command": "npx", "args": ["a"] } }\n}\n',
}
"""The file of each client; those that are not named have `JSON_SERVERS`."""


def content_of(client: Client) -> bytes:
    """What the file of a client holds."""
    return CONTENTS.get(client.id, JSON_SERVERS).encode()


def machine_in(directory: Path) -> Machine:
    """A Linux machine with an empty home, which keeps its data there too."""
    for name in ("home", "project"):
        (directory / name).mkdir(exist_ok=True)
    environ = {"HOME": f"{directory}/home", "PATH": "/usr/bin:/bin", "XDG_DATA_HOME": f"{directory}/data"}
    return Machine("linux", f"{directory}/home", f"{directory}/project", environ)
