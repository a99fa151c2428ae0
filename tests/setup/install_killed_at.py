"""A program that runs `install --replace` again and again, and is killed before another write each time.

    python install_killed_at.py DIRECTORY

Prints one JSON object for each kill: what the client's file and the configuration hold, and whether `undo`
restores the client's file afterwards.
"""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_workbench.cli import main as run_command

if TYPE_CHECKING:
    from types import FrameType

KILLED = 9
WRITES = frozenset(
    ("chmod", "fchmod", "fsync", "ftruncate", "mkdir", "rename", "replace", "unlink", "utime", "write")
)
"""Functions of the system that change files."""

ORIGINAL = '{\n  "mcpServers": {\n    "one": {"command": "x1"}, // c\n    "two": {"command": "x2"}\n  }\n}\n'


class Killer:
    """Ends the process before a write, counted from 0."""

    def __init__(self, last: int) -> None:
        self.left = last

    def __call__(self, _frame: FrameType, event: str, function: Any) -> None:
        is_file = isinstance(getattr(function, "__self__", None), io.FileIO | io.BufferedWriter)
        if (
            event == "c_call"
            and getattr(function, "__name__", "") in WRITES
            and (is_file or getattr(function, "__module__", "") == "posix")
        ):
            if self.left == 0:
                os._exit(KILLED)
            self.left -= 1


def run(*args: str) -> int:
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return run_command(args)


def main(directory: Path) -> None:
    step = 0
    code = KILLED
    while code == KILLED:
        home = directory / str(step)
        file = home / ".cursor" / "mcp.json"
        config = home / ".config" / "mcp-workbench" / "workbench-config.json"
        file.parent.mkdir(parents=True)
        file.write_text(ORIGINAL, encoding="utf-8")
        os.environ.update(HOME=str(home), PYTHON_KEYRING_BACKEND="keyring.backends.null.Keyring")
        if step == 0:
            run("install", "cursor", "--replace", "--dry-run")  # loads the modules, once for all children
        child = os.fork()
        if child == 0:
            sys.setprofile(Killer(step))
            code = run("install", "cursor", "--replace", "--yes")
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        held = file.read_text(encoding="utf-8")
        known = config.read_text(encoding="utf-8") if config.exists() else ""
        run("undo", "--yes")
        outcome = {
            "client": sorted(name for name in ("x1", "x2", "--keep-going") if name in held),
            "workbench": sorted(name for name in ("x1", "x2") if name in known),
            "restored": file.read_text(encoding="utf-8") == ORIGINAL,
            "code": code,
        }
        print(json.dumps(outcome))
        step += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]))
