"""A small set of tools and queries of our own, and what a search finds of it: for tests and the benchmark."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_workbench.workbench.search import Entry, SearchIndex, read_entry

if TYPE_CHECKING:
    from collections.abc import Iterable

OWN_SET = Path(__file__).parents[1] / "workbench" / "search_set.json"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LEAST_TO_MISTYPE = 4


class Query(NamedTuple):
    """What somebody asks, and the tool that is right for it, as server/tool."""

    text: str
    tool: str


def seeded(seed: int) -> random.Random:
    """Chance that is the same in every run."""
    return random.Random(seed)  # noqa: S311 - a reproducible sample, not a secret


def own_tools() -> dict[str, list[Entry]]:
    """The tools of our own set by server."""
    servers: dict[str, Any] = json.loads(OWN_SET.read_text(encoding="utf-8"))["servers"]
    return {
        name: [read_entry(json.dumps(tool).encode(), name, server["about"]) for tool in server["tools"]]
        for name, server in servers.items()
    }


def own_queries() -> list[Query]:
    """The queries of our own set."""
    found = json.loads(OWN_SET.read_text(encoding="utf-8"))["queries"]
    return [Query(one["query"], one["tool"]) for one in found]


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


def mistyped(text: str, chance: random.Random, slips: int = 2) -> str:
    """The text with a slip of the finger in so many of its longer words."""
    words = [word for word in re.finditer(r"[A-Za-z]+", text) if len(word[0]) >= LEAST_TO_MISTYPE]
    chosen = chance.sample(words, min(slips, len(words)))
    for word in sorted(chosen, key=lambda word: -word.start()):
        text = text[: word.start()] + _slip(word[0], chance) + text[word.end() :]
    return text


def _slip(word: str, chance: random.Random) -> str:
    place = chance.randrange(len(word) - 1)
    before, letter, after = word[:place], word[place], word[place + 1 :]
    wrong = chance.choice(LETTERS)
    return chance.choice(
        (
            f"{before}{after[0]}{letter}{after[1:]}",
            f"{before}{after}",
            f"{before}{letter}{letter}{after}",
            f"{before}{wrong}{after}",
            f"{before}{wrong}{letter}{after}",
        )
    )


def recall(index: SearchIndex, groups: dict[str, list[Entry]], queries: Iterable[Query]) -> float:
    """The share of queries whose tool is among the first five."""
    hits = [query.tool in found(index, groups, query.text) for query in queries]
    return sum(hits) / len(hits)
