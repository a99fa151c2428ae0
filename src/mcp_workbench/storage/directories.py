"""The directories in which the workbench keeps files for the current user: one for caches, one for data."""

from __future__ import annotations

import errno
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


def explain_unusable(error: OSError, environ: Mapping[str, str]) -> str:
    """Return why a directory of ours cannot be used and what to do, without the last full stop."""
    return ". ".join(filter(None, why_unusable(error, environ)))


def why_unusable(error: OSError, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return why a directory of ours cannot be used, with its path, and what to do, without full stops.

    An error that is not about a path is returned as the system words it, and with no remedy.
    """
    from mcp_workbench.storage.open_directory import UnsafeDirectory  # noqa: PLC0415 - few directories are

    if isinstance(error, UnsafeDirectory):
        return error.what, error.remedy
    data, path = data_directory(environ), error.filename
    if data == os.devnull:
        return "there is no home directory", "Set HOME, or XDG_CACHE_HOME and XDG_DATA_HOME"
    if not isinstance(path, str):
        return error.strerror or str(error), ""
    # A file is named without its directory.
    directory = path if os.sep in path else data
    place = blocking_part(directory)
    what = "is not a directory" if error.errno == errno.ENOTDIR else f"cannot be used: {error.strerror}"
    return f"{place} {what}", remedy_for(directory, environ)


def remedy_for(directory: str, environ: Mapping[str, str]) -> str:
    """Return what to do about a directory of ours that cannot be used, without a full stop."""
    is_directory = os.path.isdir(blocking_part(directory))
    what = "Give your user all rights to it" if is_directory else "Move it away"
    is_cache = directory.startswith(cache_directory(environ))
    return f"{what}, or set {'XDG_CACHE_HOME' if is_cache else 'XDG_DATA_HOME'} to another directory"


def blocking_part(path: str) -> str:
    """Return the longest part of a path that exists, which is what is in the way of the rest."""
    while not os.path.lexists(path) and os.path.dirname(path) not in (path, ""):
        path = os.path.dirname(path)
    return path
