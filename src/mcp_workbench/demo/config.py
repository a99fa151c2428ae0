"""The configuration of the demo: two toolboxes, each with a modern and a legacy server."""

from __future__ import annotations

import sys
from typing import Any

from mcp_workbench.demo.servers import notes, stats, text, units

__all__ = ["configuration", "definitions"]


def configuration() -> dict[str, Any]:
    """Return the content of the demo's `workbench-config.json`."""
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
    """Return the definitions of all tools, as a client would list them that has the four servers itself."""
    servers = (text.SERVER, notes.server(), stats.SERVER, units.SERVER)
    return [tool.definition() for server in servers for tool in server.tools]


def _server(name: str) -> dict[str, Any]:
    return {
        "command": sys.executable,
        # -P: a json.py in the current directory must not be imported in place of the real one.
        "args": ["-P", "-m", f"mcp_workbench.demo.servers.{name}"],
        # The interpreter finds the package by the same variables as this one.
        "inheritEnv": ["PYTHON*"],
    }
