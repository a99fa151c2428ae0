"""Kinds of stderr that a program may be started with, and that most are not written for."""

from __future__ import annotations

import re
import sys

_READER_GONE = "import os; r, w = os.pipe(); os.dup2(w, 2); os.close(r); os.close(w)"
_FULL = """
import os
r, w = os.pipe()
os.set_blocking(w, False)
try:
    while True:
        os.write(w, b"x" * 4096)
except BlockingIOError:
    pass
os.set_blocking(w, BLOCKING)
os.dup2(w, 2)
os.close(w)
os.set_inheritable(r, True)
"""

KINDS = {
    "given": "",
    "closed": "import os; os.close(2)",
    "full device": "import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 2)",
    "reader gone": _READER_GONE,
    "full pipe": _FULL.replace("BLOCKING", "True"),
    "full pipe that does not block": _FULL.replace("BLOCKING", "False"),
    "pipe that does not block": "import os; os.set_blocking(2, False)",
    "same as stdout": "import os; os.dup2(1, 2)",
}
"""What makes a process's stderr so, just before the program is run in its place."""


def with_stderr(kind: str, command: list[str]) -> list[str]:
    """The command with such a stderr."""
    become = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-S", "-c", f"{KINDS[kind]}\n{become}", *command]


_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d (?=mcp-workbench: )", re.MULTILINE)


def without_times(log: str) -> str:
    """The lines of a log without their times."""
    return _TIME.sub("", log)
