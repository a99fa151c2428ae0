"""The commands that set up the workbench: import, install, undo, editing the configuration, and secrets.

Each command has a module with `run`, and a light module beside it with its options, because the options of
all commands are built for every help text.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import argparse

__all__ = ["MODULES", "run"]

MODULES: Final[dict[str, str]] = {
    "add": "add",
    "disable": "edit",
    "enable": "edit",
    "import": "import_",
    "install": "clients.install",
    "list": "listing",
    "move": "edit",
    "remove": "edit",
    "secret": "secret",
    "undo": "clients.undo",
    "uninstall": "clients.uninstall",
}
"""The module of each command, which is imported when the command runs."""


def run(options: argparse.Namespace) -> int:
    """Run a command of this package, and return its exit code."""
    module = import_module(f"mcp_workbench.cli.setup.{MODULES[options.command]}")
    code: int = module.run(options)
    return code
