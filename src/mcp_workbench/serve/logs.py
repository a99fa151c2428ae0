"""Our log: a line for each event on stderr, which nobody may be reading.

A write that would block is not made: the event loop must not wait for whoever reads our stderr, or does
not. Events of ours wait until there is room again, within limits; what servers say is dropped, counted, and
the number said. No secret of the configuration gets through: every record is masked here, whatever its author
has done about it. What a line looks like is decided in `log_lines`.
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
from mcp_workbench.serve.log_lines import LONGEST_LINE, to_json, to_text, together
from mcp_workbench.wire.processes.stderr import LOGGER as SERVERS_STDERR
from mcp_workbench.workbench.text.sanitise import show_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from mcp_workbench.errors import ConfigError
    from mcp_workbench.serve.log_lines import Entry, ToLine

    Fault = tuple[type[BaseException], BaseException, TracebackType | None]

FORMATS: Final[dict[str, ToLine]] = {"text": to_text, "json": to_json}
STDERR: Final = 2
MOST_WAITING: Final = 200
"""Lines that are kept for whoever does not read them now."""
LAST_LIMIT: Final = 0.25
"""Seconds for these to be taken in the end."""
REPORT_LIMIT: Final = 1.0
"""Seconds for whoever reads stderr to take a report."""

log = logging.getLogger(__name__)


class SecretSink(Protocol):
    """A log that masks secret values."""

    def hide(self, secrets: Secrets) -> None:
        """Mask these values too from now on, in every record."""


class StderrHandler(logging.Handler):
    """Writes each record as one line, if stderr takes it now."""

    def __init__(self, to_line: ToLine = to_text, descriptor: int = STDERR) -> None:
        super().__init__()
        self._to_line = to_line
        self._descriptor = descriptor
        self._secrets = Secrets({})
        self._waiting: deque[bytes] = deque()
        self._dropped = 0

    def hide(self, secrets: Secrets) -> None:
        """Masks these too from now on. Earlier ones stay masked: a server that leaves may still echo them."""
        self._secrets |= secrets

    def emit(self, record: logging.LogRecord) -> None:
        """Never raises and never waits."""
        try:
            self._catch_up(0)
            # Made only if there is use for it: a flood that nobody reads should cost little.
            if not self._waiting and _takes_bytes(self._descriptor, 0):
                os.write(self._descriptor, self._to_line(record, self._secrets.mask))
            elif record.name == SERVERS_STDERR or len(self._waiting) >= MOST_WAITING:
                self._dropped += 1
            else:
                self._waiting.append(self._to_line(record, self._secrets.mask))
        except Exception:  # noqa: BLE001 - whoever logs is not to be stopped by that
            self._dropped += 1

    def write_together(self, entries: Sequence[Entry]) -> None:
        """Write a line for each of several events. Never raises and never waits."""
        try:
            self._catch_up(0)
            lines = together(entries, self._secrets.mask, as_json=self._to_line is to_json)
            for chunk in _chunks(lines):
                if not self._waiting and _takes_bytes(self._descriptor, 0):
                    os.write(self._descriptor, chunk)
                elif len(self._waiting) >= MOST_WAITING:
                    self._dropped += chunk.count(b"\n")
                else:
                    self._waiting.append(chunk)
        except Exception:  # noqa: BLE001 - whoever logs is not to be stopped by that
            self._dropped += len(entries)

    def flush(self) -> None:
        """Gives whoever reads a last moment to take what waits: `logging` calls this in the end."""
        with suppress(Exception):
            self._catch_up(LAST_LIMIT)

    def _catch_up(self, seconds: float) -> None:
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
        if len(chunk) + len(line) > LONGEST_LINE:
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
    """Sends the log of the whole package to stderr from `level` on, and errors of whatever it is built on.

    Faults that nobody has caught go there too: Python itself would wait for stderr, and mask nothing.
    """
    handler = StderrHandler(FORMATS[format_])
    least: int = logging.CRITICAL + 1 if level == "off" else getattr(logging, level.upper())
    # The others warn of what our callers are told of anyway: a loop of every write to a server that is gone,
    # a web server of every request that is none.
    for name, above in (("mcp_workbench", least), (None, max(least, logging.ERROR))):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(above)
        logger.propagate = False
    sys.excepthook = lambda *fault: handler.emit(_record(logging.CRITICAL, "ended by a fault of ours", fault))
    sys.unraisablehook = lambda fault: log.error(
        "a fault that nobody could be told of: %s", fault.err_msg or "in clean-up", exc_info=fault.exc_value
    )
    threading.excepthook = lambda fault: log.error("a thread has failed", exc_info=fault.exc_value)
    return handler


def report(error: ConfigError, format_: str) -> None:
    """Says in full why we end before we have begun, whatever the level. Waits a moment for a slow reader."""
    if format_ == "json":
        problems = [_record(logging.ERROR, f"{error.path}: {problem}") for problem in error.problems]
        data = b"".join(to_json(problem, str) for problem in problems)
    else:
        data = f"mcp-workbench: {show_text(str(error))}\n".encode(errors="replace")
    deadline = time.monotonic() + REPORT_LIMIT
    try:
        while data and _takes_bytes(STDERR, max(deadline - time.monotonic(), 0)):
            data = data[os.write(STDERR, data[:LONGEST_LINE]) :]
    except OSError:
        return  # nobody will read it
