"""A small set of tools and queries of our own, and what a search finds of it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from bench.searching import rankers, sets
from mcp_workbench.workbench.searching.index import Entry, SearchIndex

if TYPE_CHECKING:
    from collections.abc import Iterable

OWN = sets.load(sets.OWN_NAME)


def seeded(seed: int) -> random.Random:
    """Chance that is the same in every run."""
    return random.Random(seed)  # noqa: S311 - a reproducible sample, not a secret


def own_tools() -> dict[str, list[Entry]]:
    """The tools of our own set by server."""
    groups: dict[str, list[Entry]] = {}
    for entry in rankers.workbench.prepare(OWN.tools):
        groups.setdefault(entry.server, []).append(entry)
    return groups


def indexed(groups: dict[str, list[Entry]]) -> SearchIndex:
    """An index of some groups."""
    index = SearchIndex()
    for name, entries in groups.items():
        index.put(name, entries)
    return index


def found(
    index: SearchIndex, groups: dict[str, list[Entry]], query: str, limit: int = 5, *within: str
) -> list[str]:
    """What a search finds, as server/tool."""
    hits = index.search(query, limit, within or None)
    return [f"{hit.group}/{groups[str(hit.group)][hit.position].name}" for hit in hits]


def recall(index: SearchIndex, groups: dict[str, list[Entry]], queries: Iterable[sets.Query]) -> float:
    """The share of queries whose tool is among the first five."""
    shares = [sets.recall(found(index, groups, query.text), query, 5) for query in queries]
    return sum(shares) / len(shares)
