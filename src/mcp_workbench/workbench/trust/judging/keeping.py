"""Keeps and logs what judging the lists of one server comes to: its pin, and what is held of it."""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from mcp_workbench.storage.trust.pin_records import HeldInstructions, HeldServer, HeldTool
from mcp_workbench.storage.trust.pins import MAX_JUDGED, PinRecord
from mcp_workbench.workbench.trust.judgement import CHANGES_LOG
from mcp_workbench.workbench.trust.judging.verdict import exact_key, shown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcp_workbench.config.model.workbench import PinLevel
    from mcp_workbench.storage.trust.pin_records import PinPlace
    from mcp_workbench.storage.trust.pins import PinStore
    from mcp_workbench.workbench.trust.judgement import Judgement
    from mcp_workbench.workbench.trust.judging.approved import ServerIdentity
    from mcp_workbench.workbench.trust.judging.verdict import Verdict

MAX_LOGGED: Final = 10
"""Tools that are named one by one in the log for one list."""
PAUSE_SECONDS: Final = 0.001
"""Length of the pauses while a list that is in use is judged or scanned.

Calls are made meanwhile, and one thread of Python runs at a time.
"""

MAX_REMEMBERED: Final = 20_000
"""Held definitions that are remembered as logged: a server may list others again and again."""

MAX_HELD_SETS: Final = 10
"""Definitions of one tool that one process keeps for `review`. The clients that got others are held, too."""

_Held = TypeVar("_Held", HeldTool, HeldInstructions)

log = logging.getLogger(__name__)


class _HeldSet(msgspec.Struct, eq=False):
    """Held definitions, at most one of each tool."""

    tools: dict[str, HeldTool] = msgspec.field(default_factory=dict)
    instructions: HeldInstructions | None = None


