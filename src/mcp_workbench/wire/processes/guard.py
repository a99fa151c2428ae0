"""The guard: a small process that ends our child processes if the workbench itself is killed.

Owns that process, `guard.sh`, and the marks by which the processes that our children start are recognised.
It is only for a sudden death of the workbench; in every other case `Child.stop` ends the children.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from mcp_workbench.wire.processes.scanner import ProcessScanner

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

MARK = "MCP_WORKBENCH_PROCESS"
"""Environment variable that marks a child, and every process that it starts, as one of this workbench."""
REAP_SECONDS = 0.2
"""Seconds for the system to report the end of a killed guard."""
SHELL = "/bin/sh"

SCRIPT = f"{__file__.removesuffix('.py')}.sh"
"""Path of the shell script that is the guard."""


class Guard:
    """Knows the process groups of all children. If it cannot be started, everything else still works."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._path = environ.get("PATH", os.defpath)
        # A workbench may be a server of another one, which then has to end these processes too.
        self._inherited = environ.get(MARK, "")
        self._run = os.urandom(8).hex()
        self.scanner = ProcessScanner(self._run)
        self._children = 0
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None

    def prepare(self) -> int:
        """Make sure that the guard runs before a child is started, and return a number for that child."""
        if self._process is None or self._process.poll() is not None:
            self._start()
        self._children += 1
        return self._children

    def mark(self, child: int) -> str:
        """Return the value of the environment variable that marks this child."""
        return f"{self._inherited}{self._run}.{child}/"

    def watch(self, group: int) -> None:
        """Tell the guard of a process group, which it ends if the workbench is killed."""
        self._groups.add(group)
        if not self._tell(f"+{group}\n"):
            self._start()

    def forget(self, group: int) -> None:
        """Tell the guard that a process group has ended: its number may soon be reused."""
        if group in self._groups:
            self._groups.remove(group)
            self._tell(f"-{group}\n")

    async def close(self) -> None:
        """End the guard. All children have been stopped before."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)
            loop = asyncio.get_running_loop()
            deadline = loop.time() + REAP_SECONDS
            while process.poll() is None and loop.time() < deadline:  # noqa: ASYNC110 - takes milliseconds
                await asyncio.sleep(0.002)

    def _start(self) -> None:
        self._dismiss()
        if sys.platform == "win32":
            return
        with suppress(OSError):
            self._process = subprocess.Popen(
                [SHELL, SCRIPT, self._run],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                # No other variable: with the mark of another workbench that one would end the guard.
                env={"PATH": self._path},
                cwd="/",
                start_new_session=True,
            )
            os.set_blocking(_input_of(self._process).fileno(), False)
            self._tell("".join(f"+{group}\n" for group in self._groups))

    def _tell(self, lines: str) -> bool:
        """Write to the guard, and return whether it was received. A guard that does not read is ended."""
        if self._process is None:
            return False
        data = lines.encode()
        with suppress(OSError):
            if _input_of(self._process).write(data) == len(data):
                return True
        self._dismiss()
        return False

    def _dismiss(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            _end(process)
            with suppress(subprocess.TimeoutExpired):
                process.wait(REAP_SECONDS)


def _end(process: subprocess.Popen[bytes]) -> None:
    # Killed before its input ends: the end of its input makes the guard end all children.
    process.kill()
    _input_of(process).close()


def _input_of(process: subprocess.Popen[bytes]) -> BinaryIO:
    return cast("BinaryIO", process.stdin)
