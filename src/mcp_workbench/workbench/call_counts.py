"""Counts of calls per tool: how many, how they ended, how long they took and how much was sent."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.protocol.names import TOOLS_CALL

if TYPE_CHECKING:
    from mcp_workbench.config import Origin
    from mcp_workbench.workbench.door import CallEnd, CallRecord

    ToolKey = tuple[Origin, str]
    """A server, and the name of one of its tools; or an MCP method, for calls that are not of a tool."""

UNKNOWN_TOOL = "(unknown tool)"
"""Stands for all tools that a server is not known to have: their names are whatever a client sends."""

MAX_UNCOUNTED = 200
"""Calls that have ended and wait to be counted together."""
MAX_REFUSED_TOOLS = 1000
"""Tools with counts, up to which one that a decider refuses is counted by its name."""

REFUSALS = ("CallRefused", "CallDenied", "LimitReached")
"""The errors of calls that a decider or the policy refuses."""

SUCCESSES = ("answered", "asked")
"""The outcomes that are no errors."""


class ToolCounts(msgspec.Struct):
    """The calls of one tool that have ended."""

    calls: int = 0
    errors: Counter[str] = msgspec.field(default_factory=Counter)
    """How many calls did not succeed, by the name of the error, or by the outcome where there is no error."""
    seconds: float = 0.0
    """The time that all calls took together."""
    request_bytes: int = 0
    response_bytes: int = 0

    def add(self, record: CallRecord, end: CallEnd) -> None:
        """Count one more call of this tool."""
        self.calls += 1
        self.seconds += end.seconds
        self.request_bytes += record.request_bytes
        self.response_bytes += end.response_bytes
        if end.outcome not in SUCCESSES:
            self.errors[end.error or end.outcome] += 1


class CallCounts:
    """An observer of calls that counts them per tool."""

    def __init__(self) -> None:
        self._tools: dict[ToolKey, ToolCounts] = {}
        self._recent: list[tuple[CallRecord, CallEnd]] = []
        """Calls that have ended and are not counted yet: many at once take a third of the time."""

    @property
    def tools(self) -> dict[ToolKey, ToolCounts]:
        """The counts of each tool that was called, by server and tool."""
        self._count_recent()
        return self._tools

    def snapshot(self) -> dict[tuple[str, str, str], ToolCounts]:
        """A copy of the counts, by toolbox, server and tool."""
        return {
            (*origin, name): msgspec.structs.replace(counts, errors=counts.errors.copy())
            for (origin, name), counts in self.tools.items()
        }

    def on_end(self, record: CallRecord, end: CallEnd) -> None:
        """Take note of a call that has ended, to count it with others."""
        self._recent.append((record, end))
        if len(self._recent) >= MAX_UNCOUNTED:
            self._count_recent()

    def _count_recent(self) -> None:
        recent, self._recent = self._recent, []
        for record, end in recent:
            self._count(record, end)

    def _count(self, record: CallRecord, end: CallEnd) -> None:
        if not record.has_server:
            return  # anybody can send any name
        name = record.name if record.method == TOOLS_CALL else record.method
        key = record.origin, name
        counts = self._tools.get(key)
        if counts is None and record.method == TOOLS_CALL and not self._may_name(record, end):
            key = record.origin, UNKNOWN_TOOL
            counts = self._tools.get(key)
        if counts is None:
            counts = self._tools[key] = ToolCounts()
        counts.add(record, end)

    def _may_name(self, record: CallRecord, end: CallEnd) -> bool:
        """Whether a tool that was not called before gets counts of its own: anybody can send any name."""
        is_refused = end.error in REFUSALS and len(self._tools) < MAX_REFUSED_TOOLS
        return record.is_sent or is_refused
