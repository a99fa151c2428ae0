"""The verdict on a list of tools: what may be used of it, and what it approves.

Owns the short way for a list that is known to be exactly what was approved. Any other is judged by `judge`,
which is loaded for it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.workbench.text.sanitise import show_name
from mcp_workbench.workbench.text.shortening import shorten
from mcp_workbench.workbench.trust.digests import claim_of, list_digest
from mcp_workbench.workbench.trust.judgement import Judgement
from mcp_workbench.workbench.trust.judging.approved import basis_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcp_workbench.config.model.policy import ToolHint
    from mcp_workbench.storage.trust.pin_records import HeldInstructions, HeldTool, ServerPin
    from mcp_workbench.workbench.trust.judging.approved import Basis, Seen, ServerIdentity, Texts

NAME_CHARACTERS: Final = 60
"""Length of a name in reasons and in the log."""


def no_pause() -> None:
    """Go on at once: somebody waits for the verdict."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What is held of a list of tools, and what it approves."""

    held: Mapping[str, HeldTool]
    withheld: HeldInstructions | None
    pin: ServerPin
    """What is approved now: the same object as before if nothing has changed."""
    texts: Mapping[str, msgspec.Raw]
    """The texts of what is newly approved, by digest."""
    accepted: Sequence[str]
    """What was accepted, in words, but for a first list."""


class Verdict(msgspec.Struct, frozen=True, eq=False):
    """The judgement of a list of tools, and how it came about."""

    judgement: Judgement
    basis: Basis
    outcome: Outcome | None
    """What the list approves; None if it is known to be exactly what was approved."""


def verdict_on(
    seen: Seen,
    identity: ServerIdentity,
    read_texts: Callable[[], Texts],
    listed: Sequence[msgspec.Raw],
    instructions: str,
    *,
    pause: Callable[[], None],
) -> Verdict:
    """Return what may be used of a list of tools. `pause` is called after every few tools."""
    basis = basis_of(seen, identity, read_texts)
    pin = basis.pin
    judged = seen.record.judged
    if pin is not None and not basis.refusal and exact_key(basis, pin, listed, instructions) in judged:
        return Verdict(Judgement(hints=claims_of(pin)), basis, None)
    from mcp_workbench.workbench.trust.judging.judge import judge  # noqa: PLC0415 - see the module

    outcome = judge(basis, listed, instructions, time.time(), pause)
    # What the lock does not have is not approved, even if it was accepted.
    approved = pin if basis.is_locked and pin is not None else outcome.pin
    hints = {} if basis.refusal else claims_of(approved)
    return Verdict(Judgement(held=outcome.held, withheld=outcome.withheld, hints=hints), basis, outcome)


def exact_key(basis: Basis, pin: ServerPin, listed: Iterable[msgspec.Raw], instructions: str) -> str:
    """Return a digest of a pin and a list, by which the list is known to be what the pin approves.

    `strict` holds more than `scan`, so that a list is known under one of them only.
    """
    level = "strict" if basis.is_strict else "scan"
    return list_digest(listed, instructions, level, msgspec.json.encode(pin).decode())


def claims_of(pin: ServerPin) -> dict[str, ToolHint]:
    """Return what the approved hints of each tool claim, by name."""
    return {name: claim_of(tool.hints) for name, tool in pin.tools.items()}


def shown_name(name: str) -> str:
    """Return the name of a tool or a parameter in quotes, fit to be shown."""
    return f"'{shorten(show_name(name), NAME_CHARACTERS)}'"
