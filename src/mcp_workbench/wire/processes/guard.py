"""The guard: a small process that outlives us, and ends what we leave behind if we are killed.

Owns that process, `guard.sh`, and the marks by which all that our children start can be told from all else.
It is there for a death that leaves us no time; in every other case children are ended by `Child.stop`.
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
"""The variable in the environment of a child, and so of all that it starts, that says whose it is."""
REAP_SECONDS = 0.2
"""Seconds for the system to report the end of a guard that was killed."""
SHELL = "/bin/sh"

_SCRIPT = f"{__file__.removesuffix('.py')}.sh"


class Guard:
    """Knows the groups of our children. Best effort: where it cannot be started, nothing is different."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._path = environ.get("PATH", os.defpath)
        # A workbench may be the server of another: then what it starts is also the other's to end.
        self._inherited = environ.get(MARK, "")
        self._run = os.urandom(8).hex()
        self.scanner = ProcessScanner(self._run)
        self._children = 0
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None

    def prepare(self) -> int:
        """Makes sure that it runs before a child does, and numbers that child."""
        if self._process is None or self._process.poll() is not None:
            self._start()
        self._children += 1
        return self._children

    def mark(self, child: int) -> str:
        """What stands in the environment of that child."""
        return f"{self._inherited}{self._run}.{child}/"

    def watch(self, group: int) -> None:
        """Takes a group into its care."""
        self._groups.add(group)
        if not self._tell(f"+{group}\n"):
            self._start()

    def forget(self, group: int) -> None:
        """Nothing of that group is left: the number may soon be a stranger's."""
        if group in self._groups:
            self._groups.remove(group)
            self._tell(f"-{group}\n")

    async def close(self) -> None:
        """Ends the guard: whoever closes it has stopped all the children."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)
            loop = asyncio.get_running_loop()
            deadline = loop.time() + REAP_SECONDS
            while process.poll() is None and loop.time() < deadline:  # noqa: ASYNC110 - not worth a watch
                await asyncio.sleep(0.002)

    def _start(self) -> None:
        self._dismiss()
        if sys.platform == "win32":
            return
        with suppress(OSError):
            self._process = subprocess.Popen(
                [SHELL, _SCRIPT, self._run],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                # Nothing else: with the mark of another workbench it would be taken for one of its processes.
                env={"PATH": self._path},
                cwd="/",
                start_new_session=True,
            )
            os.set_blocking(_input_of(self._process).fileno(), False)
            self._tell("".join(f"+{group}\n" for group in self._groups))

    def _tell(self, lines: str) -> bool:
        """False when there is no guard, or none any more: one that does not listen is dismissed."""
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
    # Killed before its input ends, or it would set about its work.
    process.kill()
    _input_of(process).close()


def _input_of(process: subprocess.Popen[bytes]) -> BinaryIO:
    return cast("BinaryIO", process.stdin)
