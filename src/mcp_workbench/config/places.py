"""Where the configuration file is: the places that are looked at, in order, and the user's home."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VARIABLE: Final = "WORKBENCH_CONFIG"
"""The environment variable with the path of the configuration file."""
FILE_NAME: Final = "workbench-config.json"
"""The usual name of the configuration file."""
DIRECTORY_NAME: Final = "mcp-workbench"
"""Name of the workbench's own directory inside the user's configuration directory."""


def locate(option: str | None, environ: Mapping[str, str]) -> str:
    """Return the path of the configuration file, whether it exists or not.

    The first of these counts: `--config`, `$WORKBENCH_CONFIG`, `./workbench-config.json` if it is there, and
    the user's own file in the configuration directory of the system.
    """
    named = option or environ.get(VARIABLE)
    if named:
        # Clients start the workbench without a shell, so that a `~` in their settings is still there.
        return os.path.expanduser(named)
    return FILE_NAME if os.path.lexists(FILE_NAME) else personal_file(environ)


def config_option(words: Sequence[str]) -> str | None:
    """Return the path that `--config` has among the words of a command line; None if it is not there."""
    for at, word in enumerate(words):
        if word == "--config" and at + 1 < len(words):
            return words[at + 1]
        if word.startswith("--config="):
            return word.partition("=")[2]
    return None


def home_directory(environ: Mapping[str, str]) -> str:
    """Return the home directory of the current user, as the environment has it."""
    variable = "USERPROFILE" if sys.platform == "win32" else "HOME"
    return environ.get(variable) or os.path.expanduser("~")


def personal_file(environ: Mapping[str, str]) -> str:
    """Return the path of the user's own configuration file; `./workbench-config.json` without a home."""
    directory = configuration_directory(environ)
    return FILE_NAME if directory is None else os.path.join(directory, FILE_NAME)


def configuration_directory(environ: Mapping[str, str]) -> str | None:
    """Return the workbench's directory among the user's settings; None for a user without a home."""
    home = home_directory(environ)
    if not os.path.isabs(home):
        return None
    if sys.platform == "darwin":
        base = os.path.join(home, "Library", "Application Support")
    elif sys.platform == "win32":
        base = environ.get("APPDATA") or os.path.join(home, "AppData", "Roaming")
    else:
        # The specification says to ignore a relative path.
        configured = environ.get("XDG_CONFIG_HOME", "")
        base = configured if os.path.isabs(configured) else os.path.join(home, ".config")
    return os.path.join(base, DIRECTORY_NAME)
