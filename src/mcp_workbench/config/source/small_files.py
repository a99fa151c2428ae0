"""Reads the small text files that a configuration refers to: secrets in files, and environment files.

Owns the limits of such a file, and what is said about one that cannot be used. A file is read without the
risk to wait: a pipe or a device is refused.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from mcp_workbench.config.places import home_directory

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_FILE_BYTES: Final = 64 * 1024
"""Size of the largest file that is read."""


class UnusableFile(Exception):
    """A file that cannot be used: what is wrong with it, and what to do."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def resolve_path(path: str, directory: str, environ: Mapping[str, str]) -> str:
    """Return the path of a file that a configuration names: `~` is the home, other paths are relative.

    `directory` is that of the configuration file.
    """
    if path == "~" or path.startswith(("~/", f"~{os.sep}")):
        return home_directory(environ) + path[1:]
    return os.path.join(directory, path)


def _open(path: str, flags: int) -> int:
    # To open a pipe would otherwise wait for a writer.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_small_text(path: str) -> str:
    """Return the text of a file. Raises UnusableFile."""
    try:
        with open(path, "rb", opener=_open) as file:
            is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            data = file.read(MAX_FILE_BYTES + 1) if is_regular else b""
    except FileNotFoundError:
        raise UnusableFile("there is no such file", "Create it, or correct the path.") from None
    except IsADirectoryError:
        raise UnusableFile("it is a directory", "Name a file in it.") from None
    except PermissionError:
        raise UnusableFile(
            "it cannot be read: permission denied", "Give yourself the right to read it."
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the path is not valid"
        raise UnusableFile(f"it cannot be read: {reason}", "Check the path.") from None
    if not is_regular:
        raise UnusableFile("it is a pipe or a device, and not a file", "Name a regular file.")
    if len(data) > MAX_FILE_BYTES:
        raise UnusableFile(f"it is larger than {MAX_FILE_BYTES:,} bytes", "Name a smaller file.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnusableFile("it is not a text in UTF-8", "Save it with the encoding UTF-8.") from None
    if "\0" in text:
        raise UnusableFile("it is a binary file", "Name a text file.")
    return text
