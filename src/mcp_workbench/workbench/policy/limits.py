"""The limits of the policies: how many calls may begin in a minute, and be in flight at once.

A limit on the file counts the calls of each principal, one of a token those of its holder, and one of a
toolbox or a server the calls of everybody. Under `tools` it counts the calls of each matching tool by itself.
All limits that concern a call have to allow it, and then it counts for all of them. Owns what is counted. A
call that waits for a person counts as one in flight. A call that goes on after a question that the client was
answered with counts once, with the call that it continues.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Final

from mcp_workbench.config.globs import matches
from mcp_workbench.config.model.policy import read_pattern
from mcp_workbench.errors import LimitReached
from mcp_workbench.workbench.door import CallDecision
from mcp_workbench.workbench.policy.rules import concerns, is_builtin, placed_policies

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from mcp_workbench.config import Origin, WorkbenchConfig
    from mcp_workbench.config.model.policy import CallLimits
    from mcp_workbench.workbench.door import CallEnd, CallRecord
    from mcp_workbench.workbench.policy.rules import PlacedPolicy
    from mcp_workbench.workbench.principal import Principal

MINUTE_SECONDS: Final = 60.0
MAX_COUNTERS: Final = 10_000
"""Counters that are kept. Tools beyond that are counted together: clients may send any name."""


class CallCounter:
    """Counts the calls that one limit is about: when they began, and how many are in flight."""

    __slots__ = ("_begun", "_in_flight", "_limits", "_where")

    def __init__(self, limits: CallLimits, where: str) -> None:
        self._begun: deque[float] = deque()
        """When calls began in the last minute, as far as they are limited."""
        self._in_flight = 0
        self.adopt(limits, where)

    def adopt(self, limits: CallLimits, where: str) -> None:
        """Apply a changed limit to what was counted so far."""
        self._limits = limits
        self._where = where

    def is_idle(self, now: float) -> bool:
        """Whether nothing would be lost if the counter began anew."""
        return not self._in_flight and (not self._begun or self._begun[-1] <= now - MINUTE_SECONDS)

    def wait(self, now: float) -> tuple[str, float] | None:
        """Return the limit of calls per minute if it is reached, and the seconds until one more may begin."""
        limit, begun = self._limits.calls_per_minute, self._begun
        if limit is None:
            return None
        while begun and begun[0] <= now - MINUTE_SECONDS:
            begun.popleft()
        if len(begun) < limit:
            return None
        # More calls than the limit allows may have begun while it was higher.
        return f'"callsPerMinute": {limit} of {self._where}', begun[-limit] + MINUTE_SECONDS - now

    def busy(self) -> tuple[str, int] | None:
        """Return the limit of calls in flight if it is reached, and how many there are."""
        limit = self._limits.calls_in_flight
        if limit is None or self._in_flight < limit:
            return None
        return f'"callsInFlight": {limit} of {self._where}', self._in_flight

    def begin(self, now: float, *, continues: bool) -> None:
        """Count one more call that begins now."""
        self._in_flight += 1
        if self._limits.calls_per_minute is not None and not continues:
            self._begun.append(now)

    def end(self) -> None:
        """Take note that a call has ended."""
        self._in_flight -= 1


class CallLimiter:
    """Counts the calls of all principals, and refuses those that are over a limit."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._config: WorkbenchConfig | None = None
        self._counters: dict[Hashable, CallCounter] = {}
        self._of_calls: dict[Hashable, tuple[PlacedPolicy | None, tuple[CallCounter, ...]]] = {}
        """The counters that concern a call, by principal, server and tool, and the token's policy."""
        self._in_flight: dict[int, tuple[CallCounter, ...]] = {}
        """The counters of each call in flight, by the number of its record."""

    def adopt(self, config: WorkbenchConfig) -> None:
        """Apply the limits of a configuration from now on. What was counted so far still counts."""
        self._config = config
        self._of_calls.clear()

    def begin(
        self, record: CallRecord, principal: Principal, token: PlacedPolicy | None, *, continues: bool
    ) -> None:
        """Count a call, unless a limit does not allow it. Raises LimitReached."""
        tool = record.name if record.method == "tools/call" else None
        key = principal.name, record.origin, tool
        known = self._of_calls.get(key)
        if known is None or known[0] is not token:
            if len(self._of_calls) >= MAX_COUNTERS or len(self._counters) >= MAX_COUNTERS:
                self._forget_idle()
            counters = tuple(self._counters_of(principal.name, record.origin, tool, token))
            known = self._of_calls[key] = token, counters
        counters = known[1]
        if not counters:
            return
        now = self._clock()
        waits = () if continues else filter(None, [counter.wait(now) for counter in counters])
        reached = dict(waits), dict(filter(None, [counter.busy() for counter in counters]))
        if any(reached):
            toolbox, server = record.origin
            record.decision = CallDecision("deny", " and ".join((*reached[0], *reached[1])))
            raise LimitReached(record.name, server, toolbox, *reached)
        for counter in counters:
            counter.begin(now, continues=continues)
        self._in_flight[record.number] = counters

    def on_end(self, record: CallRecord, _: CallEnd) -> None:
        """Take note that a call has ended, in whatever way."""
        for counter in self._in_flight.pop(record.number, ()):
            counter.end()

    def _counters_of(
        self, principal: str, origin: Origin, tool: str | None, token: PlacedPolicy | None
    ) -> Iterator[CallCounter]:
        config = self._config
        if config is None or is_builtin(origin, config):
            return
        for placed in (*placed_policies(origin, config), *([] if token is None else [token])):
            limits = placed.policy.limits
            # Who or what is counted, beside the place of the limit.
            whose = {"file": principal, "toolbox": origin[0], "server": origin, "token": principal}
            scope = placed.place, whose[placed.place]
            if _is_limit(limits):
                yield self._counter(scope, limits, placed.where)
            for pattern, each in limits.tools.items():
                if tool is not None and _is_about(pattern, placed, origin, tool):
                    where = f'"{pattern}" of {placed.where}'
                    yield self._counter((*scope, pattern, origin, tool), each, where, (*scope, pattern))

    def _counter(
        self, key: Hashable, limits: CallLimits, where: str, shared: Hashable | None = None
    ) -> CallCounter:
        """Return the counter with this key, or the one that all share that there is no space for."""
        counter = self._counters.get(key)
        if counter is None and shared is not None and len(self._counters) >= MAX_COUNTERS:
            key = shared
            counter = self._counters.get(key)
        if counter is None:
            counter = self._counters[key] = CallCounter(limits, where)
        counter.adopt(limits, where)
        return counter

    def _forget_idle(self) -> None:
        now = self._clock()
        self._counters = {key: it for key, it in self._counters.items() if not it.is_idle(now)}
        # They refer to counters that are forgotten now.
        self._of_calls.clear()


def _is_limit(limits: CallLimits) -> bool:
    return limits.calls_per_minute is not None or limits.calls_in_flight is not None


def _is_about(written: str, placed: PlacedPolicy, origin: Origin, tool: str) -> bool:
    pattern = read_pattern(written, placed.place)
    return pattern is not None and concerns(pattern, origin) and matches(pattern.tool, tool)
