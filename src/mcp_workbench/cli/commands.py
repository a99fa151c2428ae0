"""The commands of the command line, and the module of each, which is imported when the command runs.

Each module has `run`, which takes the options of the command and returns its exit code.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import argparse

MODULES: Final[dict[str, str]] = {
    "add": "setup.add",
    "approvals": "trust.approvals",
    "call": "shell.call",
    "check": "inspection.check",
    "completion": "completion.scripts",
    "demo": "demo",
    "disable": "setup.edit",
    "doctor": "doctor.command",
    "enable": "setup.edit",
    "import": "setup.import_",
    "index": "inspection.index",
    "install": "setup.clients.install",
    "list": "setup.listing",
    "lock": "trust.lock",
    "log": "audit.log",
    "login": "access.login",
    "logout": "access.login",
    "move": "setup.edit",
    "remove": "setup.edit",
    "review": "trust.review",
    "scan": "scanning.scan",
    "schema": "schema",
    "secret": "setup.secret",
    "serve": "serve",
    "token": "access.token",
    "tokens": "inspection.tokens",
    "tools": "shell.tools",
    "undo": "setup.clients.undo",
    "uninstall": "setup.clients.uninstall",
}


def run(options: argparse.Namespace) -> int:
    """Run a command, and return its exit code."""
    module = import_module(f"mcp_workbench.cli.{MODULES[options.command]}")
    code: int = module.run(options)
    return code
