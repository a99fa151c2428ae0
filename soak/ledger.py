"""The books: what was asked, what was answered, what was done to whom, and whether this explains that.

Pure: it is told the time of everything, and judges at the end.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Iterator, Mapping, Sequence

OK = "ok"
WRONG = "wrong"
"""An answer that is not the one to this request."""
LOST = "the workbench went away"
EXIT = "the server went away"
TIMEOUT = "no answer in time"
BACK_OFF = "waiting for the next try"
START = "could not be started"
UNREADABLE = "answer could not be read"
REMOTE = "error of the server"
NOT_FOUND = "not found"
STARTING = "still starting"
FULL = "too much waits for the server"
AMBIGUOUS = "asked while several calls were in progress"
UNANSWERED = "asked, and the client gave no answer"
SAID_NO = "asked, and the client answered with an error"
ENDLESS = "asked too often"
EXPIRED = "came back too late"
USED = "came back twice"
FORGED = "came back with a state that was changed"
SWAPPED = "came back with the state of another call"
OVER = "came back to a call that is over"
UNHEARD = "not told by a server in time"
DENIED = "denied by the policy"
UNAPPROVED = "waits for an approval, or too many do"
LIMITED = "over a limit of the policy"

SAYS_NO = "the client of the soak says no"
"""Its error."""

KINDS = {
    DENIED: re.compile(r"refused: the policy of this workbench denies it"),
    UNAPPROVED: re.compile(r"refused: .*`mcp-workbench approvals`"),
    LIMITED: re.compile(r"refused: the limit .* is reached"),
    AMBIGUOUS: re.compile(r"several calls are in progress"),
    UNANSWERED: re.compile(r"the client gave no answer"),
    SAID_NO: re.compile(SAYS_NO),
    ENDLESS: re.compile(r"still asks for more"),
    BACK_OFF: re.compile(r"next try is in"),
    START: re.compile(r"Failed to (?:connect|open)"),
    EXIT: re.compile(
        r"exited with code|was ended by SIG|closed its (?:in|out)put|ended, again and again|no longer answers"
    ),
    TIMEOUT: re.compile(r"no answer within|was not sent"),
    UNREADABLE: re.compile(r"could not be read"),
    REMOTE: re.compile(r"JSON-RPC error"),
    FULL: re.compile(r"no more are accepted"),
    NOT_FOUND: re.compile(r"not found"),
}

REFUSALS = {
    EXPIRED: re.compile(r"`requestState` is refused: it has expired"),
    USED: re.compile(r"`requestState` is refused: it has already been used"),
    FORGED: re.compile(r"`requestState` is refused: it was not made by this workbench"),
    SWAPPED: re.compile(r"`requestState` is refused: it belongs to another request"),
    OVER: re.compile(r"`requestState` belongs to a call that no longer waits"),
}
"""What a JSON-RPC error says to one that comes back with answers."""
LAPSES = frozenset({UNANSWERED, EXPIRED, OVER})
"""Ends of a call whose client did not answer in time what it was asked."""

ANY_FAILURE = frozenset({EXIT, TIMEOUT, START, BACK_OFF, UNREADABLE, STARTING, FULL, UNHEARD})
"""What the end of a server's process may cause."""
PROMPT = 8.0
"""Seconds after the end of a process in which its calls must have ended too: two, and slack."""
SHADOW = 2.0
"""Seconds after a fault in which calls are not counted as healthy."""
AFTERMATH: Mapping[str, float] = {
    **dict.fromkeys((EXIT, TIMEOUT, UNREADABLE, STARTING, FULL, UNHEARD), 10.0),
    **dict.fromkeys((START, BACK_OFF), 75.0),
}
"""Seconds after a fault has ended in which it still explains an error. A back-off lasts up to a minute."""


def kind_of_error(text: str) -> str:
    """What an error says, in one of the words above; else its own words."""
    return _kind(text, KINDS) or f"? {text[:300]}"


def kind_of_refusal(text: str) -> str | None:
    """What a JSON-RPC error says to one that comes back with answers, if it is such a one."""
    return _kind(text, REFUSALS)


def _kind(text: str, kinds: Mapping[str, re.Pattern[str]]) -> str | None:
    return next((kind for kind, pattern in kinds.items() if pattern.search(text)), None)


@dataclass(slots=True)
class Entry:
    """One request, and what came of it."""

    number: int
    what: str
    servers: frozenset[str]
    """Labels of those it needs; none for what the workbench answers by itself."""
    sent: float
    bound: float
    """Seconds within which it must be answered."""
    token: str = ""
    """What the server writes down when it takes the call."""
    own_fault: frozenset[str] = frozenset()
    """The ends that it must come to by its own nature."""
    possible: frozenset[str] = frozenset()
    """The ends that are as right as a success."""
    lapses: float = inf
    """From when on it may end because the client was too late with an answer."""
    by_error: bool = False
    """Whether its failures are JSON-RPC errors."""
    delay: float = 0.0
    """Seconds that it was asked to take."""
    size: int = 0
    is_call: bool = False
    """Whether it began a call to a server, which the audit has to have."""
    cancelled: float | None = None
    fence: float | None = None
    """When a ping that was sent after the cancellation was answered: nothing may come after that."""
    answers: list[tuple[float, str]] = field(default_factory=list)

    def __str__(self) -> str:
        where = f" to {', '.join(sorted(self.servers))}" if self.servers else ""
        return f"request {self.number}, {self.what}{where}, sent at {self.sent:.1f} s"


