"""`mcp-workbench schema`: prints the JSON Schema of the configuration file."""

from __future__ import annotations

import json

from mcp_workbench.config.schema import json_schema


def run() -> int:
    """Print the JSON Schema of the configuration file, and return 0."""
    print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
    return 0
