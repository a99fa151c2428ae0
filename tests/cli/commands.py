"""Runs the command as a person or a script would, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import termios
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.client import clean_environment, write_config
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

MODULE = (sys.executable, "-m", "mcp_workbench")
SCRIPT = (str(Path(sys.executable).with_name("mcp-workbench")),)


class Bench:
    """A directory to run commands in, with an environment that no setting of the user reaches."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def config(self) -> Path:
        """Where the command looks when it is told nothing."""
        return self.directory / "workbench-config.json"

    def write(self, config: dict[str, Any]) -> Path:
        return write_config(self.directory, config)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return clean_environment(self.directory, extra)

    def run(
        self,
        *args: str,
        env: Mapping[str, str] | None = None,
        command: tuple[str, ...] = MODULE,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *args],
            cwd=self.directory,
            env=self.environment(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        """The command still running, for the test to end."""
        return subprocess.Popen(
            [*MODULE, *args],
            cwd=self.directory,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run_json(self, *args: str) -> tuple[int, Any]:
        """The exit code, and what was printed, as an object."""
        done = self.run(*args)
        assert done.stderr == ""
        return done.returncode, json.loads(done.stdout)

    def run_on_terminal(
        self,
        *args: str,
        env: Mapping[str, str] | None = None,
        columns: int = 120,
        rows: int = 40,
        typed: bytes = b"",
    ) -> tuple[int, str]:
        """The exit code, and all that went to a terminal of that size, on which a person types something."""
        ours, theirs = os.openpty()
        termios.tcsetwinsize(theirs, (rows, columns))
        process = subprocess.Popen(
            [*MODULE, *args],
            cwd=self.directory,
            env=self.environment({"TERM": "xterm-256color", **(env or {})}),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        os.write(ours, typed)
        shown = _read_to_end(ours)
        os.close(ours)
        return process.wait(PATIENCE), shown.decode()


def _read_to_end(terminal: int) -> bytes:
    parts = []
    try:
        while data := os.read(terminal, 65536):
            parts.append(data)
    except OSError:
        pass  # how Linux says that nobody has the other side open any more
    return b"".join(parts)
