"""A target as a child process: what it costs, and its end.

Knows nothing of how one speaks with it. Every wait has a deadline, and what goes wrong is an error that names
the target.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Self

PATIENCE = 60.0
"""Seconds without any output while some is due: many times what it takes, so only a fault runs into it."""
EXIT_PATIENCE = 5.0


class TargetFailed(Exception):
    """A target died, hung, or answered what it should not have."""


class TargetProcess:
    """Owns the process."""

    def __init__(
        self, name: str, command: Sequence[str], env: Mapping[str, str], pipe: int = subprocess.DEVNULL
    ) -> None:
        self.name = name
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self.started_at = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            env=dict(env),
            stdin=pipe,
            stdout=pipe,
            stderr=self._stderr,
            bufsize=0,
            start_new_session=True,
        )
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the target as whoever uses it does; by force when that does not do."""
        self.ask_to_end()
        try:
            self._process.wait(EXIT_PATIENCE)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait(EXIT_PATIENCE)
        self._stderr.close()

    def ask_to_end(self) -> None:
        """Ends it in the way of a service."""
        self._process.terminate()

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended by itself."""
        return self._process.poll() is None

    @property
    def cpu(self) -> float:
        """Seconds of CPU time that the target's own process has used, in all its threads."""
        # The kernel's number for the CPU clock of another process.
        return time.clock_gettime((~self.pid << 3) | 2)

    @property
    def rss(self) -> int:
        """Bytes of memory that the target's own process holds."""
        statm = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii")
        return int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE")

    @property
    def peak_rss(self) -> int:
        """The most of it since `forget_peak`."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024

    def forget_peak(self) -> None:
        """Begins a new peak."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5", encoding="ascii")

    def children(self) -> list[int]:
        """The processes that the target itself has started, the oldest first."""
        found: list[int] = []
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            found += map(int, (task / "children").read_text(encoding="ascii").split())
        return sorted(found)

    def failure(self, what: str) -> TargetFailed:
        """The error for what the target did, with its last words."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)
        code = self._process.poll()
        ended = "" if code is None else f" (it ended with code {code})"
        self._stderr.seek(0)
        words = self._stderr.read()[-2000:].decode("utf-8", "replace").strip()
        return TargetFailed(f"{self.name} {what}{ended}" + (f"\n{words}" if words else ""))
