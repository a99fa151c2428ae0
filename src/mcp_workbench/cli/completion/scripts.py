"""`mcp-workbench completion`: prints the completion script of a shell."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Print the script. Return 0."""
    script = files("mcp_workbench.cli.completion").joinpath(f"completion.{options.shell}")
    print(script.read_text(encoding="utf-8"), end="")
    return 0
