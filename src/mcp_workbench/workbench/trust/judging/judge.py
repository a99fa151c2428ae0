"""Judges a list of tools by what was approved of their server: which are held, and what is approved by it.

Owns the rules of `"pin"`: what `scan` and `strict` hold, and what they accept. Reads and writes nothing: the
outcome says what should be kept.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.protocol.lists import usable_tools
from mcp_workbench.storage.trust.pin_records import (
    INSTRUCTIONS,
    HeldInstructions,
    HeldTool,
    ServerPin,
    ToolPin,
    version_of,
)
from mcp_workbench.workbench.trust.digests import (
    hints_of,
    parsed,
    text_digest,
    tree_digest,
)
from mcp_workbench.workbench.trust.judging.approved import REJECTED
from mcp_workbench.workbench.trust.judging.comparing import (
    ToolVersion,
    changes,
    hard_findings,
    hard_findings_in_text,
    instruction_changes,
    locked_hints,
)
from mcp_workbench.workbench.trust.judging.verdict import Outcome, no_pause, shown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from mcp_workbench.workbench.trust.judging.approved import Basis, Texts
    from mcp_workbench.workbench.trust.judging.comparing import DefinitionChange

MAX_PINNED_TOOLS: Final = 10_000
"""Tools that the pin of one server has. Of more, those are forgotten that are not listed any more."""
TOOLS_BETWEEN_PAUSES: Final = 10
"""Tools that are judged without a pause: that takes less than a millisecond."""

IS_NEW: Final = "is new"
LOST: Final = "changed, and the approved definition is lost"
CHANGED: Final = "changed"


def judge(
    basis: Basis,
    listed: Iterable[msgspec.Raw],
    instructions: str,
    now: float,
    pause: Callable[[], None] = no_pause,
) -> Outcome:
    """Return what is held of the tools and instructions of a server. Calls `pause` after every few tools."""
    return _Judge(basis, now).judge(usable_tools(listed), instructions, pause)


def suspicions(listed: Iterable[msgspec.Raw], instructions: str, pause: Callable[[], None]) -> list[str]:
    """Return the hard findings in a list and in instructions, each with what it is about.

    Calls `pause` after each tool.
    """
    tools = usable_tools(listed)
    names = frozenset(tools)
    found: list[str] = []
    for name, definition in tools.items():
        found += [f"{shown_name(name)}: {words}" for words in hard_findings(definition, names)]
        pause()
    return [*found, *(f"the instructions: {words}" for words in hard_findings_in_text(instructions))]


def version(definition: msgspec.Raw) -> ToolVersion:
    """Return a definition with what is compared of it."""
    tree = parsed(definition)
    return ToolVersion(definition, tree, hints_of(tree))


class _Judge:
    """Judges one list of tools."""

    def __init__(self, basis: Basis, now: float) -> None:
        self._basis = basis
        self._now = now
        self._is_first = basis.pin is None
        identity = basis.identity
        self._approved = basis.pin or ServerPin(identity=identity.digest, program=identity.program)
        self._names: Collection[str] = ()
        """The names of all tools in the list."""
        self._held: dict[str, HeldTool] = {}
        self._pins: dict[str, ToolPin] = {}
        """The tools that are newly approved."""
        self._texts: dict[str, msgspec.Raw] = {}
        self._accepted: list[str] = []

    @cached_property
    def _known_texts(self) -> Texts:
        return self._basis.read_texts()

    def judge(
        self, tools: Mapping[str, msgspec.Raw], instructions: str, pause: Callable[[], None]
    ) -> Outcome:
        """Return what is held of the tools and instructions."""
        self._names = frozenset(tools)
        for number, (name, definition) in enumerate(tools.items(), 1):
            self._judge_tool(name, version(definition))
            if number % TOOLS_BETWEEN_PAUSES == 0:
                pause()
        withheld = self._judge_instructions(instructions)
        said = text_digest(instructions)
        pin = self._approved
        if self._pins or self._is_first:
            pin = msgspec.structs.replace(pin, tools=self._all_pins(tools))
        if withheld is None and said and said not in (pin.instructions, pin.instructions_before):
            before = pin.instructions
            pin = msgspec.structs.replace(pin, instructions=said, instructions_before=before)
        return Outcome(
            held=self._held,
            withheld=withheld,
            pin=pin,
            texts=self._texts,
            accepted=self._accepted,
        )

    def _all_pins(self, tools: Mapping[str, msgspec.Raw]) -> dict[str, ToolPin]:
        pins = self._approved.tools | self._pins
        if len(pins) > MAX_PINNED_TOOLS:
            pins = {name: pin for name, pin in pins.items() if name in tools}
        return pins

    def _judge_tool(self, name: str, new: ToolVersion) -> None:
        digest = tree_digest(dict(new.tree))
        pin = self._approved.tools.get(name)
        if self._basis.refusal:
            self._hold(name, new, digest, [self._basis.refusal])
        elif pin is not None and (pin.digest, pin.hints) == (digest, new.hints):
            return  # even if it was rejected: it was approved since, maybe by the lock of somebody else
        elif version_of(digest, new.hints) in self._basis.rejected.get(name, ()):
            self._hold(name, new, digest, [REJECTED])
        elif pin is None:
            self._judge_new(name, new, digest)
        else:
            self._judge_known(name, new, digest, pin)

    def _judge_new(self, name: str, new: ToolVersion, digest: str) -> None:
        # A first list is not held under `scan`: it is used at once, and scanned afterwards.
        holds = self._basis.is_strict or not self._is_first
        hard = hard_findings(new.definition, self._names) if holds else []
        if hard and self._is_first:
            self._hold(name, new, digest, hard)
            return
        if not self._is_first:
            if hard or self._basis.is_strict:
                self._hold(name, new, digest, [IS_NEW, *hard])
                return
            self._accepted.append(f"{shown_name(name)} {IS_NEW}")
        by = "first" if self._is_first else "scan"
        self._approve(name, ToolPin(digest=digest, hints=new.hints, since=self._now, by=by), new)

    def _judge_known(self, name: str, new: ToolVersion, digest: str, pin: ToolPin) -> None:
        is_approved = digest in (pin.digest, pin.before)
        if is_approved and new.hints == pin.hints:
            return
        found = self._changes(new, digest, pin)
        if found is None or self._basis.is_strict or any(change.is_held for change in found):
            self._hold(name, new, digest, [LOST] if found is None else _reasons(found))
        elif not is_approved or locked_hints(pin.hints, new.hints) != pin.hints:
            self._accepted.append(
                f"{shown_name(name)} {CHANGED}: {'; '.join(change.words for change in found)}"
            )
            before = pin.before if is_approved else pin.digest
            hints = locked_hints(pin.hints, new.hints)
            changed = ToolPin(
                digest=pin.digest if is_approved else digest,
                hints=hints,
                since=self._now,
                by="scan",
                before=before,
            )
            self._approve(name, changed, new if not is_approved else None)

    def _changes(self, new: ToolVersion, digest: str, pin: ToolPin) -> list[DefinitionChange] | None:
        """Return what changed since the approved definition that is nearest; None if none is there."""
        texts = (self._known_texts.get(known) for known in (pin.digest, pin.before) if known)
        approved = [ToolVersion(text, dict(parsed(text)), pin.hints) for text in texts if text is not None]
        found = [changes(before, new, self._names) for before in approved]
        if digest in (pin.digest, pin.before):
            found.append(changes(ToolVersion(new.definition, new.tree, pin.hints), new, self._names))
        return min(found, key=lambda one: (sum(change.is_held for change in one), len(one)), default=None)

    def _approve(self, name: str, pin: ToolPin, new: ToolVersion | None) -> None:
        self._pins[name] = pin
        if new is not None:
            self._texts[pin.digest] = new.definition

    def _hold(self, name: str, new: ToolVersion, digest: str, reasons: Sequence[str]) -> None:
        pin = self._approved.tools.get(name)
        is_rejected = version_of(digest, new.hints) in self._basis.rejected.get(name, ())
        self._held[name] = HeldTool(
            reasons=tuple(reasons),
            definition=new.definition,
            digest=digest,
            hints=new.hints,
            approved="" if pin is None else pin.digest,
            since=self._now,
            is_rejected=is_rejected,
        )

    def _judge_instructions(self, text: str) -> HeldInstructions | None:
        digest, pin = text_digest(text), self._approved
        if not digest:
            return None
        # As for tools: an approval counts more than a rejection before it.
        is_approved = digest == pin.instructions and not self._basis.refusal
        is_rejected = digest in self._basis.rejected.get(INSTRUCTIONS, ()) and not is_approved
        reasons = [REJECTED] if is_rejected else self._reasons_against(text, digest)
        if not reasons:
            if digest not in (pin.instructions, pin.instructions_before):
                self._texts[digest] = msgspec.Raw(msgspec.json.encode(text))
            return None
        return HeldInstructions(
            reasons=tuple(reasons),
            text=text,
            digest=digest,
            approved=pin.instructions,
            since=self._now,
            is_rejected=is_rejected,
        )

    def _reasons_against(self, text: str, digest: str) -> list[str]:
        """Return why instructions are withheld; empty if they are not."""
        basis, pin = self._basis, self._approved
        if basis.refusal:
            return [basis.refusal]
        if digest in (pin.instructions, pin.instructions_before):
            return []
        if self._is_first:
            return hard_findings_in_text(text) if basis.is_strict else []
        approved = self._known_texts.get(pin.instructions) if pin.instructions else msgspec.Raw(b'""')
        if approved is None:
            return [LOST]
        found = instruction_changes(msgspec.json.decode(approved, type=str), text)
        if basis.is_strict or any(change.is_held for change in found):
            return _reasons(found)
        self._accepted.append("the instructions changed")
        return []


def _reasons(found: Sequence[DefinitionChange]) -> list[str]:
    """Return what speaks against a change; if nothing does, what it is, because `strict` holds it anyway."""
    against = [change.words for change in found if change.is_held]
    return against or [change.words for change in found] or [CHANGED]
