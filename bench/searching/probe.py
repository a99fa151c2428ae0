"""`python -m bench.searching.probe RANKER SET`: what one ranker does with one set, as JSON on stdout.

In a process of its own, so that memory is that of the index, and each ranker has the environment that it
needs. With no set: how long a query takes with the tools of all sets in one index.
"""

from __future__ import annotations

import gc
import json
import os
import random
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.results import percentile
from bench.searching import rankers, sets

if TYPE_CHECKING:
    from bench.searching.rankers import Kind, Ranker

SEED = 7
DEPTH = 10
USUAL_LIMIT = 8
"""Tools that `open_toolbox` returns at most for a query that names no limit."""
TIMED_IN_ALL = 200
"""Queries that are put to the index of all tools."""


def main() -> None:
    """Measures what the command line says."""
    name, *chosen = sys.argv[1:]
    found = _set(rankers.RANKERS[name], chosen[0]) if chosen else _all(rankers.RANKERS[name])
    print(json.dumps(found))


def _set(kind: Kind, name: str) -> dict[str, float]:
    chosen = sets.load(name)
    ranker, costs = _built(kind, chosen.tools)
    texts = [query.text for query in chosen.queries]
    chance = random.Random(SEED)
    slips = [sets.mistyped(text, chance) for text in texts]
    for text in (*texts[:20], *slips[:5]):
        ranker.rank(text, DEPTH)
    seconds: list[float] = []
    ranked = [_timed(ranker, text, seconds) for text in texts]
    pairs = list(zip(ranked, chosen.queries, strict=True))
    shares = {f"recall@{count}": [sets.recall(*pair, count) for pair in pairs] for count in (1, 5, 10)}
    shares["mrr"] = [sets.reciprocal_rank(*pair) for pair in pairs]
    mistyped_seconds: list[float] = []
    shares["recall@5, two typos"] = [
        sets.recall(_timed(ranker, text, mistyped_seconds), query, 5)
        for text, query in zip(slips, chosen.queries, strict=True)
    ]
    return {
        "tools": len(chosen.tools),
        "queries": len(texts),
        "words": statistics.median(len(text.split()) for text in texts),
        **{figure: statistics.fmean(found) for figure, found in shares.items()},
        "found of 8": statistics.fmean(min(len(found), USUAL_LIMIT) for found in ranked),
        **costs,
        "p50": percentile(seconds, 0.5),
        "p95": percentile(seconds, 0.95),
        "p50, two typos": percentile(mistyped_seconds, 0.5),
    }


def _all(kind: Kind) -> dict[str, float]:
    tools = sets.everything()
    texts = [query.text for name in sets.names() for query in sets.load(name).queries]
    ranker, costs = _built(kind, tools)
    asked = random.Random(SEED).sample(texts, min(len(texts), TIMED_IN_ALL))
    seconds: list[float] = []
    for text in asked:
        _timed(ranker, text, seconds)
    return {
        "tools": len(tools),
        "queries": len(asked),
        **costs,
        "p50": percentile(seconds, 0.5),
        "p95": percentile(seconds, 0.95),
    }


def _built(kind: Kind, tools: list[dict[str, Any]]) -> tuple[Ranker, dict[str, float]]:
    """The index, the CPU seconds that it took, and the memory that it takes besides the tools themselves."""
    prepared = kind.prepare(tools)
    kind(tools[:1], prepared[:1])  # what has to be imported is no part of an index
    gc.collect()
    memory, started = _resident(), time.process_time()
    ranker = kind(tools, prepared)
    took = time.process_time() - started
    ranker.rank("qwertz", DEPTH)  # some of an index may be made for the first query
    gc.collect()
    return ranker, {"index": took, "memory": max(0, _resident() - memory)}


def _timed(ranker: Ranker, text: str, seconds: list[float]) -> list[str]:
    """CPU seconds, because the machine may be busy, and nothing here waits."""
    started = time.process_time()
    ranked = ranker.rank(text, DEPTH)
    seconds.append(time.process_time() - started)
    return ranked


def _resident() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
