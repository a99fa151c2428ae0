"""Lets permissions bind whoever runs the tests, so that tests about them mean something for root too."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NOBODY = 65534

_WITHOUT_OVERRIDE = """
import ctypes, os, sys
for capability in (1, 2):  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
    assert ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP
os.execv(sys.argv[1], sys.argv[1:])
"""


def bound_by_modes(command: Sequence[str]) -> list[str]:
    """Returns the command of a process that the modes of files bind, also if root starts it (on Linux)."""
    if os.geteuid() != 0:
        return list(command)
    return [sys.executable, "-c", _WITHOUT_OVERRIDE, *command]


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
