"""The options of the commands that set up the workbench, gathered from the modules beside this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_workbench.cli.setup import editing_options, import_options, secret_options
from mcp_workbench.cli.setup.clients import client_options

if TYPE_CHECKING:
    import argparse


def add_commands(commands: argparse._SubParsersAction[Any], shared: argparse.ArgumentParser) -> None:
    """Add the commands that set up the workbench to the command line."""
    import_options.add_options(commands, shared)
    client_options.add_options(commands, shared)
    editing_options.add_options(commands, shared)
    secret_options.add_options(commands, shared)
