"""Finding tools by what they do, among all of which it is known that they are there. Starts nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.fairness import FairSemaphore
from mcp_workbench.wire.threads import in_thread
from mcp_workbench.workbench.searching.index import SearchIndex, read_entry
from mcp_workbench.workbench.searching.word_vectors import is_installed

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Iterator, Mapping

    from mcp_workbench.config import Origin
    from mcp_workbench.errors import StrPath
    from mcp_workbench.workbench.searching.index import Hit
    from mcp_workbench.workbench.searching.semantic_index import SemanticIndex
    from mcp_workbench.workbench.toolbox_server import Index

FEW: Final = 100
"""Tools that are read at once, in some milliseconds. More are read beside the loop."""
MANY: Final = 1000
"""Tools that are searched within some milliseconds. More are searched beside the loop."""
PATIENCE: Final = 60.0
"""Seconds for reading all there are, which is a small part of it for the largest lists that are taken."""


class _Read(msgspec.Struct, frozen=True):
    origin: Origin
    index: Index
    names: list[str]
    """Of its tools, in the order in which they were given to the search."""


class Finder:
    """Keeps what it has read of the tools for as long as they are the same."""

    def __init__(self, cache: StrPath) -> None:
        self._cache = cache
        self._begin()
        self._reading: asyncio.Task[None] | None = None
        self._turn = FairSemaphore(1, lambda: 1)

    def _begin(self) -> None:
        self._semantic_index = _semantic_index(self._cache)
        self._search = SearchIndex(self._semantic_index)
        self._read: dict[Hashable, _Read] = {}

    async def find(
        self,
        query: str,
        limit: int,
        sources: Mapping[Origin, Index],
        among: Container[Origin],
        principal: str = "",
    ) -> list[tuple[Origin, str]]:
        """The best tools for a query, by their places and names, of some of the servers that have these."""
        # A search takes milliseconds where there are many tools, and may be one of many. So there is one in
        # each turn of the loop, and all else is done in between.
        async with self._turn.place(principal):
            await asyncio.sleep(0)
            await self._catch_up(sources)
            hits = await self._hits(query, limit, among)
            read = [(self._read[hit.group], hit.position) for hit in hits]
        return [(it.origin, it.names[position]) for it, position in read]

    async def _hits(self, query: str, limit: int, among: Container[Origin]) -> list[Hit]:
        if sum(len(read.names) for read in self._read.values()) <= MANY:
            return self._search.search(query, limit, among)
        search = self._search
        return await in_thread(lambda: search.search(query, limit, among), PATIENCE)

    async def _catch_up(self, sources: Mapping[Origin, Index]) -> None:
        while True:
            if self._reading is not None:
                # All wait for the same reading, which goes on when one of them goes away.
                await asyncio.shield(self._reading)
                continue
            for gone in self._read.keys() - sources.keys():
                del self._read[gone]
                self._search.drop(gone)
            fresh = dict(self._fresh(sources))
            if not fresh:
                return
            if self._semantic_index is None and sum(map(len, fresh.values())) <= FEW:
                self._take(fresh)
                return
            self._reading = asyncio.create_task(self._take_beside(fresh))

    def _fresh(self, sources: Mapping[Origin, Index]) -> Iterator[tuple[Origin, Index]]:
        for origin, index in sources.items():
            read = self._read.get(origin)
            if read is None or read.index is not index:
                yield origin, index

    def _take(self, sources: Mapping[Origin, Index]) -> None:
        for origin, index in sources.items():
            names = " ".join(dict.fromkeys(origin))  # of its toolbox and its server
            self._search.put(origin, [read_entry(definition, names) for definition in index.values()])
            self._read[origin] = _Read(origin, index, list(index))
        if self._semantic_index is not None:
            self._semantic_index.learn()

    async def _take_beside(self, sources: Mapping[Origin, Index]) -> None:
        try:
            await in_thread(lambda: self._take(sources), PATIENCE)
        except BaseException:
            # Whatever is half done is left to whoever may still be at it.
            self._begin()
            raise
        finally:
            self._reading = None


def _semantic_index(cache: StrPath) -> SemanticIndex | None:
    if not is_installed():
        return None
    from mcp_workbench.workbench.searching.semantic_index import SemanticIndex  # noqa: PLC0415 - few have the extra

    return SemanticIndex(cache)