@dataclass(slots=True)
class Fault:
    """Something that was done to a server, or to all of them."""

    what: str
    server: str | None
    start: float
    explains: frozenset[str] = frozenset()
    end: float = inf
    ends_life: bool = False
    prompt: bool = False
    """Whether the calls in flight must end with an error soon after it."""
    slows: bool = False
    """Whether answers may take longer by the time that it lasted."""

    def explains_error(self, kind: str, sent: float, at: float, slowed: float) -> bool:
        """Whether an error of this kind, at this time, to a request of that time, is a consequence."""
        if self.prompt and kind == EXIT and at - slowed - max(self.start, sent) > PROMPT:
            return False
        in_time = self.start <= at and sent <= self.end + AFTERMATH.get(kind, 0.0)
        return in_time and kind in self.explains


class Ledger:
    """All requests and all faults of one conversation."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._faults: dict[str | None, list[Fault]] = {}
        self.problems: list[str] = []
        """What was seen to be wrong while it ran."""
        self.seen: Counter[str] = Counter()
        """What came that was no answer, by its kind."""

    def request(self, entry: Entry) -> Entry:
        """Notes a request that is about to be sent."""
        self.entries.append(entry)
        return entry

    def fault(self, fault: Fault) -> Fault:
        """Notes a fault that is about to begin."""
        self._faults.setdefault(fault.server, []).append(fault)
        return fault

    def note_failure(self, task: asyncio.Task[None]) -> None:
        """Notes that a part of the soak itself has failed: then its books are of no use."""
        if not task.cancelled() and (error := task.exception()):
            self.problems.append(f"the soak itself failed: {error!r}")

    @property
    def faults(self) -> list[Fault]:
        """All of them."""
        return [fault for faults in self._faults.values() for fault in faults]

    def faults_of(self, server: str | None) -> list[Fault]:
        """What was done to one server; to all of them for None."""
        return self._faults.get(server, [])

    def judge(self) -> list[str]:
        """What is wrong with the answers, the same kind of thing on one line."""
        found: dict[str, list[str]] = {}
        for entry in self.entries:
            for problem in self._judge(entry):
                found.setdefault(problem, []).append(str(entry))
        return [f"{problem}: {len(where)} × (first: {where[0]})" for problem, where in found.items()]

    def _judge(self, entry: Entry) -> Iterable[str]:
        if not entry.answers:
            if entry.cancelled is None:
                yield "no answer"
            return
        if len(entry.answers) > 1:
            yield f"{len(entry.answers)} answers to one request"
        at, outcome = entry.answers[0]
        if entry.fence is not None and at > entry.fence:
            yield "an answer after the cancellation"
        took = at - entry.sent - self._slowed(entry.sent, at)
        if took > entry.bound:
            yield f"an answer later than {entry.bound:g} s"
        yield from self._judge_outcome(entry, at, outcome)

    def _judge_outcome(self, entry: Entry, at: float, outcome: str) -> Iterable[str]:
        lapsed = outcome in LAPSES and at >= entry.lapses
        if outcome in entry.own_fault or outcome in entry.possible or lapsed:
            return
        if outcome == OK:
            if entry.own_fault:
                yield f"a success where only this was possible: {', '.join(sorted(entry.own_fault))}"
        elif outcome.startswith(WRONG):
            yield outcome
        elif not self._explained(entry, at, outcome):
            yield f"an error that no fault explains ({outcome})"

    def _slowed(self, since: float, until: float) -> float:
        return sum(
            max(0.0, min(until, fault.end) - max(since, fault.start))
            for fault in self.faults_of(None)
            if fault.slows
        )

    def _explained(self, entry: Entry, at: float, outcome: str) -> bool:
        slowed = self._slowed(entry.sent, at)
        return any(fault.explains_error(outcome, entry.sent, at, slowed) for fault in self._concerning(entry))

    def _concerning(self, entry: Entry) -> Iterator[Fault]:
        for server in (None, *entry.servers):
            yield from self.faults_of(server)

    def is_healthy(self, entry: Entry) -> bool:
        """Whether a request succeeded, with nothing wrong around it."""
        if entry.cancelled is not None or len(entry.answers) != 1 or entry.answers[0][1] != OK:
            return False
        at = entry.answers[0][0]
        return not any(
            fault.start <= at and entry.sent <= fault.end + SHADOW for fault in self._concerning(entry)
        )


def judge_calls(entries: Sequence[Entry], taken: Mapping[str, int]) -> list[str]:
    """Whether each call was made as often as its answer says: never twice, and once if it succeeded."""
    problems = [f"calls made twice: {twice}" for twice in [sum(n > 1 for n in taken.values())] if twice]
    unmade = [one for one in entries if one.token and one.answers and one.answers[0][1] == OK]
    unmade = [entry for entry in unmade if entry.token not in taken]
    if unmade:
        problems.append(f"answers to calls that no server has seen: {len(unmade)} × (first: {unmade[0]})")
    return problems


def judge_lives(lives: Mapping[str, Sequence[int]], faults: Sequence[Fault]) -> list[str]:
    """Whether only servers were restarted that something was done to."""
    problems = []
    for label, pids in lives.items():
        reasons = sum(fault.ends_life for fault in faults if fault.server in {label, None})
        if len(pids) - 1 > reasons:
            problems.append(
                f"{label} was started {len(pids)} times, with only {reasons} reasons to be restarted"
            )
    return problems
