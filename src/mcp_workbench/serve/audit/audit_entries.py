"""What is recorded of calls: names without secrets and of limited length, times, numbers and bodies."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from mcp_workbench.serve.logs.call_log import (
    MAX_CLIENT_CHARACTERS,
    MAX_OTHER_CHARACTERS,
    cut_name,
    cut_target,
)
from mcp_workbench.serve.logs.log_times import local_time_in_milliseconds
from mcp_workbench.storage.audit.audit_entry import AuditEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.config import Origin, Secrets
    from mcp_workbench.serve.logs import SecretSink
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.door import CallRecord

    Names = tuple[Origin, str, str, str, str]
    """The server, the tool, the principal, the client and the method of a call."""

MAX_BODY_BYTES: Final = 32 * 1024
"""Bytes of the arguments, and of the result, in a line."""
MAX_RULE_CHARACTERS: Final = 300
"""Length of the rule that decided about a call in a line."""
MAX_SOURCE_CHARACTERS: Final = 2 * MAX_OTHER_CHARACTERS
"""Length of the name of a server that a result came from in a line."""
MAX_SOURCES: Final = 20
"""Servers that results came from in a line."""
MICROSECONDS: Final = 1e6
"""Number of microseconds in a second: durations are recorded in these."""
MAX_KNOWN_NAMES: Final = 1000
"""Calls with different names whose names are remembered as they may be shown."""


class Bodies(NamedTuple):
    """The arguments and the result of a call, where they are recorded."""

    arguments: Body | None
    result: msgspec.Raw | None

    @property
    def size(self) -> int:
        """How many bytes they have."""
        return len(self.arguments or b"") + len(self.result or b"")


NO_BODIES: Final = Bodies(None, None)


def take_bodies(record: CallRecord) -> Bodies:
    """Take the arguments and the result off a record, which other observers may keep."""
    if record.arguments is None and record.result is None:
        return NO_BODIES
    bodies = Bodies(record.arguments, record.result)
    record.arguments = record.result = None
    return bodies


class AuditEntries:
    """Makes the entries of one workbench, which `run` identifies."""

    def __init__(self, run: str, log_handler: SecretSink) -> None:
        self._run = run
        self._pid = os.getpid()
        self._log_handler = log_handler
        self._shown: dict[Names, Names] = {}
        """Names as they may be shown. Most calls have the same."""
        self._secrets: Secrets | None = None
        """The secrets that were masked in these names."""

    def of_calls(self, ended: Sequence[CallRecord]) -> list[AuditEntry]:
        """Return the entries of calls that have ended, without their bodies."""
        if self._log_handler.secrets is not self._secrets or len(self._shown) > MAX_KNOWN_NAMES:
            self._secrets = self._log_handler.secrets
            self._shown.clear()
        shown, entries = self._shown, []
        run, pid, millisecond, shown_time = self._run, self._pid, -1, ""
        for record in ended:
            end = record.end
            if end is None:
                continue  # never: observers are told of ended calls only
            seconds = end.seconds
            at = record.begun_at + seconds
            if int(at * 1000) != millisecond:  # to write a time takes as long as half of all else
                millisecond = int(at * 1000)
                shown_time = local_time_in_milliseconds(at)
            names = record.origin, record.name, record.principal, record.client, record.method
            if (known := shown.get(names)) is None:
                known = shown[names] = self._show(names)
            (toolbox, server), name, principal, client, method = known
            entry = AuditEntry(
                shown_time,
                run,
                pid,
                record.number,
                method,
                toolbox,
                server,
                name,
                end.outcome,
                end.error,
                int(seconds * MICROSECONDS) / MICROSECONDS,
                record.request_bytes,
                end.response_bytes,
                principal,
                client,
                record.parent or 0,
            )
            if (decision := record.decision) is not None:
                entry.decision, entry.decided_by = decision.action, decision.by
                entry.rule = self._cut(decision.rule, MAX_RULE_CHARACTERS)
            if record.sources:
                entry.sources = tuple(
                    self._cut("/".join(source), MAX_SOURCE_CHARACTERS)
                    for source in record.sources[:MAX_SOURCES]
                )
            entries.append(entry)
        return entries

    def of_missing(self, number: int) -> AuditEntry:
        """Return the entry that says that so many calls are missing."""
        return AuditEntry(local_time_in_milliseconds(time.time()), self._run, self._pid, missing=number)

    def add_bodies(self, entry: AuditEntry, bodies: Bodies) -> None:
        """Add the arguments and the result to the entry of a call, masked and shortened. This takes long."""
        if bodies.arguments is not None:
            entry.arguments = self._excerpt(bodies.arguments)
        if bodies.result is not None:
            entry.result = self._excerpt(bodies.result)

    def _show(self, names: Names) -> Names:
        (toolbox, server), name, principal, client, method = names
        toolbox, server, principal = (
            self._cut(text, MAX_OTHER_CHARACTERS) for text in (toolbox, server, principal)
        )
        name = cut_target(method, name, self._log_handler.mask)
        return (toolbox, server), name, principal, self._cut(client, MAX_CLIENT_CHARACTERS), method

    def _cut(self, text: str, limit: int) -> str:
        return cut_name(text, limit, self._log_handler.mask)

    def _excerpt(self, body: Body) -> msgspec.Raw:
        from mcp_workbench.workbench.text.json_excerpt import json_excerpt  # noqa: PLC0415 - few record bodies

        return msgspec.Raw(json_excerpt(bytes(body), MAX_BODY_BYTES, self._log_handler.mask))
