"""Copies lines between a client and one server, whole, after a look whether they are UTF-8 and JSON.

No event loop, no envelopes, one buffer for ever: what is left is what the system's pipes and wake-ups cost
whoever holds a line until it is complete, and what it costs to pass nothing on that a client cannot read.
"""

from __future__ import annotations

import codecs
import fcntl
import os
import select
import subprocess
import sys

import msgspec

CHUNK = 256 * 1024
WIDE = 1024 * 1024
"""What its pipes hold, as the workbench's do once something long has come through them."""

decode = msgspec.json.Decoder(msgspec.Raw).decode


class Lines:
    """The lines from one end to the other."""

    def __init__(self, source: int, sink: int) -> None:
        self.source = source
        self._sink = sink
        self._buffer = bytearray(WIDE)
        self._held = 0

    def copy(self) -> bool:
        """Takes what there is, and passes on what is complete with it; False at the end."""
        if len(self._buffer) - self._held < CHUNK:
            self._buffer += bytes(len(self._buffer))
        view = memoryview(self._buffer)
        count = os.readv(self.source, [view[self._held : self._held + CHUNK]])
        end = self._buffer.rfind(b"\n", self._held, self._held + count) + 1
        self._held += count
        if end:
            self._check(view[:end])
            self._write(view[:end])
            self._held -= end
            view[: self._held] = view[end : end + self._held]
        return bool(count)

    def _check(self, lines: memoryview) -> None:
        for at in range(0, len(lines), CHUNK):
            codecs.utf_8_decode(lines[at : at + CHUNK])
        start = 0
        while start < len(lines):
            end = self._buffer.index(b"\n", start)
            decode(lines[start:end])
            start = end + 1

    def _write(self, lines: memoryview) -> None:
        while lines:
            lines = lines[os.write(self._sink, lines) :]


def main(command: list[str]) -> None:
    """Copies until the client's input ends."""
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    if server.stdin is None or server.stdout is None:
        raise RuntimeError("a process was started without its pipes")
    down, up = Lines(0, server.stdin.fileno()), Lines(server.stdout.fileno(), 1)
    for pipe in (up.source, 1):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, WIDE)
    ready = select.poll()
    ready.register(down.source, select.POLLIN)
    ready.register(up.source, select.POLLIN)
    while all((down if source == down.source else up).copy() for source, _ in ready.poll()):
        pass


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=list[str]))
