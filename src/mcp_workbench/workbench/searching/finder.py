"""Finds tools by what they do, among all known tools. Starts no server."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.fairness import FairSemaphore
from mcp_workbench.wire.shared import outcome_of
from mcp_workbench.wire.threads import in_thread
from mcp_workbench.workbench.searching.index import SearchIndex, read_entry
from mcp_workbench.workbench.searching.word_vectors import is_installed

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Hashable, Iterator, Mapping

    from mcp_workbench.config import Origin
    from mcp_workbench.errors import StrPath
    from mcp_workbench.workbench.searching.index import Hit
    from mcp_workbench.workbench.searching.semantic_index import SemanticIndex
    from mcp_workbench.workbench.toolbox_server import Index

INLINE_READ_TOOLS: Final = 100
"""Tools that are read in the event loop, in some milliseconds. More are read in a thread."""
INLINE_SEARCH_TOOLS: Final = 1000
"""Tools that are searched in the event loop, in some milliseconds. More are searched in a thread."""
YIELD_SECONDS: Final = 20e-6
"""Pause after each step of long work in a thread. Without it, the event loop would wait for the interpreter's
lock for 5 ms each time that it has something to do."""
TIMEOUT_SECONDS: Final = 60.0
"""Time for reading or searching in a thread; the largest accepted lists take a small part of it."""


class _ReadServer(msgspec.Struct, frozen=True):
    """The tools of a server that are in the search index."""

    origin: Origin
    index: Index
    names: list[str]
    """The names of its tools, in the order of the search index."""


class Finder:
    """Searches tools, and reads the tools of a server again only if they have changed."""

    def __init__(self, cache: StrPath) -> None:
        self._cache = cache
        self._start_empty()
        self._preparing: asyncio.Task[None] | None = None
        self._turn = FairSemaphore(1, lambda: 1)

    def _start_empty(self) -> None:
        self._semantic_index = _semantic_index(self._cache)
        self._search = SearchIndex(self._semantic_index)
        self._read: dict[Hashable, _ReadServer] = {}

    async def find(
        self,
        query: str,
        limit: int,
        sources: Mapping[Origin, Index],
        among: Container[Origin],
        principal: str = "",
    ) -> list[tuple[Origin, str]]:
        """Return the best tools for a query, as origins and names, of the servers in `among`."""
        # A search takes milliseconds if there are many tools, and there may be many searches. So one runs in
        # each turn of the event loop, and other tasks run in between.
        async with self._turn.place(principal):
            await asyncio.sleep(0)
            await self._prepare(query, sources)
            hits = await self._hits(query, limit, among)
            read = [(self._read[hit.group], hit.position) for hit in hits]
        return [(server.origin, server.names[position]) for server, position in read]

    async def _hits(self, query: str, limit: int, among: Container[Origin]) -> list[Hit]:
        if sum(len(read.names) for read in self._read.values()) <= INLINE_SEARCH_TOOLS:
            return self._search.search(query, limit, among)
        search = self._search
        return await in_thread(lambda: search.search(query, limit, among), TIMEOUT_SECONDS)

    async def _prepare(self, query: str, sources: Mapping[Origin, Index]) -> None:
        """Bring the index up to date, and prepare it for the words of a query. Long work runs in a thread."""
        while True:
            if self._preparing is not None:
                # All wait for the same thread, which goes on if one of them is cancelled.
                await outcome_of(self._preparing)
                continue
            for gone in self._read.keys() - sources.keys():
                del self._read[gone]
                self._search.drop(gone)
            if changed := dict(self._changed(sources)):
                if self._semantic_index is None and sum(map(len, changed.values())) <= INLINE_READ_TOOLS:
                    self._read_all(changed)
                else:
                    self._preparing = asyncio.create_task(self._in_thread(partial(self._read_all, changed)))
            elif self._search.is_ready(query):
                return
            else:
                self._preparing = asyncio.create_task(self._in_thread(partial(_learn_spelling, self._search)))

    def _changed(self, sources: Mapping[Origin, Index]) -> Iterator[tuple[Origin, Index]]:
        for origin, index in sources.items():
            read = self._read.get(origin)
            if read is None or read.index is not index:
                yield origin, index

    def _read_all(self, sources: Mapping[Origin, Index]) -> None:
        for origin, index in sources.items():
            names = " ".join(dict.fromkeys(origin))  # toolbox and server
            self._search.put(origin, [read_entry(definition, names) for definition in index.values()])
            self._read[origin] = _ReadServer(origin, index, list(index))
        if self._semantic_index is not None:
            self._semantic_index.learn()

    async def _in_thread(self, work: Callable[[], None]) -> None:
        try:
            await in_thread(work, TIMEOUT_SECONDS)
        except BaseException:
            # The thread may still run: leave the old index to it, and start with a new one.
            self._start_empty()
            raise
        finally:
            self._preparing = None


def _learn_spelling(search: SearchIndex) -> None:
    for _ in search.prepare():
        time.sleep(YIELD_SECONDS)


def _semantic_index(cache: StrPath) -> SemanticIndex | None:
    if not is_installed():
        return None
    from mcp_workbench.workbench.searching.semantic_index import SemanticIndex  # noqa: PLC0415 - few have the extra

    return SemanticIndex(cache)
