"""What changed between two definitions of a tool, in words: texts, parameters and hints.

Owns the words, and that nothing is left out: whatever two definitions differ in is in one of the changes,
wherever a schema hides it. Values come from servers as they are: whoever shows them writes hidden characters
out. `word_differences` compares texts, `schema_differences` compares schemas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_workbench.workbench.trust.digests import TWICE, parsed, pinned_part
from mcp_workbench.workbench.trust.schema_differences import ABSENT, SchemaComparison, value_changes
from mcp_workbench.workbench.trust.word_differences import Change, text_changes

if TYPE_CHECKING:
    from collections.abc import Mapping

    import msgspec

TEXTS: Final = ("name", "title", "description", TWICE)
NOUNS: Final = {"inputSchema": "parameter", "outputSchema": "output"}
"""The schemas of a tool, and what a property of each is called."""
NOT_GIVEN: Final = "not given"


def tool_changes(before: msgspec.Raw | None, after: msgspec.Raw | None) -> list[Change]:
    """Return the differences between two definitions of a tool; None stands for no definition.

    Hints are compared apart. Icons, which no model reads, are not compared.
    """
    old, new = _members(before), _members(after)
    changes: list[Change] = []
    # The name of a new tool is not told: whoever shows it has named it.
    for member in TEXTS if old and new else TEXTS[1:]:
        changes += value_changes(member, old.get(member, ABSENT), new.get(member, ABSENT), is_text=True)
    for member, noun in NOUNS.items():
        comparison = SchemaComparison(member, noun)
        changes += comparison.changes(old.get(member, ABSENT), new.get(member, ABSENT))
    others = sorted({*old, *new} - {*TEXTS, *NOUNS})
    for member in others:
        changes += value_changes(member, old.get(member, ABSENT), new.get(member, ABSENT))
    if not changes and old and new:
        # Such as an empty list of required parameters: it means the same, and still is another definition.
        for member in (*TEXTS, *NOUNS):
            changes += value_changes(member, old.get(member, ABSENT), new.get(member, ABSENT))
    return changes


def hint_changes(before: Mapping[str, bool], after: Mapping[str, bool]) -> list[Change]:
    """Return the differences between the hints of two definitions."""
    return [
        Change("~", name, _hint(before.get(name)), _hint(after.get(name)))
        for name in sorted({*before, *after})
        if before.get(name) is not after.get(name)
    ]


def instruction_changes(before: str, after: str) -> list[Change]:
    """Return the difference between the instructions of a server, then and now."""
    return text_changes("instructions", before, after)


def _hint(value: bool | None) -> str:
    return NOT_GIVEN if value is None else str(value).lower()


def _members(definition: msgspec.Raw | None) -> dict[str, object]:
    return {} if definition is None else pinned_part(parsed(definition))
