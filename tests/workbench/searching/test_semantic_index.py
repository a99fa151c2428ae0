"""Search without the extra `semantic`, or with one that does not work, goes by words alone."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import TYPE_CHECKING

from mcp_workbench.workbench.searching.index import Entry, SearchIndex
from mcp_workbench.workbench.searching.semantic_index import SemanticIndex, parts_of, text_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from mcp_workbench.workbench.searching.word_vectors import WordVectors

ENTRIES = [
    Entry("read_file", "fs", description="Read a file"),
    Entry("sendMail", "mail", description="Send a letter", parameters=(("mailTo", "Who gets it"),)),
]


FIND = """
import asyncio, sys
from mcp_workbench.workbench.searching import word_vectors
from mcp_workbench.workbench.searching import finder

word_vectors.find_spec = lambda name: None
tools = {"read_file": b'{"name": "read_file", "description": "Read a file"}'}
places = {("dev", "fs"): tools}
print(asyncio.run(finder.Finder("nowhere").find("read", 5, places, places)))
print([name for name in sys.modules if name.partition(".")[0] in ("numpy", "tokenizers", "wordllama")])
print([name for name in sys.modules if name.endswith((".semantic_index", ".tool_vectors"))])
"""


def test_without_the_extra_nothing_of_it_is_imported_for_a_search() -> None:
    done = subprocess.run([sys.executable, "-c", FIND], capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == ["[(('dev', 'fs'), 'read_file')]", "[]", "[]"]


def test_an_extra_that_does_not_work_is_told_of_once_and_words_are_searched(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def load() -> WordVectors:
        raise ImportError("no such library")

    semantic_index = SemanticIndex(tmp_path, load)
    index, plain = SearchIndex(semantic_index), SearchIndex()
    with caplog.at_level(logging.WARNING):
        for group in ("a", "b"):
            index.put(group, ENTRIES)
            plain.put(group, ENTRIES)
            semantic_index.learn()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "ImportError: no such library" in caplog.text
    assert "workbench-mcp[semantic]" in caplog.text
    assert index.search("send a letter", 5) == plain.search("send a letter", 5) != []


def test_nothing_is_loaded_where_there_is_nothing_to_search(tmp_path: Path) -> None:
    def load() -> WordVectors:
        raise AssertionError("loaded")

    semantic_index = SemanticIndex(tmp_path, load)
    index = SearchIndex(semantic_index)
    index.put("a", ENTRIES)
    index.drop("a")
    semantic_index.learn()
    assert index.search("send a letter", 5) == []


def test_what_is_looked_at_of_a_tool_is_written_as_words() -> None:
    assert text_of(ENTRIES[1]) == "mail send Mail. Send a letter mail To"


def test_a_query_that_asks_for_several_things_has_parts() -> None:
    query = "Find a flight to Rome, book a hotel there and tell me the weather. Thanks!"
    assert parts_of(query) == ["Find a flight to Rome", "book a hotel there", "tell me the weather."]
    assert parts_of("Find a flight to Rome") == []
