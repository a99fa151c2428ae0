"""`mcp-workbench schema`: prints the JSON Schema of the configuration file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcp_workbench.config.schema import json_schema

if TYPE_CHECKING:
    import argparse


def run(_options: argparse.Namespace) -> int:
    """Print the JSON Schema of the configuration file, and return 0."""
    print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
    return 0
