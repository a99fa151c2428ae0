"""Which era each server spoke last time, kept in the user's cache directory.

It only saves time: a memory that is missing, damaged, wrong or impossible to write costs a probe.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.errors import StrPath

Era = Literal["legacy", "2026-07-28"]


def cache_directory(environ: Mapping[str, str]) -> str:
    """Where this user's programs keep what they can make again."""
    if configured := environ.get("XDG_CACHE_HOME"):
        return os.path.join(configured, "mcp-workbench")
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        # A user without a home, as in some containers: nothing can be written there, so nothing is kept.
        return os.devnull
    if sys.platform == "win32":
        local = environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
        return os.path.join(local, "mcp-workbench", "Cache")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", "mcp-workbench")
    return os.path.join(home, ".cache", "mcp-workbench")


class EraMemory:
    """One small file for each server configuration, so that processes never write over each other."""

    def __init__(self, directory: StrPath) -> None:
        self._directory = os.path.join(directory, "eras")

    def recall(self, identity: str) -> Era | None:
        """The era remembered for a configuration, if any."""
        try:
            with open(self._file(identity), encoding="utf-8") as file:
                text = file.read().strip()
        except (OSError, ValueError):
            return None
        return next((era for era in get_args(Era) if era == text), None)

    def remember(self, identity: str, era: Era) -> None:
        """Keeps the era for the next start."""
        path = self._file(identity)
        draft = f"{path}.{os.getpid()}"
        try:
            os.makedirs(self._directory, exist_ok=True)
            with open(draft, "w", encoding="utf-8") as file:
                file.write(era)
            os.replace(draft, path)
        except OSError:
            return

    def forget(self, identity: str) -> None:
        """Drops what proved wrong."""
        try:
            os.remove(self._file(identity))
        except OSError:
            return

    def _file(self, identity: str) -> str:
        import hashlib  # noqa: PLC0415 - only needed once a server starts, and it loads OpenSSL

        return os.path.join(self._directory, hashlib.sha256(identity.encode()).hexdigest()[:32])
