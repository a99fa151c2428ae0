"""The page of a whole run: `docs/benchmarks.md`."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from bench import machine, report
from bench.goals import judge
from bench.measure import SLOW_SHARE, TURN_LIMIT
from bench.over_http import targets as over_http
from bench.suites import DESCRIPTIONS, http
from bench.targets import ALL, BENCH, ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.results import Measurement

PAGE = ROOT / "docs" / "benchmarks.md"
CHART = ROOT / "docs" / "benchmarks.svg"
NOTES = BENCH / "notes.md"
"""If somebody has something to say about the figures, it is here, and goes into the page as it is."""

INTRODUCTION = """\
The workbench side by side with the least that such a program can do, a bare relay, and with others. Read the
**ratios**: times are of one machine on one day, and the ratios to the bare relay of the same moment are what
holds on another. A ratio is the median over rounds, with the quartiles where they differ. This page is
written by the benchmark itself, out of one whole run.

![Ratios to the bare relay](benchmarks.svg)
"""

METHOD = """\
- The client is raw: it writes bytes and reads bytes, and parses no JSON while the clock runs. Each answer is
  verified all the same (its id, that it is a result, its size), and the first of each kind is compared in
  full.
- All targets are up together, in front of the same servers, and take turns of at most {turn_limit:g} s in an
  order that is shuffled anew each round (seed {seed}), so a busy moment of the machine falls on all alike. A
  ratio is that of two turns in the same round. p95 and p99 are of all calls of all rounds.
- Each round has new processes: two processes of one program were seen to differ by a tenth in the time of
  a small call for as long as they lived, which more turns of the same two would not even out. A second bare
  relay shows how much noise is left.
- CPU time is that of the target's own process, in all its threads, from the kernel's clock of it; memory is
  its resident set. What its servers use is in neither.
- The servers behind are the same raw echo server for all, which has its answers ready. It has 30 tools with
  schemas as real servers have them, unless a suite says otherwise.
- The relays, the echo server and the workbench run in one environment, with the workbench's own dependencies
  and orjson and nothing else. FastMCP and mcp-proxy have environments of their own, and take part in one of
  {slow_share} rounds, because their calls take so long; in the suites whose tables do not show one, it takes
  no part.
- Over HTTP the client keeps its connections, and writes requests that were made beforehand. What is ours to
  set up runs under uvicorn as the workbench does: uvloop, httptools, no log of accesses, no headers that
  nobody asked for. The peers run as their own documentation and installation have it, and answer with JSON
  as the others do.
"""

RUN_IT = """\
On Linux:

```sh
make bench
make bench SUITE=latency
```

The first runs everything and writes this page; the second runs one suite and prints its tables. The suites
are {suites}.
"""

TARGETS = {
    "direct": "the echo server itself, with nothing in between",
    "relay": "plain asyncio streams and orjson: parses each line, changes the id, writes it, and no more",
    "relay-again": "the same program once more: how far its ratios are from 1 is the noise of the others'",
    "copier": "no event loop, no envelopes: whole lines, looked through for UTF-8 and JSON and passed on",
    "lean-relay": "uvloop and protocols; msgspec reads the envelope only, and bodies are passed on unparsed",
    "workbench": "as installed, on uvloop; calls go through `use_tool`",
    "workbench-asyncio": "the same on asyncio's own loop, as where uvloop is missing",
    "workbench-modern": "a client and servers of the stateless protocol",
    "fastmcp-proxy": "`FastMCPProxy` with one session kept for the connection",
    "fastmcp-mount": "a `FastMCP` server that mounts such a proxy of each server",
    "http-direct": "a bare Starlette endpoint that answers calls itself",
    "http-relay": "a Starlette `Route`, orjson and asyncio's pipes: changes the id, and no more",
    "http-relay-again": "the same program once more",
    "http-workbench": "`serve --http`; one session on all connections",
    "http-workbench-modern": "the same, with a client of the stateless protocol and the same server",
    "http-fastmcp": "`FastMCPProxy` with one session with the server for each of the client's",
    "http-mcp-proxy": "`mcp-proxy` of PyPI, which has one session with the server",
}


class Run(NamedTuple):
    """What a page is made of."""

    measurements: Sequence[Measurement]
    python: str
    seed: int
    rounds: int
    minutes: float


def write(run: Run) -> None:
    """Writes the page."""
    PAGE.write_text(_text(run), encoding="utf-8")


def _text(run: Run) -> str:
    sections = {
        "Figures to meet": "Against the bare relay (over HTTP, that over HTTP) unless it says otherwise.\n\n"
        + report.verdicts_table(judge(run.measurements)),
        "Reading it": NOTES.read_text(encoding="utf-8").strip() if NOTES.is_file() else "",
        "Run it": RUN_IT.format(suites=", ".join(f"`{suite}`" for suite in DESCRIPTIONS)),
        "What is compared": _targets_table(),
        "How": METHOD.format(seed=run.seed, slow_share=SLOW_SHARE, turn_limit=TURN_LIMIT),
        **{_title(suite): _suite(run.measurements, suite) for suite in DESCRIPTIONS},
    }
    shown = [f"## {title}\n\n{text.strip()}" for title, text in sections.items() if text]
    return "\n\n".join(("# Benchmarks", INTRODUCTION.strip(), _circumstances(run), *shown)) + "\n"


def _circumstances(run: Run) -> str:
    found = ", ".join(f"{name} {version}" for name, version in machine.versions(run.python).items())
    length = f"{run.rounds} rounds, {run.minutes:.0f} minutes"
    return f"{datetime.now(UTC):%Y-%m-%d}; {found}; {machine.description()}; {length}."


def _title(suite: str) -> str:
    return suite.upper() if suite == http.SUITE else suite.capitalize()


def _targets_table() -> str:
    rows = [f"| {target.title} | {TARGETS[target.key]} |" for target in ALL]
    rows += [f"| over HTTP: {target.title} | {TARGETS[target.key]} |" for target in over_http.ALL]
    return "\n".join(("| | |", "|---|---|", *rows))


def _suite(measurements: Sequence[Measurement], suite: str) -> str:
    chosen = [one for one in measurements if one.suite == suite]
    # A docstring's line breaks are not the page's, but its paragraphs are.
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", DESCRIPTIONS[suite].strip())
    return f"{text}\n\n{report.tables(chosen, '### ')}"
