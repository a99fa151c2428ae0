"""Parses the file of a client, or says why it cannot be read. Nothing of the file is quoted."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from mcp_workbench.config.documents import open_document
from mcp_workbench.errors import DocumentError

if TYPE_CHECKING:
    from mcp_workbench.config.documents import Format

MAX_FILE_BYTES = 16 * 1024 * 1024
"""Size of the largest file that is read. Files of clients are small; some grow to a few MiB."""


class UnreadableFile(Exception):
    """A file of a client cannot be read; the text says why, and quotes nothing of it."""


def parse_file(path: str, form: Format) -> dict[str, object]:
    """Return the content of a file as plain data. Raises UnreadableFile."""
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise UnreadableFile("this is a directory")
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFile("this is not a regular file")
        with open(path, "rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        if os.path.islink(path):
            raise UnreadableFile("this is a link to a file that does not exist") from None
        raise UnreadableFile("there is no such file") from None
    except (OSError, ValueError) as error:
        raise UnreadableFile(getattr(error, "strerror", None) or "the path is not valid") from None
    if len(content) > MAX_FILE_BYTES:
        raise UnreadableFile(f"the file is larger than {MAX_FILE_BYTES // 2**20} MiB")
    try:
        return open_document(form, content).data
    except DocumentError as error:
        raise UnreadableFile(str(error)) from None
    except RecursionError:
        raise UnreadableFile("the file is nested too deeply") from None
