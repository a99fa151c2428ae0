"""A target that is spoken with over its stdin and stdout, in lines. Knows nothing of MCP."""

from __future__ import annotations

import os
import select
import subprocess
from typing import TYPE_CHECKING

from bench import process
from bench.process import TargetProcess

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FIRST_BUFFER = 256 * 1024
"""Grows with the longest line, which is not timed the first time."""
HEAD = 100
"""Bytes of a line that are looked at."""


class PipedProcess(TargetProcess):
    """Owns the pipes, and a buffer that the target's output is read into."""

    def __init__(self, name: str, command: Sequence[str], env: Mapping[str, str]) -> None:
        super().__init__(name, command, env, subprocess.PIPE)
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

    def ask_to_end(self) -> None:
        """Ends it as a client does, by closing its stdin."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def write(self, data: bytes) -> None:
        """Sends bytes to its stdin."""
        while data:
            try:
                data = data[os.write(self._stdin, data) :]
            except BlockingIOError:
                if not self._writable.poll(process.PATIENCE * 1000):
                    raise self.failure(f"did not read its input within {process.PATIENCE:g} s") from None
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
        if not self._readable.poll(process.PATIENCE * 1000):
            raise self.failure(f"did not answer within {process.PATIENCE:g} s")
        if self._end == len(self._buffer):
            self._buffer = self._buffer + bytearray(len(self._buffer))
            self._view = memoryview(self._buffer)
        count = os.readv(self._stdout, [self._view[self._end :]])
        if not count:
            raise self.failure("ended its output")
        self._end += count
