"""The configuration that the demo serves: two toolboxes of two servers each, one of each era."""

from __future__ import annotations

import sys
from typing import Any

from mcp_workbench.demo.servers import notes, stats, text, units

__all__ = ["configuration", "definitions"]


def configuration() -> dict[str, Any]:
    """What a person would have written into `workbench-config.json`."""
    return {
        "toolboxes": {
            "writing": {
                "description": "Measure and outline text, keep notes",
                "mcpServers": {"text": _server("text"), "notes": _server("notes")},
            },
            "numbers": {
                "description": "Describe lists of numbers, convert units",
                "mcpServers": {"stats": _server("stats"), "units": _server("units")},
            },
        }
    }


def definitions() -> list[dict[str, Any]]:
    """Every tool behind it, as a client would list them if it had all four servers itself."""
    servers = (text.SERVER, notes.server(), stats.SERVER, units.SERVER)
    return [tool.definition() for server in servers for tool in server.tools]


def _server(name: str) -> dict[str, Any]:
    return {
        "command": sys.executable,
        # -P: a file called json.py in the current directory must not become ours.
        "args": ["-P", "-m", f"mcp_workbench.demo.servers.{name}"],
        # The same interpreter has to find the same package, however this one was told where it is.
        "inheritEnv": ["PYTHON*"],
    }
