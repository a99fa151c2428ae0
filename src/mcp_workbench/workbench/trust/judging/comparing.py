"""What changed between the approved definition of a tool and the one that its server lists now.

Owns which changes may be an attack, so that the tool is held under `"pin": "scan"`, and their words.
`differences` shows a person the whole difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from mcp_workbench.workbench.trust.digests import claim_of, has_twice, tree_digest
from mcp_workbench.workbench.trust.judging.capacity import TooManyParameters
from mcp_workbench.workbench.trust.judging.parameters import (
    Parameter,
    parameters_of,
    path_words,
    relations_of,
)
from mcp_workbench.workbench.trust.judging.verdict import shown_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from mcp_workbench.config.model.policy import ToolHint
    from mcp_workbench.workbench.trust.judging.parameters import Path
    from mcp_workbench.workbench.trust.scanning.scanner import ScanFinding

MAX_NAMED: Final = 5
"""Changes of one kind that are named one by one."""

_RANKS: Final[dict[ToolHint, int]] = {"read-only": 0, "additive": 1, "unknown": 2, "destructive": 2}
"""How much a claim promises: the lower, the more."""


class DefinitionChange(msgspec.Struct, frozen=True):
    """One thing in which a definition is not the approved one any more."""

    words: str
    """What changed, as a phrase about the tool, without texts of the server but cleaned names."""
    is_held: bool
    """Whether the change may be an attack, so that a person has to see it."""


class ToolVersion(msgspec.Struct, frozen=True):
    """A definition of a tool with what is compared of it."""

    definition: msgspec.Raw
    tree: Mapping[str, Any]
    """The definition as data, see `digests.parsed`."""
    hints: dict[str, bool]


def changes(approved: ToolVersion, new: ToolVersion, siblings: Collection[str]) -> list[DefinitionChange]:
    """Return what changed; empty if the difference is only cosmetic.

    `siblings` are the names of all tools of the server.
    """
    found = [*_hint_changes(approved.hints, new.hints)]
    if approved.definition != new.definition:
        from mcp_workbench.workbench.trust.scanning.scanner import gained_in_tool  # noqa: PLC0415 - not for a first list

        gained = gained_in_tool(approved.definition, new.definition, siblings)
        found += [held(_finding_words(finding)) for finding in gained]
        old_tree, new_tree = dict(approved.tree), dict(new.tree)
        if tree_digest(old_tree) != tree_digest(new_tree):
            found += _tree_changes(old_tree, new_tree)
    return found


def instruction_changes(approved: str, new: str) -> list[DefinitionChange]:
    """Return what changed in a server's instructions, which are not the approved ones."""
    from mcp_workbench.workbench.trust.scanning.scanner import gained_in_text  # noqa: PLC0415 - not for a first list

    gained = gained_in_text("instructions", approved, new)
    found = [held(_finding_words(finding)) for finding in gained]
    return found or [clean("its words changed")]


def hard_findings(definition: msgspec.Raw, siblings: Collection[str]) -> list[str]:
    """Return the hard findings in a definition, in words."""
    found = findings(definition, siblings)
    return [_finding_words(finding) for finding in found if finding.severity == "hard"]


def hard_findings_in_text(text: str) -> list[str]:
    """Return the hard findings in a server's instructions, in words."""
    return [_finding_words(finding) for finding in findings_in_text(text) if finding.severity == "hard"]


def findings(definition: msgspec.Raw, siblings: Collection[str]) -> list[ScanFinding]:
    """Return what the scanner finds in a definition."""
    from mcp_workbench.workbench.trust.scanning.scanner import scan_tool  # noqa: PLC0415 - not for a first list

    return scan_tool(definition, siblings)


def findings_in_text(text: str) -> list[ScanFinding]:
    """Return what the scanner finds in a server's instructions."""
    from mcp_workbench.workbench.trust.scanning.scanner import scan_text  # noqa: PLC0415 - not for a first list

    return scan_text("instructions", text)


def locked_hints(approved: dict[str, bool], new: dict[str, bool]) -> dict[str, bool]:
    """Return the hints that count after an accepted change: a claim never becomes more harmless by itself."""
    return approved if _RANKS[claim_of(new)] < _RANKS[claim_of(approved)] else new


def held(words: str) -> DefinitionChange:
    """Return a change that may be an attack."""
    return DefinitionChange(words, is_held=True)


def clean(words: str) -> DefinitionChange:
    """Return a change that is accepted."""
    return DefinitionChange(words, is_held=False)


def _hint_changes(approved: dict[str, bool], new: dict[str, bool]) -> Iterator[DefinitionChange]:
    before, now = claim_of(approved), claim_of(new)
    if approved == new:
        return
    if before != now and (_RANKS[now] > _RANKS[before] or before == "destructive"):
        yield held(f"claimed to be {before}, and now claims to be {now}")
    elif locked_hints(approved, new) == approved:
        yield clean(f"claims to be {now}, and still counts as {before}")
    else:
        yield clean("its hints changed")


def _tree_changes(approved: dict[str, Any], new: dict[str, Any]) -> Iterator[DefinitionChange]:
    if has_twice(new):
        yield held("changed, and has two members of the same name, so that not everybody reads the same")
    elif has_twice(approved):
        # Nobody knows which of the two counted, so there is nothing to compare with.
        yield held("changed, and had two members of the same name before")
    try:
        yield from _parameter_changes(approved.get("inputSchema"), new.get("inputSchema"))
    except (TooManyParameters, RecursionError):
        yield held("has too many parameters to compare them")
        return
    yield clean("its words or schemas changed")


def _parameter_changes(approved: Any, new: Any) -> Iterator[DefinitionChange]:
    before, now = parameters_of(approved), parameters_of(new)
    nothing = Parameter()
    required = [path for path, one in now.items() if one.need > before.get(path, nothing).need]
    free = [path for path, one in now.items() if one.is_wider(before.get(path)) and path not in required]
    yield from _named(required, "requires a parameter that it did not require before")
    yield from _named(free, "takes any text in a parameter")
    if relations_of(approved) != relations_of(new):
        yield held("changed what its parameters have to do with each other")
    if any(path not in before and path not in required and path not in free for path in now):
        yield clean("has new optional parameters")


def _named(paths: list[Path], what: str) -> Iterator[DefinitionChange]:
    for path in paths[:MAX_NAMED]:
        yield held(f"{what}: {shown_name(path_words(path))}")
    if len(paths) > MAX_NAMED:
        yield held(f"{what}: {len(paths) - MAX_NAMED} more")


def _finding_words(finding: ScanFinding) -> str:
    return f"{finding.why} ({finding.code} in {shown_name(finding.place)})"
