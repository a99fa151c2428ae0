"""Searches of many at once: none of them holds up all else."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.workbench.searching.finder import Finder
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

READ_FILE = msgspec.Raw(json.dumps({"name": "read_file", "description": "Read a file"}).encode())
PLACES = {("dev", "files"): {"read_file": READ_FILE}}


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
    assert [await search for search in searches] == [[(("dev", "files"), "read_file")]] * len(searches)
