"""Acts as an ordinary user for a while, so that tests about permissions mean something for root too."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = 65534


@contextlib.contextmanager
def ordinary_user() -> Iterator[Path]:
    """Yields a directory of a user who is not root; until the end, this process acts as that user.

    What is used inside has to be imported before: the files of Python may be for root only.
    """
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        if sys.platform != "linux" or os.geteuid() != 0:
            yield directory
            return
        os.chown(directory, NOBODY, NOBODY)
        groups = os.getgroups()
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, 0)
        os.setresuid(NOBODY, NOBODY, 0)
        try:
            yield directory
        finally:
            os.setresuid(0, 0, 0)
            os.setresgid(0, 0, 0)
            os.setgroups(groups)
