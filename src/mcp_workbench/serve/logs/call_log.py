"""The log of calls: one line at level `info` for each call that has ended.

Lines are collected for a moment and written together. To format, mask and write each one by itself would take
15 µs, a tenth of what a small call takes. Together it is 3 µs.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from mcp_workbench.protocol.names import TOOLS_CALL
from mcp_workbench.serve.logs.log_lines import BatchedEvent
from mcp_workbench.workbench.text.shortening import shorten

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.serve.logs import StderrHandler
    from mcp_workbench.workbench.door import CallEnd, CallRecord

LOGGER: Final = "mcp_workbench.calls"
DELAY_SECONDS: Final = 0.05
"""How long lines are collected before they are written."""
MAX_COLLECTED: Final = 200
"""Lines that are written at once, without waiting any longer."""
MAX_CLIENT_CHARACTERS: Final = 60
"""Length of the name of a client in a line."""
MAX_NAME_CHARACTERS: Final = 200
"""Length of the name of a tool, a prompt or a resource in a line."""
MAX_OTHER_CHARACTERS: Final = 100
"""Length of the name of a toolbox, a server or a principal in a line."""
MAX_READ_CHARACTERS: Final = 10_000
"""Length of a name that is looked through for secrets before it is cut."""

WORDS: Final[dict[str, str]] = {
    "answered": "ok",
    "tool_error": "tool error",
    "asked": "asked the client",
    "timed_out": "timed out",
    "client_gone": "client gone",
}
"""What a line says of an outcome whose own name would be less clear."""


def is_wanted() -> bool:
    """Whether the log shows calls at its level."""
    return logging.getLogger(LOGGER).isEnabledFor(logging.INFO)


class CallLog:
    """An observer of calls that writes a line for each of them."""

    def __init__(self, handler: StderrHandler) -> None:
        self._handler = handler
        self._ended: list[tuple[CallRecord, CallEnd]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    def on_end(self, record: CallRecord, end: CallEnd) -> None:
        """Write a line about a call, together with those of other calls that end about now."""
        self._ended.append((record, end))
        if self._is_closed or len(self._ended) >= MAX_COLLECTED:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DELAY_SECONDS, self.flush)

    def close(self) -> None:
        """Write the lines that were collected, and from now on each line at once."""
        self._is_closed = True
        self.flush()

    def flush(self) -> None:
        """Write the lines that were collected."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        ended, self._ended = self._ended, []
        if ended:
            mask = self._handler.mask
            self._handler.write_together(
                [
                    BatchedEvent(
                        LOGGER, record.begun_at + end.seconds, record.origin, line_of(record, end, mask)
                    )
                    for record, end in ended
                ]
            )


def line_of(record: CallRecord, end: CallEnd, mask: Callable[[str], str]) -> str:
    """The line about a call: `dev/git/git_status ok 12 ms 1.4 KB (claude-code)`.

    Names that are too long, and addresses of resources, are masked before they are cut. All else is masked
    when the line is written.
    """
    toolbox, server, principal = record.origin[0], record.origin[1], record.principal
    name = record.name
    if len(toolbox) + len(server) + len(principal) > MAX_OTHER_CHARACTERS:
        toolbox, server, principal = (
            cut_name(text, MAX_OTHER_CHARACTERS, mask) for text in (toolbox, server, principal)
        )
    if len(name) > MAX_NAME_CHARACTERS or record.method != TOOLS_CALL:
        name = cut_target(record.method, name, mask)
    client = record.client
    if len(client) > MAX_CLIENT_CHARACTERS:
        client = cut_name(client, MAX_CLIENT_CHARACTERS, mask)
    separator = "/" if record.method == TOOLS_CALL else f" {record.method} "
    outcome = WORDS.get(end.outcome, end.outcome)
    if end.error:
        outcome = f"{outcome} ({end.error})"
    who = f"{principal}, {client}" if principal and client else principal or client
    size = f" {size_text(end.response_bytes)}" if end.response_bytes else ""
    line = f"{toolbox}/{server}{separator}{name} {outcome} {duration_text(end.seconds)}{size}"
    return f"{line} ({who})" if who else line


def cut_name(name: str, limit: int, mask: Callable[[str], str]) -> str:
    """Return a name without secrets in one line, of at most so many characters."""
    return shorten(mask(name[:MAX_READ_CHARACTERS]), limit)


def cut_target(method: str, name: str, mask: Callable[[str], str]) -> str:
    """Return the name of a tool, a prompt or a resource without secrets. That of a resource is an address."""
    if method == TOOLS_CALL:
        return cut_name(name, MAX_NAME_CHARACTERS, mask)
    from mcp_workbench.config.masking.in_text import mask_in_text  # noqa: PLC0415 - few calls need it

    return cut_name(name, MAX_NAME_CHARACTERS, lambda text: mask_in_text(mask(text)))


def duration_text(seconds: float) -> str:
    """A duration in milliseconds, or in seconds if it is long: `12 ms`."""
    return f"{seconds * 1000:.0f} ms" if seconds < 10 else f"{seconds:.0f} s"


def size_text(count: int) -> str:
    """A number of bytes in one or two digits after the point at most: `1.4 KB`."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.1f} KB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"
