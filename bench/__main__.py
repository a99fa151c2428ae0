"""`python -m bench`: runs suites, prints their tables, and writes the page of a whole run."""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench import page, report, targets
from bench.goals import judge
from bench.measure import Plan, Schedule
from bench.over_http import targets as http_targets
from bench.process import TargetFailed
from bench.suites import DESCRIPTIONS, SUITES, http

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.results import Measurement

KNOWN = {target.key: target for target in targets.ALL}
KNOWN_OVER_HTTP = {target.key: target for target in http_targets.ALL}
ALL_KEYS = [*KNOWN, *KNOWN_OVER_HTTP]
QUICK_ROUNDS = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what the command line asks for."""
    if not sys.platform.startswith("linux"):
        print(
            "The benchmark runs on Linux only: it reads other processes' CPU clocks and memory.",
            file=sys.stderr,
        )
        return 2
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.write_docs and (options.suites or options.quick or options.targets != ALL_KEYS):
        parser.error("a page comes out of one whole run: --write-docs goes with no other choice")
    started = time.perf_counter()
    measurements: list[Measurement] = []
    try:
        for found in _run(options):
            measurements += found
    except TargetFailed as failure:
        print(f"The benchmark was given up: {failure}", file=sys.stderr)
        return 1
    if verdicts := judge(measurements):
        print(f"\nFigures to meet\n\n{report.verdicts_table(verdicts)}")
    if options.json:
        options.json.write_text(json.dumps([one._asdict() for one in measurements]), encoding="utf-8")
    if options.write_docs:
        _write_docs(options, measurements, (time.perf_counter() - started) / 60)
    return 0


def _run(options: argparse.Namespace) -> Iterator[list[Measurement]]:
    print(f"The order of turns is from the seed {options.seed}.")
    chosen = tuple(KNOWN[key] for key in options.targets if key in KNOWN)
    over_http = tuple(KNOWN_OVER_HTTP[key] for key in options.targets if key in KNOWN_OVER_HTTP)
    rounds = QUICK_ROUNDS if options.quick else options.rounds
    with tempfile.TemporaryDirectory(prefix="mcp-workbench-bench-") as directory:
        setting = targets.Setting(options.python, Path(directory))
        for name in options.suites or DESCRIPTIONS:
            started = time.perf_counter()
            shuffle = random.Random(f"{options.seed} {name}")
            if name == http.SUITE:
                found = http.run(Schedule(setting, over_http, rounds, shuffle, options.quick))
            else:
                found = SUITES[name](Plan(setting, chosen, rounds, shuffle, options.quick))
            seconds = time.perf_counter() - started
            print(f"\n{report.tables(found, f'{name}: ')}\n\n({name} took {seconds:.0f} s)", flush=True)
            yield found


def _write_docs(options: argparse.Namespace, measurements: Sequence[Measurement], minutes: float) -> None:
    from bench import chart  # noqa: PLC0415 - needs matplotlib, which only a whole run has

    chart.draw(measurements, page.CHART)
    run = page.Run(measurements, options.python, options.seed, options.rounds, minutes)
    page.write(run)
    print(f"\nWritten: {page.PAGE.relative_to(targets.ROOT)}, {page.CHART.relative_to(targets.ROOT)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", type=_suite, help=f"{', '.join(DESCRIPTIONS)}; else all"
    )
    parser.add_argument("--rounds", type=int, default=15, help="turns that each target takes in each case")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the turns")
    parser.add_argument(
        "--targets",
        type=_targets,
        default=ALL_KEYS,
        metavar="A,B",
        help=f"of {', '.join(ALL_KEYS)}; else all",
    )
    parser.add_argument("--python", default=sys.executable, help="the interpreter of what is compared")
    parser.add_argument("--quick", action="store_true", help="only to see that everything works")
    parser.add_argument("--json", type=Path, help="write every figure of every round to this file")
    parser.add_argument("--write-docs", action="store_true", help="write the page and the chart in docs/")
    return parser


def _suite(text: str) -> str:
    if text not in DESCRIPTIONS:
        raise argparse.ArgumentTypeError(f"there is no suite {text}; there are {', '.join(DESCRIPTIONS)}")
    return text


def _targets(text: str) -> list[str]:
    keys = text.split(",")
    if unknown := [key for key in keys if key not in ALL_KEYS]:
        raise argparse.ArgumentTypeError(f"there is no target {unknown[0]}; there are {', '.join(ALL_KEYS)}")
    return keys


if __name__ == "__main__":
    sys.exit(main())
