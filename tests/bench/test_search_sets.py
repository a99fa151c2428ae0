"""The benchmark of search: it reads sets, counts what was found, and compares with a peer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from bench.searching import sets
from tests.structure.package import ROOT

if TYPE_CHECKING:
    from pathlib import Path

RIGHT = sets.Query("query", (("a", "b"), ("c",)))


@pytest.mark.parametrize(
    ("ranked", "recall", "reciprocal"),
    [
        (["a", "c"], 1, 1),
        (["x", "b", "a"], 0.5, 0.5),
        (["x"], 0, 0),
        (["x", "y", "z", "w", "v", "c"], 0, 1 / 6),
    ],
)
def test_recall_counts_groups_among_the_first(ranked: list[str], recall: float, reciprocal: float) -> None:
    assert sets.recall(ranked, RIGHT, 5) == recall
    assert sets.reciprocal_rank(ranked, RIGHT) == reciprocal


def test_sets_are_read_from_the_directory_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = {"id": "s/t", "server": "s", "name": "t", "description": "", "inputSchema": {}}
    for name in ("one", "distractors"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tools.jsonl").write_text(json.dumps(tool) + "\n\n", encoding="utf-8")
    query = {"id": "1", "query": "do", "groups": [["s/t"]]}
    (tmp_path / "one" / "queries_short.jsonl").write_text(json.dumps(query), encoding="utf-8")
    monkeypatch.setenv(sets.VARIABLE, str(tmp_path))
    assert sets.names() == ["one:queries_short"]
    assert sets.load("one:queries_short") == ("one:queries_short", [tool], [sets.Query("do", (("s/t",),))])
    assert [one["id"] for one in sets.everything()] == ["distractors|s/t", "one|s/t"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the benchmark is for Linux")
def test_the_search_is_compared_with_a_peer_on_our_own_set(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    command = [sys.executable, "-m", "bench", "--json", str(written), "search"]
    environment = {key: value for key, value in os.environ.items() if key != sets.VARIABLE}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    figures: list[dict[str, Any]] = json.loads(written.read_text(encoding="utf-8"))
    (ours,) = [
        one for one in figures if (one["target"], one["figure"]) == ("workbench", "recall@5, two typos")
    ]
    peers = ("FastMCP's BM25", "plain BM25")
    (theirs,) = [one for one in figures if one["target"] in peers and one["figure"] == ours["figure"]]
    assert ours["rounds"] > theirs["rounds"]
    assert "search, all sets: macro recall@5" in done.stdout
    assert sets.VARIABLE in done.stdout
