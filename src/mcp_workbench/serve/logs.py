"""Our log: lines for people on stderr, which nobody may be reading.

A write that would block is not made: the event loop must not wait for whoever reads our stderr, or does
not. What is dropped is counted, and said when there is room again.
"""

from __future__ import annotations

import logging
import os
import select
import sys

from mcp_workbench.workbench.sanitise import clean_text

PIPE_ATOM = 4096
"""A pipe that is writable takes this much without blocking."""


class StderrHandler(logging.Handler):
    """Writes each record as one line, if stderr takes it now."""

    def __init__(self, descriptor: int = 2) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Never raises and never waits."""
        try:
            # What servers say reaches a person's terminal here: it must not move the cursor or fake a line.
            text = clean_text(self.format(record)).replace("\r", " ")
            if self._dropped and self._write(f"mcp-workbench: log lines dropped: {self._dropped}"):
                self._dropped = 0
            if not self._write(text):
                self._dropped += 1
        except (OSError, ValueError):
            self._dropped += 1

    def _write(self, text: str) -> bool:
        if not _takes_bytes(self._descriptor):
            return False
        data = text.encode(errors="replace")
        if len(data) >= PIPE_ATOM:
            data = data[: PIPE_ATOM - 4] + "…".encode()
        os.write(self._descriptor, data + b"\n")
        return True


def _takes_bytes(descriptor: int) -> bool:
    if sys.platform == "win32":
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return any(event & select.POLLOUT for _, event in poll.poll(0))


def set_up(level: str) -> None:
    """Sends the log of the whole package to stderr from `level` on, and the errors of its event loop."""
    handler = StderrHandler()
    handler.setFormatter(logging.Formatter("mcp-workbench: %(message)s"))
    least: int = logging.CRITICAL + 1 if level == "off" else getattr(logging, level.upper())
    # A loop warns of every write to a server that is gone, which its callers are told of anyway.
    for name, above in (("mcp_workbench", least), ("asyncio", max(least, logging.ERROR))):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(above)
        logger.propagate = False
