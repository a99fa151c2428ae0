"""A target as a child process: its pipes, its lines, what it costs, and its end.

Knows nothing of MCP. Every wait has a deadline, and what goes wrong is an error that names the target.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Self

PATIENCE = 60.0
"""Seconds without any output while some is due: many times what it takes, so only a fault runs into it."""
EXIT_PATIENCE = 5.0
FIRST_BUFFER = 256 * 1024
"""Grows with the longest line, which is not timed the first time."""
HEAD = 100
"""Bytes of a line that are looked at."""


class TargetFailed(Exception):
    """A target died, hung, or answered what it should not have."""


class TargetProcess:
    """Owns the process, and a buffer that its output is read into."""

    def __init__(self, name: str, command: Sequence[str], env: Mapping[str, str]) -> None:
        self.name = name
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self.started_at = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            bufsize=0,
            start_new_session=True,
        )
        self.pid = self._process.pid
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("a process was started without its pipes")
        self._stdin, self._stdout = stdin.fileno(), stdout.fileno()
        # Our end only: so that a target that does not read cannot hold us for ever.
        os.set_blocking(self._stdin, False)
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(self._stdout, select.POLLIN)
        self._writable.register(self._stdin, select.POLLOUT)
        self._buffer = bytearray(FIRST_BUFFER)
        self._view = memoryview(self._buffer)
        self._end = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the target as a client does, by closing its stdin; by force when that does not do."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(EXIT_PATIENCE)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait(EXIT_PATIENCE)
        self._stderr.close()

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

    def write(self, data: bytes) -> None:
        """Sends bytes to its stdin."""
        while data:
            try:
                data = data[os.write(self._stdin, data) :]
            except BlockingIOError:
                if not self._writable.poll(PATIENCE * 1000):
                    raise self.failure(f"did not read its input within {PATIENCE:g} s") from None
            except BrokenPipeError:
                raise self.failure("takes no more input") from None

    def read_to_line_end(self) -> int:
        """Reads until the output so far ends with a line, when no more than that is due; its length."""
        self._end = 0
        self._read_more()
        while self._buffer[self._end - 1] != 10:
            self._read_more()
        return self._end

    def read(self, length: int) -> bytes:
        """The beginning of what was read."""
        return bytes(self._view[:length])

    def forget_output(self) -> None:
        """Begins anew with the reading of lines."""
        self._end = 0

    def read_lines(self) -> Iterator[tuple[bytes, int]]:
        """Waits for more output, and yields the head and the length of each line that is whole by now."""
        scanned = self._end
        self._read_more()
        start = 0
        while (end := self._buffer.find(b"\n", scanned, self._end)) != -1:
            yield bytes(self._view[start : min(end, start + HEAD)]), end - start
            start = scanned = end + 1
        if start:
            rest = self._end - start
            self._view[:rest] = self._view[start : self._end]
            self._end = rest

    def _read_more(self) -> None:
        if not self._readable.poll(PATIENCE * 1000):
            raise self.failure(f"did not answer within {PATIENCE:g} s")
        if self._end == len(self._buffer):
            self._buffer = self._buffer + bytearray(len(self._buffer))
            self._view = memoryview(self._buffer)
        count = os.readv(self._stdout, [self._view[self._end :]])
        if not count:
            raise self.failure("ended its output")
        self._end += count

    def failure(self, what: str) -> TargetFailed:
        """The error for what the target did, with its last words."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)
        code = self._process.poll()
        ended = "" if code is None else f" (it ended with code {code})"
        self._stderr.seek(0)
        words = self._stderr.read()[-2000:].decode("utf-8", "replace").strip()
        return TargetFailed(f"{self.name} {what}{ended}" + (f"\n{words}" if words else ""))
