"""The log on stderr: one line per event, without ever blocking the event loop.

A write that would block is not made, because stderr may be a pipe that is not read. Our own events wait until
there is space, within limits. Lines from servers are dropped and counted. Every record is masked here, so
that no secret of the configuration is logged. `log_lines` owns the format of a line.
"""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from mcp_workbench.config import Secrets
from mcp_workbench.serve.logs.log_lines import (
    MAX_LINE_BYTES,
    to_json,
    to_text,
    to_untimed_text,
    together,
    without_secrets,
)
from mcp_workbench.serve.logs.log_times import is_read_by_journal
from mcp_workbench.wire.processes.stderr import LOGGER as SERVERS_STDERR
from mcp_workbench.workbench.text.sanitise import show_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from mcp_workbench.errors import ConfigError, Problem
    from mcp_workbench.serve.logs.log_lines import BatchedEvent, ToLine

    Fault = tuple[type[BaseException], BaseException, TracebackType | None]

FORMATS: Final[dict[str, ToLine]] = {"text": to_text, "json": to_json}
STDERR: Final = 2
MAX_WAITING_LINES: Final = 200
"""Lines that are kept until stderr is read."""
FLUSH_TIMEOUT_SECONDS: Final = 0.25
"""How long the end of the program waits for these lines to be read."""
REPORT_TIMEOUT_SECONDS: Final = 1.0
"""How long a report of configuration problems waits to be read."""

log = logging.getLogger(__name__)


class SecretSink(Protocol):
    """A log that masks secret values."""

    secrets: Secrets
    """All values that are masked. Another object whenever one is added."""

    def hide(self, secrets: Secrets) -> None:
        """Mask these values too from now on, in every record."""

    def mask(self, text: str) -> str:
        """Return a text as it may be shown or kept, without the secret values."""


class StderrHandler(logging.Handler):
    """Writes each record as one line, if stderr takes it without blocking."""

    def __init__(self, to_line: ToLine = to_text, descriptor: int = STDERR) -> None:
        super().__init__()
        self._to_line = to_line
        self._descriptor = descriptor
        self.secrets = Secrets({})
        """All values that are masked. Another object whenever one is added."""
        self._waiting: deque[bytes] = deque()
        self._dropped = 0

    def hide(self, secrets: Secrets) -> None:
        """Mask these secrets too. Earlier ones stay masked: a stopping server may still log them."""
        self.secrets |= secrets

    def mask(self, text: str) -> str:
        """Return a text as it may be shown, for those who cut it: half a secret would not be recognised."""
        return without_secrets(text, self.secrets.mask)

    def emit(self, record: logging.LogRecord) -> None:
        """Write, keep or drop a record. Never raises and never blocks."""
        try:
            self._write_waiting(0)
            # Formatted only if it is written or kept: a flood of dropped lines should cost little.
            if not self._waiting and _takes_bytes(self._descriptor, 0):
                os.write(self._descriptor, self._to_line(record, self.secrets.mask))
            elif record.name == SERVERS_STDERR or len(self._waiting) >= MAX_WAITING_LINES:
                self._dropped += 1
            else:
                self._waiting.append(self._to_line(record, self.secrets.mask))
        except Exception:  # noqa: BLE001 - logging must not stop its caller
            self._dropped += 1

    def write_together(self, entries: Sequence[BatchedEvent]) -> None:
        """Write a line for each of several events. Never raises and never waits."""
        self.acquire()  # as `logging` does for single records: threads log too
        try:
            self._write_waiting(0)
            lines = together(entries, self.secrets.mask, self._to_line)
            for chunk in _chunks(lines):
                if not self._waiting and _takes_bytes(self._descriptor, 0):
                    os.write(self._descriptor, chunk)
                elif len(self._waiting) >= MAX_WAITING_LINES:
                    self._dropped += chunk.count(b"\n")
                else:
                    self._waiting.append(chunk)
        except Exception:  # noqa: BLE001 - whoever logs is not to be stopped by that
            self._dropped += len(entries)
        finally:
            self.release()

    def flush(self) -> None:
        """Write the waiting lines, within a short timeout. `logging` calls this at exit."""
        with suppress(Exception):
            self._write_waiting(FLUSH_TIMEOUT_SECONDS)

    def _write_waiting(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (self._dropped or self._waiting) and _takes_bytes(
            self._descriptor, max(deadline - time.monotonic(), 0)
        ):
            if self._dropped:
                note = _record(logging.WARNING, f"log lines dropped: {self._dropped}")
                os.write(self._descriptor, self._to_line(note, str))
                self._dropped = 0
            else:
                os.write(self._descriptor, self._waiting[0])
                self._waiting.popleft()


def _chunks(lines: Sequence[bytes]) -> Iterator[bytes]:
    """Lines joined to as many bytes as a pipe that is writable takes at once."""
    chunk = b""
    for line in lines:
        if len(chunk) + len(line) > MAX_LINE_BYTES:
            yield chunk
            chunk = b""
        chunk += line
    yield chunk


def _record(level: int, message: str, fault: Fault | None = None) -> logging.LogRecord:
    return log.makeRecord(log.name, level, __file__, 0, message, (), exc_info=fault)


def _takes_bytes(descriptor: int, seconds: float) -> bool:
    if sys.platform == "win32":
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return any(event & select.POLLOUT for _, event in poll.poll(seconds * 1000))


def set_up(level: str, format_: str) -> StderrHandler:
    """Send the log of the package to stderr, from `level` on, and errors of the libraries below it.

    Uncaught exceptions are logged too: Python itself would block on stderr and mask nothing.
    """
    to_line = FORMATS[format_]
    if to_line is to_text and is_read_by_journal(STDERR, os.environ):
        to_line = to_untimed_text
    handler = StderrHandler(to_line)
    least: int = logging.CRITICAL + 1 if level == "off" else getattr(logging, level.upper())
    # Libraries warn about what our callers are told anyway: asyncio about each write to a stopped server,
    # uvicorn about each invalid request.
    for name, above in (("mcp_workbench", least), (None, max(least, logging.ERROR))):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(above)
        logger.propagate = False
    sys.excepthook = lambda *fault: handler.emit(
        _record(logging.CRITICAL, "ended by an error inside the workbench", fault)
    )
    sys.unraisablehook = lambda fault: log.error(
        "an exception was ignored: %s", fault.err_msg or "in clean-up", exc_info=fault.exc_value
    )
    threading.excepthook = lambda fault: log.error("a thread has failed", exc_info=fault.exc_value)
    return handler


def _in_one_line(error: ConfigError, problem: Problem) -> str:
    text = problem.in_file(error.path, in_one_line=True)
    return text if problem.line is not None else f"{error.path}: {text}"


def report(error: ConfigError, format_: str) -> None:
    """Write the problems of a configuration to stderr, whatever the level. Waits for a slow reader."""
    if format_ == "json":
        data = b"".join(
            to_json(_record(logging.ERROR, _in_one_line(error, problem)), str) for problem in error.problems
        )
    else:
        data = f"mcp-workbench: {show_text(str(error))}\n".encode(errors="replace")
    deadline = time.monotonic() + REPORT_TIMEOUT_SECONDS
    try:
        while data and _takes_bytes(STDERR, max(deadline - time.monotonic(), 0)):
            data = data[os.write(STDERR, data[:MAX_LINE_BYTES]) :]
    except OSError:
        return  # stderr is closed
