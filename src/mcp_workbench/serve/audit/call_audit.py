"""Takes note of every call that has ended, for the audit. A thread of `audit_writer` writes it.

Owns what happens on the event loop: calls are collected for a moment, and their lines are made together, in
one or two microseconds each. To hand every call to the thread would take several, because its memory would
move to another core. No call waits. Everything begins with the first call, so that a start costs nothing.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.config.model.workbench import AuditLevel
    from mcp_workbench.serve.audit.audit_entries import AuditEntries
    from mcp_workbench.serve.audit.audit_writer import AuditWriter
    from mcp_workbench.serve.logs import SecretSink
    from mcp_workbench.workbench.door import CallEnd, CallRecord, Door

DELAY_SECONDS: Final = 0.1
"""How long calls are collected before they are written."""
MAX_COLLECTED: Final = 200
"""Calls that are handed to the thread at once, without waiting any longer."""
CLOSE_SECONDS: Final = 1.0
"""How long the end of the workbench waits until everything is written."""

MAX_EARLIER_LEVELS: Final = 20
"""Earlier levels that are remembered for calls that are still in flight."""

_RUN_BYTES: Final = 4


class CallAudit:
    """An observer of calls that records them, at the level that the configuration has."""

    def __init__(self, door: Door, environ: Mapping[str, str], log_handler: SecretSink) -> None:
        self._door = door
        self._environ = environ
        self._log_handler = log_handler
        self._level: AuditLevel = "off"
        self._since = 0.0
        """When the level was set, by the clock of the event loop."""
        self._earlier: list[tuple[float, AuditLevel]] = []
        """Earlier levels, with the time when each was set: calls that began then may be in flight."""
        self._ended: list[CallRecord] = []
        self._timer: asyncio.TimerHandle | None = None
        self._entries: AuditEntries | None = None
        self._writer: AuditWriter | None = None
        self._is_closed = self._is_stuck = False

    def set_level(self, level: AuditLevel) -> None:
        """Record so much of each call that begins from now on."""
        if level == self._level:
            return
        if self._level == "off" and not self._earlier:
            # For good: after "off", calls that began before have to be recorded when they end.
            self._door.add_observer(self)
        self._earlier = [*self._earlier[-MAX_EARLIER_LEVELS:], (self._since, self._level)]
        with suppress(RuntimeError):  # without a loop there are no calls yet
            self._since = asyncio.get_running_loop().time()
        self._level = level
        self._door.keeps_arguments = level in ("arguments", "full")
        self._door.keeps_results = level == "full"

    def on_end(self, record: CallRecord, end: CallEnd) -> None:  # noqa: ARG002 - the record has it
        """Record a call, together with others that end about now."""
        # For every call: no function calls that are not needed.
        if (record.started < self._since or self._level == "off") and not self._is_of_level(record):
            return
        self._ended.append(record)
        if self._is_closed:
            self._finish()
        elif len(self._ended) >= MAX_COLLECTED or record.arguments is not None:
            # Others may keep the record, which must not keep its arguments and its result.
            self._hand_over()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DELAY_SECONDS, self._hand_over)

    def _is_of_level(self, record: CallRecord) -> bool:
        """Whether a call is recorded at the level that it began with. Removes what that level leaves out."""
        levels = [*self._earlier, (self._since, self._level)]
        level = next((level for since, level in reversed(levels) if record.started >= since), "off")
        if level != "full":
            record.result = None
        if level == "metadata":
            record.arguments = None
        return level != "off"

    async def close(self) -> None:
        """Wait until everything is written, at most for a second. What comes later is written at once."""
        self._is_closed = True
        self._hand_over()
        writer, self._writer = self._writer, None
        if writer is not None:
            from mcp_workbench.wire.threads import in_thread  # noqa: PLC0415 - not before a call

            self._is_stuck = True
            with suppress(TimeoutError):
                # Not on the loop: a program that uses the library goes on meanwhile.
                has_ended = await in_thread(lambda: writer.finish(CLOSE_SECONDS), CLOSE_SECONDS * 2)
                self._is_stuck = not has_ended

    def _hand_over(self) -> None:
        """Let the thread write the calls that were collected."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        ended, self._ended = self._ended, []
        if not ended:
            return
        from mcp_workbench.serve.audit.audit_entries import AuditEntries, take_bodies  # noqa: PLC0415 - not before a call
        from mcp_workbench.serve.audit.audit_writer import AuditWriter  # noqa: PLC0415 - not before a call

        if self._entries is None:
            self._entries = AuditEntries(os.urandom(_RUN_BYTES).hex(), self._log_handler)
        if self._writer is None:
            self._writer = AuditWriter(self._entries, self._environ)
            self._writer.start()
        # Only the last one can have any.
        self._writer.put(self._entries.of_calls(ended), take_bodies(ended[-1]))

    def _finish(self) -> None:
        """Write a call that has ended after everything else was closed."""
        self._hand_over()
        writer, self._writer = self._writer, None
        if writer is not None:
            self._is_stuck = not writer.finish(0.0 if self._is_stuck else CLOSE_SECONDS)
