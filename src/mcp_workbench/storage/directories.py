"""The directories in which the workbench keeps files for the current user: one for caches, one for data."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from mcp_workbench.config.places import home_directory

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME: Final = "mcp-workbench"
"""Name of the workbench's own directory inside the user's cache and data directories."""


def cache_directory(environ: Mapping[str, str]) -> str:
    """Return the directory for files that can be made again: the catalogue, vectors and kept results."""
    mac = ("Library", "Caches", NAME)
    return _directory(environ, "XDG_CACHE_HOME", (".cache", NAME), mac, (NAME, "Cache"))


def data_directory(environ: Mapping[str, str]) -> str:
    """Return the directory for files that must not be lost: logins and the last use of tokens."""
    mac = ("Library", "Application Support", NAME)
    return _directory(environ, "XDG_DATA_HOME", (".local", "share", NAME), mac, (NAME,))


def _directory(
    environ: Mapping[str, str],
    variable: str,
    linux: tuple[str, ...],
    mac: tuple[str, ...],
    windows: tuple[str, ...],
) -> str:
    """Return a directory below `variable` if it is set, else where the platform keeps such files."""
    if configured := environ.get(variable):
        return os.path.join(configured, NAME)
    home = home_directory(environ)
    if not os.path.isabs(home):
        # A user without a home directory, as in some containers: nothing can be written, so nothing is kept.
        return os.devnull
    if sys.platform == "win32":
        local = environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
        return os.path.join(local, *windows)
    return os.path.join(home, *(mac if sys.platform == "darwin" else linux))
