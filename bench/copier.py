"""Copies lines between a client and one server, whole, and looks at nothing in them.

No event loop, no JSON, one buffer for ever: what is left is what the system's pipes and wake-ups cost whoever
holds a line until it is complete. Nothing that has to know what is in a line can take less.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import subprocess
import sys

CHUNK = 256 * 1024
WIDE = 1024 * 1024
"""What its pipes hold, as the workbench's do once something long has come through them."""


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
            self._write(view[:end])
            self._held -= end
            view[: self._held] = view[end : end + self._held]
        return bool(count)

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
    main(json.loads(sys.argv[1]))
