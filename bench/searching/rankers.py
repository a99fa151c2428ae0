"""What is compared: each built from tools, with a method that gives the ids of the best for a query.

The evaluation harness of the data takes them too: `--ranker bench.searching.rankers:workbench`.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.workbench.searching.index import Entry
    from mcp_workbench.workbench.searching.semantic_index import SemanticIndex

    Tools = Sequence[dict[str, Any]]


class Ranker(Protocol):
    """An index of tools."""

    def rank(self, query: str, count: int) -> list[str]:
        """The ids of the best tools."""


class workbench:  # noqa: N801 - it is given to the harness as a factory
    """The workbench's own search; a server is a group."""

    @staticmethod
    def prepare(tools: Tools) -> list[Entry]:
        """The tools as the workbench reads them out of a server's list."""
        from mcp_workbench.workbench.searching.index import read_entry  # noqa: PLC0415 - only in its own process

        return [read_entry(json.dumps(tool).encode(), tool["server"]) for tool in tools]

    def __init__(self, tools: Tools, prepared: list[Entry] | None = None) -> None:
        from mcp_workbench.workbench.searching.index import SearchIndex  # noqa: PLC0415 - only in its own process

        self._ids: dict[str, list[str]] = {}
        groups: dict[str, list[Entry]] = {}
        for tool, entry in zip(tools, prepared or self.prepare(tools), strict=True):
            self._ids.setdefault(tool["server"], []).append(tool["id"])
            groups.setdefault(tool["server"], []).append(entry)
        senses = self._senses()
        self._index = SearchIndex(senses)
        for server, found in groups.items():
            self._index.put(server, found)
        if senses is not None:
            senses.learn()

    def _senses(self) -> SemanticIndex | None:
        return None

    def rank(self, query: str, count: int) -> list[str]:
        """The ids of the best tools."""
        return [self._ids[str(hit.group)][hit.position] for hit in self._index.search(query, count)]


class semantic(workbench):  # noqa: N801 - as above
    """The same with the extra, from scratch: nothing is remembered of earlier runs."""

    def _senses(self) -> SemanticIndex | None:
        from mcp_workbench.workbench.searching.semantic_index import SemanticIndex  # noqa: PLC0415 - only in its own process

        return SemanticIndex(os.devnull)


class fastmcp:  # noqa: N801 - as above
    """The index of FastMCP's `BM25SearchTransform`, with the text of a mounted server's tools."""

    @staticmethod
    def prepare(tools: Tools) -> list[str]:
        """What it searches of each tool."""
        from fastmcp.server.transforms.search import base  # noqa: PLC0415 - only in its own process
        from fastmcp.tools.base import Tool  # noqa: PLC0415

        return [
            base._extract_searchable_text(  # noqa: SLF001 - the transform itself wants a server around it
                Tool(name=name, description=tool["description"], parameters=tool["inputSchema"])
            )
            for tool in tools
            if (name := f"{tool['server']}_{tool['name']}".removeprefix("_"))
        ]

    def __init__(self, tools: Tools, prepared: list[str] | None = None) -> None:
        from fastmcp.server.transforms.search import bm25  # noqa: PLC0415 - only in its own process

        self._ids = [tool["id"] for tool in tools]
        self._index = bm25._BM25Index()  # noqa: SLF001 - as above
        self._index.build(prepared or self.prepare(tools))

    def rank(self, query: str, count: int) -> list[str]:
        """The ids of the best tools."""
        return [self._ids[place] for place in self._index.query(query, count)]


class plain:  # noqa: N801 - as above
    """BM25 as in a textbook, over all the text of a tool: the peer where there is no FastMCP."""

    @staticmethod
    def prepare(tools: Tools) -> list[str]:
        """All the text of each tool."""
        return [_text(tool) for tool in tools]

    def __init__(self, tools: Tools, prepared: list[str] | None = None) -> None:
        self._ids = [tool["id"] for tool in tools]
        self._counts = [Counter(_words(text)) for text in prepared or self.prepare(tools)]
        self._lengths = [counts.total() for counts in self._counts]
        self._usual = sum(self._lengths) / max(1, len(tools))
        self._having = Counter(word for counts in self._counts for word in counts)

    def rank(self, query: str, count: int) -> list[str]:
        """The ids of the best tools."""
        scores: dict[int, float] = {}
        for word in _words(query):
            having = self._having[word]
            rarity = math.log(1 + (len(self._ids) - having + 0.5) / (having + 0.5))
            for number, counts in enumerate(self._counts):
                if found := counts[word]:
                    norm = 1.5 * (0.25 + 0.75 * self._lengths[number] / self._usual)
                    scores[number] = scores.get(number, 0.0) + rarity * found * 2.5 / (found + norm)
        best = sorted(scores, key=lambda number: (-scores[number], number))
        return [self._ids[number] for number in best[:count]]


def _text(tool: dict[str, Any]) -> str:
    parameters = tool["inputSchema"].get("properties", {})
    described = [f"{name} {about.get('description', '')}" for name, about in parameters.items()]
    return " ".join((tool["name"], tool["description"], *described))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]{2,}", text.casefold())


class Kind(Protocol):
    """What makes an index of tools, in two steps, so that the second can be measured alone."""

    @staticmethod
    def prepare(tools: Tools) -> Any:
        """What is searched of each tool."""

    def __call__(self, tools: Tools, prepared: Any = None) -> Ranker:
        """The index."""


RANKERS: dict[str, Kind] = {"workbench": workbench, "semantic": semantic, "fastmcp": fastmcp, "plain": plain}
