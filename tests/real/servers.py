"""The real MCP servers of the tests, as `mcpServers` entries; `make test` installs all of them.

They are started directly, never through npx or uvx: those would cost seconds and the network.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.client import Json

NODE = Path(__file__).parents[1] / "node"


def everything() -> Json:
    return _npm_server("everything")


def memory(file: Path) -> Json:
    return {**_npm_server("memory"), "env": {"MEMORY_FILE_PATH": str(file)}}


def filesystem(root: Path) -> Json:
    return _npm_server("filesystem", str(root))


def time() -> Json:
    return _python_server("mcp_server_time", "--local-timezone", "UTC")


def git(repository: Path) -> Json:
    return _python_server("mcp_server_git", "--repository", str(repository))


def _npm_server(name: str, *args: str) -> Json:
    script = NODE / "node_modules" / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"
    if not script.exists():
        raise FileNotFoundError(f"{script} is not installed: run `make test`, which does it")
    return {"command": "node", "args": [str(script), *args]}


def _python_server(module: str, *args: str) -> Json:
    return {"command": sys.executable, "args": ["-m", module, *args]}
