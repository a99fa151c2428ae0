"""Searches of many at once: none of them holds up all else."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.workbench.searching.finder import Finder
from mcp_workbench.workbench.searching.spelling import SpellingIndex
from mcp_workbench.workbench.searching.terms import SPELLING_STEP_WORDS
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pytest

READ_FILE = msgspec.Raw(json.dumps({"name": "read_file", "description": "Read a file"}).encode())
PLACES = {("dev", "files"): {"read_file": READ_FILE}}
FOUND = [(("dev", "files"), "read_file")]


async def test_of_searches_that_are_made_at_once_each_has_a_turn_of_its_own(tmp_path: Path) -> None:
    finder = Finder(tmp_path)
    await finder.find("read", 5, PLACES, PLACES)
    searches = [asyncio.create_task(finder.find("read", 5, PLACES, PLACES)) for _ in range(20)]
    turns = 0
    async with asyncio.timeout(PATIENCE):
        while not all(search.done() for search in searches):
            await asyncio.sleep(0)
            turns += 1
    assert turns >= len(searches)
    assert [await search for search in searches] == [FOUND] * len(searches)


class Additions:
    """Records the words that are added to spelling indexes, and by which threads. `may_add` lets them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.threads: list[int] = []
        self.sizes: list[int] = []
        self.begun, self.may_add = asyncio.Event(), threading.Event()
        loop, add = asyncio.get_running_loop(), SpellingIndex.add

        def recorded(index: SpellingIndex, words: Iterable[str]) -> None:
            listed = list(words)
            self.threads.append(threading.get_ident())
            self.sizes.append(len(listed))
            loop.call_soon_threadsafe(self.begun.set)
            self.may_add.wait(PATIENCE)
            add(index, listed)

        monkeypatch.setattr(SpellingIndex, "add", recorded)


async def test_the_loop_never_builds_the_spelling_index_and_a_thread_does_so_in_short_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    additions, finder = Additions(monkeypatch), Finder(tmp_path)
    additions.may_add.set()
    assert await finder.find("read", 5, PLACES, PLACES) == FOUND
    assert additions.threads == []  # no word was mistyped
    assert await finder.find("raed a flie", 5, PLACES, PLACES) == FOUND
    assert additions.threads
    assert threading.get_ident() not in additions.threads
    assert max(additions.sizes) <= SPELLING_STEP_WORDS
    steps = len(additions.threads)
    assert await finder.find("flie", 5, PLACES, PLACES) == FOUND
    assert len(additions.threads) == steps


async def test_a_spelling_index_that_many_wait_for_is_built_once_though_the_first_gives_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    additions, finder = Additions(monkeypatch), Finder(tmp_path)
    first, *others = [asyncio.create_task(finder.find("raed", 5, PLACES, PLACES)) for _ in range(3)]
    async with asyncio.timeout(PATIENCE):
        await additions.begun.wait()
        first.cancel()
        await asyncio.wait([first])
        additions.may_add.set()
        assert [await search for search in others] == [FOUND, FOUND]
    assert first.cancelled()
    assert len(set(additions.threads)) == 1