class TrustKeeper:
    """Writes the pin and the held tools of one server. The methods block."""

    def __init__(self, store: PinStore, place: PinPlace, identity: ServerIdentity) -> None:
        self._store = store
        self._place = place
        self._identity = identity
        label = {"server": f"{place.toolbox}/{place.server}"}
        self._log = logging.LoggerAdapter(log, label)
        self._changes_log = logging.LoggerAdapter(logging.getLogger(CHANGES_LOG), label)
        self._has_written = False
        self._held: list[HeldServer] = []
        """What is held by the lists of this process."""
        self._logged: set[str] = set()
        """What was logged as held, so that it is logged once."""

    def keep(
        self, record: PinRecord, verdict: Verdict, tools: Sequence[msgspec.Raw], instructions: str
    ) -> PinRecord | None:
        """Write what a list approves, and return what is remembered now.

        Return None if another process has changed that meanwhile, so that the list has to be judged again.
        """
        basis, outcome = verdict.basis, verdict.outcome
        if outcome is None or basis.refusal:
            return record
        pin = record.pin if basis.is_locked else outcome.pin
        judged = record.judged
        if not outcome.held and outcome.withheld is None and outcome.pin is (basis.pin or outcome.pin):
            judged = (*judged, exact_key(basis, outcome.pin, tools, instructions))[-MAX_JUDGED:]
        # Some servers list their tools in another order every time: that need not be written every time.
        if pin is record.pin and (judged == record.judged or self._has_written):
            self._log_outcome(verdict)
            return record
        is_current = True

        def change(current: PinRecord) -> PinRecord:
            nonlocal is_current
            is_current = current is record
            if not is_current:
                return current
            return PinRecord(pin=pin, rejected=record.rejected, judged=judged)

        kept = self._store.change(self._place, change, outcome.texts)
        if not is_current:
            return None
        self._has_written = True
        self._log_outcome(verdict)
        return kept

    @property
    def has_lost_held(self) -> bool:
        """Whether another process, which got another list, has taken something for no longer held."""
        return not all(map(self._store.held.has, self._held))

    def keep_held_again(self) -> None:
        """Write what is held here again, beside what other processes hold."""
        self._store.keep_held_again(self._held)

    def keep_held(self, level: PinLevel, judgements: Iterable[Judgement]) -> None:
        """Write what is held of the server now, for `review`, and log what was not held before."""
        sets = [] if level == "off" else _sets_of(judgements)
        before = self._store.held.of(self._place) if sets else []
        pin = self._store.read(self._place).pin if sets else None
        is_other = pin is not None and pin.identity != self._identity.digest
        self._held = [
            HeldServer(
                place=self._place,
                level="strict" if level == "strict" else "scan",
                identity=self._identity.digest,
                program=self._identity.program,
                approved_program=pin.program if pin is not None and is_other else "",
                tools={
                    name: _since(tool, [one.tools[name] for one in before if name in one.tools])
                    for name, tool in found.tools.items()
                },
                instructions=None
                if (text := found.instructions) is None
                else _since(text, [one.instructions for one in before if one.instructions is not None]),
            )
            for found in sets
        ]
        self._store.keep_held(self._place, *self._held)
        for held in self._held:
            self._log_held(held)

    def log_suspicions(self, tools: Sequence[msgspec.Raw], instructions: str) -> None:
        """Log the hard findings in a list that is used all the same, because it is the first."""
        from mcp_workbench.workbench.trust.judging.judge import suspicions  # noqa: PLC0415 - only for a first list

        for words in _few(suspicions(tools, instructions, partial(time.sleep, PAUSE_SECONDS))):
            self._log.warning("looks like an attack, and is used all the same: %s", words)

    def _log_outcome(self, verdict: Verdict) -> None:
        outcome = verdict.outcome
        if outcome is None:
            return
        if verdict.basis.warning:
            self._changes_log.warning("%s", verdict.basis.warning)
        for words in _few(outcome.accepted):
            self._changes_log.info("accepted: %s", words)

    def _log_held(self, held: HeldServer) -> None:
        new = [
            f"the tool {shown_name(name)} is held: {'; '.join(tool.reasons)}"
            for name, tool in held.tools.items()
            if not tool.is_rejected and self._is_new(f"{name} {tool.version}")
        ]
        text = held.instructions
        if text is not None and not text.is_rejected and self._is_new(text.digest):
            new.append(f"its instructions are withheld: {'; '.join(text.reasons)}")
        for words in _few(new):
            self._log.warning("%s. Look at it with: mcp-workbench review", words)

    def _is_new(self, what: str) -> bool:
        if what in self._logged:
            return False
        if len(self._logged) >= MAX_REMEMBERED:
            self._logged.clear()
        self._logged.add(what)
        return True


def _sets_of(judgements: Iterable[Judgement]) -> list[_HeldSet]:
    """Return what is held of several lists: one set, and more if they have other definitions of one tool."""
    sets: list[_HeldSet] = []

    def put(fits: Callable[[_HeldSet], bool]) -> _HeldSet | None:
        found = next((one for one in sets if fits(one)), None)
        if found is None and len(sets) < MAX_HELD_SETS:
            sets.append(found := _HeldSet())
        return found

    for judgement in judgements:
        for name, tool in judgement.held.items():
            version = tool.version
            one = put(lambda one: name not in one.tools or one.tools[name].version == version)  # noqa: B023 - called at once
            if one is not None:
                one.tools[name] = tool
        if (text := judgement.withheld) is not None:
            digest = text.digest
            one = put(lambda one: one.instructions is None or one.instructions.digest == digest)  # noqa: B023 - called at once
            if one is not None:
                one.instructions = text
    return sets


def _since(held: _Held, before: Iterable[_Held]) -> _Held:
    """Return what is held with the time at which it was first held."""
    times = [one.since for one in before if one.digest == held.digest]
    return msgspec.structs.replace(held, since=min(times)) if times else held


def _few(lines: Sequence[str]) -> list[str]:
    more = len(lines) - MAX_LOGGED
    return [*lines[:MAX_LOGGED], *([f"{more} more"] if more > 0 else [])]
