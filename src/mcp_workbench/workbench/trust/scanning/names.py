"""Findings that need the neighbours of a server: names that look alike, and references to tools of others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_workbench.config.validation.look_alikes import looks
from mcp_workbench.workbench.trust.scanning.texts import ToolTexts, texts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import msgspec

    from mcp_workbench.config import Origin
    from mcp_workbench.workbench.trust.scanning.rules import Severity

MIN_LIKE_CHARACTERS: Final = 8
"""Names that differ in one letter are compared from this length on: shorter ones are alike by chance."""
MIN_TOLD_CHARACTERS: Final = 6
"""References are looked for from this length of a name on."""
MAX_LIKE_CHARACTERS: Final = 64
"""Longer names are compared as a whole only: each letter costs one more entry."""


class NamedFinding(NamedTuple):
    """What was found about a tool because of its neighbours."""

    origin: Origin
    tool: str
    code: str
    severity: Severity
    place: str
    words: str


class _Tool(NamedTuple):
    origin: Origin
    definition: bytes
    texts: ToolTexts


def findings_of_names(servers: Mapping[Origin, Sequence[msgspec.Raw]]) -> Iterator[NamedFinding]:
    """Yield what is found about the tools of these servers when they are seen together.

    Only servers of one toolbox are compared, because a model sees their tools together.
    """
    toolboxes: dict[str, list[_Tool]] = {}
    for origin, definitions in servers.items():
        for definition in definitions:
            tool = _Tool(origin, bytes(definition), texts_of(definition))
            toolboxes.setdefault(origin[0], []).append(tool)
    for tools in toolboxes.values():
        if len({tool.origin for tool in tools}) > 1:
            yield from _look_alikes(tools)
            yield from _references(tools)


def _look_alikes(tools: list[_Tool]) -> Iterator[NamedFinding]:
    """Yield a finding for each tool whose name is easily taken for that of an earlier one."""
    exact: dict[str, _Tool] = {}
    by_look: dict[tuple[str, str], _Tool] = {}
    by_neighbour: dict[str, _Tool] = {}
    for tool in tools:
        name = tool.texts.name
        same = exact.get(name)
        look = next((by_look[one] for one in looks(name) if one in by_look), None)
        near = next((by_neighbour[one] for one in _neighbours(name) if one in by_neighbour), None)
        if same is not None:
            # The same server twice, or two of a kind, is nothing to worry about.
            if same.origin != tool.origin and same.definition != tool.definition:
                yield _like(tool, same, "soft")
        elif look is not None and look.origin != tool.origin:
            yield _like(tool, look, "hard" if not name.isascii() or not look.texts.name.isascii() else "soft")
        elif near is not None and near.origin != tool.origin:
            yield _like(tool, near, "soft")
        exact.setdefault(name, tool)
        for form in looks(name):
            by_look.setdefault(form, tool)
        for neighbour in _neighbours(name):
            by_neighbour.setdefault(neighbour, tool)


def _like(tool: _Tool, other: _Tool, severity: Severity) -> NamedFinding:
    words = f"{tool.texts.name} is like {other.texts.name} of {other.origin[1]}"
    return NamedFinding(tool.origin, tool.texts.name, "look-alike-name", severity, "name", words)


def _neighbours(name: str) -> set[str]:
    """Return the name without each of its letters: names that differ in one letter share one of these.

    Numbers and the plural are no typing mistakes, and so make no names alike.
    """
    if not MIN_LIKE_CHARACTERS <= len(name) <= MAX_LIKE_CHARACTERS:
        return set()
    lowered = name.lower()
    return {
        f"{index}:{lowered[:index]}{lowered[index + 1 :]}"
        for index, letter in enumerate(lowered)
        if letter.isalpha() and not (letter == "s" and index == len(lowered) - 1)
    }


def _references(tools: list[_Tool]) -> Iterator[NamedFinding]:
    """Yield a finding for each tool that speaks of a tool that only another server has."""
    owners: dict[str, set[Origin]] = {}
    for tool in tools:
        if len(tool.texts.name) >= MIN_TOLD_CHARACTERS and _is_distinctive(tool.texts.name):
            owners.setdefault(tool.texts.name.lower(), set()).add(tool.origin)
    for tool in tools:
        told = None
        for place, text in tool.texts.texts:
            named = {word.strip(".:") for word in _WORDS.findall(text.lower())} & owners.keys()
            told = next((name for name in sorted(named) if tool.origin not in owners[name]), None)
            if told is not None:
                at = text.lower().index(told)
                words = text[max(at - 100, 0) : at + len(told) + 100]
                yield NamedFinding(tool.origin, tool.texts.name, "other-server", "soft", place, words)
                break


_WORDS: Final = re.compile(r"[\w.:-]{6,128}")


def _is_distinctive(name: str) -> bool:
    """Whether a name cannot be a word of a language."""
    return re.search(r"[_:.-]|[a-z][A-Z]", name) is not None
