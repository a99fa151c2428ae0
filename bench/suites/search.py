"""Finding tools: how often the right one is among the first, and what that costs.

Each set has tools, and queries with their correct tools. recall@5 is the share of the correct tools among
the first five; mrr is the mean reciprocal rank of the first one; found of 8 is the mean number of tools that
a query finds, of at most eight. Typos are typing errors in two words of each query. Times are CPU times;
index and memory are in addition to the tools themselves. The peer is FastMCP's own BM25 index; with the extra
`semantic` (after `make semantic`) the workbench is measured with it too. Without other sets
(`TOOLSEARCH_DATA=directory`, see `bench/searching/sets.py`) there is only a small set of our own, which shows
only that everything works. The public sets of `docs/decisions/0019-search.md` are the ones that the search
was tuned with: on sets that were held back it finds less.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from bench.process import TargetFailed
from bench.results import Measurement
from bench.searching import sets
from bench.targets import WORKBENCH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.measure import Plan

SUITE = "search"
ALL_SETS = "all sets"
LARGEST = "the set with the most tools"
POOLED = "the tools of all sets in one index"
MACRO = "macro recall@5"
MACRO_TYPOS = "macro recall@5, two typos"
SHORT_TYPOS = "recall@5 of short queries, two typos"
SHORT = 10
"""Words, in the middle of a set's queries."""
LEAST_TO_JUDGE = 2000
"""Tools that a set must have for times and memory to say something."""
LEAST_POOLED = 10_000
PATIENCE = 600.0
SHARES = ("recall@1", "recall@5", "recall@10", "mrr", "recall@5, two typos")
COUNTS = ("found of 8",)
UNITS = {"index": "s", "p50": "s", "p95": "s", "p50, two typos": "s", "memory": "B"}
ROOT = Path(__file__).parents[2]
SEMANTIC = "workbench[semantic]"
WITH_EXTRA = ROOT / ".semantic" / "bin" / "python"
"""Where `make semantic` installs the extra."""


def run(plan: Plan) -> list[Measurement]:
    """Each ranker with each set, once: what they find does not vary, and CPU times hardly do."""
    if not os.environ.get(sets.VARIABLE):
        print(f"There is more to search with {sets.VARIABLE}=directory: see bench/searching/sets.py.")
    peer = "fastmcp" if find_spec("fastmcp") else "plain"
    pythons = {"workbench": plan.setting.python, peer: sys.executable}
    if WITH_EXTRA.is_file():
        pythons["semantic"] = str(WITH_EXTRA)
    titles = {
        "workbench": WORKBENCH.key,
        "semantic": SEMANTIC,
        "fastmcp": "FastMCP's BM25",
        "plain": "plain BM25",
    }
    measurements: list[Measurement] = []
    for ranker, python in pythons.items():
        found = {name: _probe(python, ranker, name) for name in sets.names()}
        pooled = _probe(python, ranker)
        for name, figures in found.items():
            case = f"{name}: {figures['tools']:,.0f} tools, {figures['queries']:,.0f} queries"
            measurements += _measured(case, titles[ranker], figures)
        measurements += _over_all(titles[ranker], found)
        if pooled["tools"] >= LEAST_POOLED:
            measurements += _measured(POOLED, titles[ranker], pooled)
    return measurements


def _over_all(target: str, found: Mapping[str, Mapping[str, float]]) -> list[Measurement]:
    shares = {
        MACRO: [figures["recall@5"] for figures in found.values()],
        MACRO_TYPOS: [figures["recall@5, two typos"] for figures in found.values()],
        SHORT_TYPOS: [f["recall@5, two typos"] for f in found.values() if f["words"] <= SHORT],
    }
    measurements = [
        Measurement(SUITE, ALL_SETS, target, figure, "share", (fmean(numbers),))
        for figure, numbers in shares.items()
        if numbers
    ]
    most = max(found.values(), key=lambda figures: figures["tools"])
    if most["tools"] >= LEAST_TO_JUDGE:
        measurements += [one for one in _measured(LARGEST, target, most) if one.figure in UNITS]
    return measurements


def _measured(case: str, target: str, figures: Mapping[str, float]) -> list[Measurement]:
    units = {**dict.fromkeys(SHARES, "share"), **dict.fromkeys(COUNTS, "mean"), **UNITS}
    return [
        Measurement(SUITE, case, target, figure, units[figure], (number,))
        for figure, number in figures.items()
        if figure in units
    ]


def _probe(python: str, *arguments: str) -> dict[str, float]:
    command = [python, "-m", "bench.searching.probe", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    if done.returncode:
        raise TargetFailed(f"{' '.join(command)} ended with code {done.returncode}:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found
