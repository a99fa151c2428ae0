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
"""Remarks about the figures, written by hand. The page contains them unchanged."""

INTRODUCTION = """\
The workbench compared with a bare relay, which is the least that such a program can do, and with others. Read
the **ratios**: times are of one machine on one day, and the ratios to the bare relay of the same moment also
hold on other machines. A ratio is the median over rounds, with the quartiles where they differ. The benchmark
writes this page, from one whole run.

![Ratios to the bare relay](benchmarks.svg)
"""

METHOD = """\
- The client is raw: it writes bytes and reads bytes, and parses no JSON while the clock runs. Each response
  is still verified (its id, that it is a result, its size), and the first of each kind is compared in full.
- All targets run at the same time, with the same servers, and take turns of at most {turn_limit:g} s, in an
  order that is shuffled each round (seed {seed}), so a busy moment of the machine affects all of them. A
  ratio is that of two turns in the same round. p95 and p99 are of all calls of all rounds.
- Each round has new processes. Two processes of one program can differ by a tenth in the time of a small call
  for as long as they run, and more turns of the same two would not change that. A second bare relay shows the
  remaining noise.
- CPU time is that of the target's own process, in all its threads, as the kernel counts it; memory is its
  resident set. Both are without its servers.
- All targets have the same raw echo server, which has its responses ready. It has 30 tools with schemas like
  those of real servers, unless a suite says otherwise.
- The relays, the echo server and the workbench run in one environment, with only the workbench's own
  dependencies and orjson. FastMCP and mcp-proxy have their own environments, and are measured in one of
  {slow_share} rounds, because their calls take so long. A suite whose tables do not show one does not
  measure it.
- Over HTTP the client keeps its connections, and writes requests that were prepared before. Our own endpoints
  run under uvicorn like the workbench: uvloop, httptools, no access log, no additional headers. The peers run
  as documented and installed by default, and respond with JSON like the others.
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
    "relay": "plain asyncio streams and orjson: only parses each line, changes the id and writes it",
    "relay-again": "the same program once more: the distance of its ratios from 1 is the noise of the others",
    "copier": "no event loop, no envelopes: whole lines, checked for UTF-8 and JSON and passed on",
    "lean-relay": "uvloop and protocols; msgspec reads the envelope only, and bodies are passed on unparsed",
    "workbench": "as installed, on uvloop; calls go through `use_tool`",
    "workbench-asyncio": "the same on asyncio's own event loop, which is used if uvloop is missing",
    "workbench-modern": "a client and servers of the stateless protocol",
    "fastmcp-proxy": "`FastMCPProxy` with one session kept for the connection",
    "fastmcp-mount": "a `FastMCP` server that mounts such a proxy of each server",
    "http-direct": "a bare Starlette endpoint that answers calls itself",
    "http-relay": "a Starlette `Route`, orjson and asyncio's pipes: only changes the id",
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
        "Figures to meet": "Compared with the bare relay (over HTTP: with that over HTTP) unless noted.\n\n"
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
