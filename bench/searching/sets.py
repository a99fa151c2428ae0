"""Sets of tools with queries whose right tools are known, and queries as somebody in a hurry types them.

A directory of sets has one directory each: `tools.jsonl` with {id, server, server_description, name,
description, inputSchema}, and `queries*.jsonl` with {id, query, groups}, where a group is of tools that are
equally right. One without queries only adds to the tools that a large index holds. Without such a directory
there is a small set of our own.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

VARIABLE = "TOOLSEARCH_DATA"
OWN_SET = Path(__file__).parents[2] / "tests" / "workbench" / "searching" / "search_set.json"
OWN_NAME = "our own small set"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LEAST_TO_MISTYPE = 4
"""Letters of a word that may get a slip."""


class Query(NamedTuple):
    """What somebody asks, and which tools are right for it: one of each group."""

    text: str
    groups: tuple[tuple[str, ...], ...]


class ToolSet(NamedTuple):
    """Tools, and queries for them."""

    name: str
    tools: list[dict[str, Any]]
    queries: list[Query]


def names() -> list[str]:
    """The sets that there are queries for."""
    if not os.environ.get(VARIABLE):
        return [OWN_NAME]
    found = sorted(_directory().glob("*/queries*.jsonl"))
    return [f"{path.parent.name}:{path.stem}" for path in found]


def load(name: str) -> ToolSet:
    """One of the sets."""
    if name == OWN_NAME:
        return _own()
    directory, _, queries = name.partition(":")
    read = [
        Query(one["query"], tuple(tuple(group) for group in one["groups"]))
        for one in _lines(_directory() / directory / f"{queries}.jsonl")
    ]
    return ToolSet(name, list(_lines(_directory() / directory / "tools.jsonl")), read)


def everything() -> list[dict[str, Any]]:
    """The tools of all sets, those without queries too."""
    if not os.environ.get(VARIABLE):
        return _own().tools
    return [
        tool | {"id": f"{path.parent.name}|{tool['id']}", "server": f"{path.parent.name} {tool['server']}"}
        for path in sorted(_directory().glob("*/tools.jsonl"))
        for tool in _lines(path)
    ]


def mistyped(text: str, chance: random.Random, slips: int = 2) -> str:
    """The text with a slip of the finger in so many of its longer words."""
    words = [word for word in re.finditer(r"[A-Za-z]+", text) if len(word[0]) >= LEAST_TO_MISTYPE]
    chosen = chance.sample(words, min(slips, len(words)))
    for word in sorted(chosen, key=lambda word: -word.start()):
        text = text[: word.start()] + _slip(word[0], chance) + text[word.end() :]
    return text


def recall(ranked: Sequence[str], query: Query, count: int) -> float:
    """The share of a query's groups that are among the first so many."""
    first = set(ranked[:count])
    return sum(not first.isdisjoint(group) for group in query.groups) / len(query.groups)


def reciprocal_rank(ranked: Sequence[str], query: Query) -> float:
    """One by the place of the first right tool."""
    right = {tool for group in query.groups for tool in group}
    return next((1 / place for place, tool in enumerate(ranked, 1) if tool in right), 0.0)


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


def _own() -> ToolSet:
    read = json.loads(OWN_SET.read_text(encoding="utf-8"))
    tools = [
        {"id": f"{server}/{tool['name']}", "server": server, "server_description": said["about"], **tool}
        for server, said in read["servers"].items()
        for tool in said["tools"]
    ]
    queries = [Query(one["query"], ((one["tool"],),)) for one in read["queries"]]
    return ToolSet(OWN_NAME, tools, queries)


def _directory() -> Path:
    return Path(os.environ[VARIABLE])


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())
