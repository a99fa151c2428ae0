"""The process tree of one child: its process group, and processes that left the group for a session of
their own.

Owns the signals to them, and ends what the child left behind.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from mcp_workbench.wire.processes.scanner import identify

if TYPE_CHECKING:
    import subprocess

    from mcp_workbench.wire.processes.scanner import LiveProcess, ProcessScanner, ProcessSnapshot

HELPERS_GRACE_SECONDS = 0.3
"""Seconds between SIGTERM and SIGKILL for processes that a child left behind when it exited normally."""
KILL_SECONDS = 0.2
"""Seconds for processes to end after SIGKILL. Some may have started others meanwhile."""

SIGKILL = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL


class ProcessTree:
    """A child and its descendants. Those outside of its process group are found on Linux only."""

    def __init__(self, process: subprocess.Popen[bytes], number: int, scanner: ProcessScanner) -> None:
        self._process = process
        self.group = process.pid
        self._number = number
        self._scanner = scanner
        self._outside: set[LiveProcess] = set()

    def meet(self) -> None:
        """Record the processes outside the group, while their parents still show where they belong."""
        self._add(self._scanner.recent())

    def kill(self) -> None:
        """Send SIGKILL to the whole process tree."""
        self.meet()
        self._signal_all(SIGKILL)

    async def end(self, *, patiently: bool) -> None:
        """End the processes that the child left behind, with SIGTERM first if `patiently`."""
        loop = asyncio.get_running_loop()
        if patiently:
            await self._find()
            if not self._signal_all(signal.SIGTERM):
                return
            deadline = loop.time() + HELPERS_GRACE_SECONDS
            while self._signal_all(0) and loop.time() < deadline:  # noqa: ASYNC110 - nothing reports their end
                await asyncio.sleep(0.01)
        deadline = loop.time() + KILL_SECONDS
        self._signal_all(SIGKILL)
        while await self._find() and loop.time() < deadline:
            self._signal_all(SIGKILL)

    def signal_group(self, number: int) -> bool:
        """Send a signal to the process group, and return whether any process received it."""
        if sys.platform == "win32":
            if number:
                self._process.kill()
            return False
        try:
            os.killpg(self.group, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _signal_all(self, number: int) -> bool:
        """Send a signal to the whole process tree, and return whether any process received it."""
        reached = self.signal_group(number)
        for process in self._outside:
            if process.is_alive():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process.pid, number)
                    reached = True
        return reached

    async def _find(self) -> bool:
        """Scan for processes outside the group, and return whether there are any."""
        self._add(await self._scanner.fresh())
        self._outside = {process for process in self._outside if process.is_alive()}
        return bool(self._outside)

    def _add(self, snapshot: ProcessSnapshot) -> None:
        for process in map(identify, snapshot.descendants(self._number, self.group)):
            if process is not None and process.group != self.group:
                self._outside.add(process)
