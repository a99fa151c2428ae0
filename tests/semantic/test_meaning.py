"""With the extra, tools are found by what is meant too: offline, the same each time, with vectors kept."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.workbench.searching.index import Entry, Hit, SearchIndex
from mcp_workbench.workbench.searching.semantic_index import SemanticIndex
from mcp_workbench.workbench.searching.word_vectors import WordVectors, load_word_vectors
from tests.structure.package import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

FILES = [
    Entry("read_file", "filesystem", description="Read the complete contents of a file from the disk"),
    Entry("list_directory", "filesystem", description="List what a directory holds"),
    Entry("move_file", "filesystem", description="Move or rename files and directories"),
]
WORLD = [
    Entry("get_forecast", "meteo", description="Weather forecast for a city: temperature and rain"),
    Entry("create_invoice", "accounts", description="Write an invoice for a customer"),
    Entry("play_song", "jukebox", description="Play music by an artist"),
]


def searching(cache: Path) -> tuple[SearchIndex, SemanticIndex]:
    semantic_index = SemanticIndex(cache)
    return SearchIndex(semantic_index), semantic_index


def found(index: SearchIndex, semantic_index: SemanticIndex, query: str, limit: int = 5) -> list[Hit]:
    semantic_index.learn()
    return index.search(query, limit)


@pytest.fixture
def both(tmp_path: Path) -> tuple[SearchIndex, SemanticIndex]:
    index, semantic_index = searching(tmp_path)
    index.put("files", FILES)
    index.put("world", WORLD)
    semantic_index.learn()
    return index, semantic_index


@pytest.mark.parametrize(
    ("query", "position"),
    [("will it be cold outside tomorrow", 0), ("bill my client", 1), ("hear some tunes and melodies", 2)],
)
def test_a_tool_is_found_that_shares_no_word_with_the_query(
    both: tuple[SearchIndex, SemanticIndex], query: str, position: int
) -> None:
    words = SearchIndex()
    words.put("world", [WORLD[position]])
    assert words.search(query, 1) == []
    best = both[0].search(query, 1)[0]
    assert (best.group, best.position) == ("world", position)


def test_the_exact_name_comes_first(both: tuple[SearchIndex, SemanticIndex]) -> None:
    hit = both[0].search("move_file", 5)[0]
    assert (hit.group, hit.position) == ("files", 2)


def test_only_the_groups_that_are_asked_for_are_searched(both: tuple[SearchIndex, SemanticIndex]) -> None:
    hits = both[0].search("temperature and rain", 10, groups={"files"})
    assert {hit.group for hit in hits} <= {"files"}
    assert both[0].search("temperature and rain", 10, groups=()) == []


@pytest.mark.parametrize("query", ["", "!!!", "xyzzy", "\ud800", "?" * 100_000])
def test_what_means_nothing_finds_nothing(both: tuple[SearchIndex, SemanticIndex], query: str) -> None:
    assert both[0].search(query, 5) == []


def test_a_mistyped_word_is_taken_as_it_was_meant(both: tuple[SearchIndex, SemanticIndex]) -> None:
    right, mistyped = both[0].search("weather forecast", 5), both[0].search("weahter forecsat", 5)
    assert (right[0].group, right[0].position) == (mistyped[0].group, mistyped[0].position) == ("world", 0)


def test_tools_that_come_later_are_found_once_they_are_learnt(tmp_path: Path) -> None:
    index, semantic_index = searching(tmp_path)
    index.put("files", FILES)
    assert found(index, semantic_index, "bill my client") == []
    index.put("world", WORLD)
    assert [hit.position for hit in found(index, semantic_index, "bill my client", 1)] == [1]


def test_an_index_that_tools_came_to_and_went_from_finds_what_a_fresh_one_finds(tmp_path: Path) -> None:
    index, semantic_index = searching(tmp_path)
    for step in range(60):
        passing = [Entry(f"passing_{n}", "s", description="Passing by") for n in range(50)]
        index.put(f"g{step % 4}", passing)
        if step % 7 == 0:
            semantic_index.learn()
        index.drop(f"g{step % 3}")
    for group in ("g0", "g1", "g2", "g3"):
        index.drop(group)
    index.put("files", FILES)
    index.put("world", WORLD)
    fresh, fresh_senses = searching(tmp_path)
    fresh.put("files", FILES)
    fresh.put("world", WORLD)
    query = "bill my client and read the weather"
    assert found(index, semantic_index, query) == found(fresh, fresh_senses, query) != []


class Recording(WordVectors):
    """The model, telling which texts it was given."""

    def __init__(self, model: WordVectors) -> None:
        super().__init__(model.name, model._words, model._tokenizer)
        self.given: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.given += texts
        return super().embed(texts)


def given(cache: Path, entries: Sequence[Entry]) -> tuple[list[str], list[Hit]]:
    """What the model had to look at to learn these tools, and what is then found."""
    model = Recording(load_word_vectors())
    semantic_index = SemanticIndex(cache, lambda: model)
    index = SearchIndex(semantic_index)
    index.put("all", entries)
    semantic_index.learn()
    learnt_from = list(model.given)
    return learnt_from, index.search("bill my client", 3)


def test_vectors_are_kept_by_content_and_are_the_same_as_fresh_ones(tmp_path: Path) -> None:
    looked_at, fresh = given(tmp_path, WORLD)
    assert len(looked_at) == 3
    assert given(tmp_path, WORLD) == ([], fresh)
    changed = [*WORLD[:2], Entry("play_song", "jukebox", description="Play a record")]
    looked_at, _ = given(tmp_path, changed)
    assert looked_at == ["jukebox play song. Play a record"]


def test_damaged_vectors_are_made_again(tmp_path: Path) -> None:
    _, fresh = given(tmp_path, WORLD)
    (file,) = (tmp_path / "vectors").iterdir()
    file.write_bytes(file.read_bytes()[:-3])
    looked_at, again = given(tmp_path, WORLD)
    assert (len(looked_at), again) == (3, fresh)


OFFLINE = """
import sys, tests.semantic.test_meaning as t
def refuse(event, args):
    if event.startswith("socket."):
        raise RuntimeError(event)
sys.addaudithook(refuse)
index, semantic_index = t.searching(sys.argv[1])
index.put("files", t.FILES)
index.put("world", t.WORLD)
semantic_index.learn()
print(index.search("bill my client, then play music", 6), "wordllama" in sys.modules)
"""


def test_every_process_finds_the_same_without_asking_the_network(tmp_path: Path) -> None:
    answers = set()
    for seed in ("1", "2"):
        environ = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", OFFLINE, str(tmp_path / seed)]
        done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, check=True)
        answers.add(done.stdout)
    (answer,) = answers
    assert answer.startswith(b"[Hit(")
    assert answer.rstrip().endswith(b"False")
