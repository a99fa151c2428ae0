"""Reads the lock beside a configuration for a command, or reports why it cannot be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcp_workbench.cli.configuration import report_problems
from mcp_workbench.errors import LockUnusable
from mcp_workbench.storage.trust.lock_file import lock_path, read_lock
from mcp_workbench.workbench.trust.digests import definition_digest

if TYPE_CHECKING:
    import argparse

    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.storage.trust.lock_file import Lock


class LockBeside(NamedTuple):
    """The lock beside a configuration."""

    path: str
    lock: Lock | None
    """What it approves; None if there is no such file."""


def read_lock_or_report(options: argparse.Namespace, loaded: LoadedConfig) -> LockBeside | None:
    """Return the lock beside a configuration. If it cannot be used, report its problems and return None."""
    path = lock_path(loaded.path)
    try:
        return LockBeside(path, read_lock(path, definition_digest))
    except LockUnusable as error:
        report_problems(error, options, as_json=options.json)
        return None
