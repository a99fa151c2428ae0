"""A program that changes a file again and again, and is killed at another step each time.

    python killed_at.py DIRECTORY OLD NEW

A step is a call of the operating system, before it or after it. The children are forked, because starting
Python takes a hundred times as long. Prints one JSON object: what was found after each kill.
"""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_workbench.setup.file_changes import FileChange, apply
from mcp_workbench.storage.backups import Backups

if TYPE_CHECKING:
    from types import FrameType

KILLED = 9
SYSTEM_MODULES = ("posix", "fcntl", "_io")


class Killer:
    """Ends the process at a step, counted from 0. Counts on if there are fewer steps."""

    def __init__(self, last: int) -> None:
        self.left = last

    def __call__(self, _frame: FrameType, event: str, function: Any) -> None:
        if event not in ("c_call", "c_return") or function is os._exit:
            return
        is_file = isinstance(getattr(function, "__self__", None), io.IOBase)
        if is_file or getattr(function, "__module__", None) in SYSTEM_MODULES:
            if self.left == 0:
                os._exit(KILLED)
            self.left -= 1


def main(directory: Path, old: bytes, new: bytes) -> None:
    outcomes = []
    step = 0
    while True:
        home = directory / str(step)
        home.mkdir()
        file = home / "mcp.json"
        file.write_bytes(old)
        environ = {"XDG_DATA_HOME": str(home / "data")}
        child = os.fork()
        if child == 0:
            sys.setprofile(Killer(step))
            apply(FileChange(str(file), old, new), environ, subject="cursor")
            sys.setprofile(None)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        backups = Backups(environ)
        saved = [backups.content(record) for record in backups.records()]
        content = file.read_bytes()
        outcomes.append([content.decode(), [(data or b"").decode() for data in saved]])
        # The next command works, and leaves nothing of the killed one behind.
        apply(FileChange(str(file), content, b"next"), environ, subject="cursor")
        left = sorted(path.name for path in home.iterdir())
        if left != ["data", "mcp.json"]:
            raise SystemExit(f"left behind after step {step}: {left}")
        if code != KILLED:
            break
        step += 1
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2].encode(), sys.argv[3].encode())
