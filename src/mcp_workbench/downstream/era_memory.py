"""Which era each server spoke last time, kept in the user's cache directory.

It only saves time: a memory that is missing, damaged, wrong or impossible to write costs a probe.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

Era = Literal["legacy", "2026-07-28"]


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Where this user's programs keep what they can make again."""
    if configured := environ.get("XDG_CACHE_HOME"):
        return Path(configured) / "mcp-workbench"
    try:
        home = Path.home()
    except RuntimeError:
        # A user without a home, as in some containers: nothing can be written there, so nothing is kept.
        return Path(os.devnull)
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData/Local") / "mcp-workbench/Cache"
    if sys.platform == "darwin":
        return home / "Library/Caches/mcp-workbench"
    return home / ".cache/mcp-workbench"


class EraMemory:
    """One small file for each server configuration, so that processes never write over each other."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "eras"

    def recall(self, identity: str) -> Era | None:
        """The era remembered for a configuration, if any."""
        try:
            text = self._file(identity).read_text("ascii").strip()
        except (OSError, ValueError):
            return None
        return next((era for era in get_args(Era) if era == text), None)

    def remember(self, identity: str, era: Era) -> None:
        """Keeps the era for the next start."""
        file = self._file(identity)
        draft = file.with_suffix(f".{os.getpid()}")
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            draft.write_text(era, "ascii")
            draft.replace(file)
        except OSError:
            return

    def forget(self, identity: str) -> None:
        """Drops what proved wrong."""
        try:
            self._file(identity).unlink(missing_ok=True)
        except OSError:
            return

    def _file(self, identity: str) -> Path:
        import hashlib  # noqa: PLC0415 - only needed once a server starts, and it loads OpenSSL

        return self._directory / hashlib.sha256(identity.encode()).hexdigest()[:32]
