"""The figures to meet: each with its bound, what was measured, and whether that meets it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bench.bodies import STRUCTURED, TEXT
from bench.over_http import targets as over_http
from bench.suites import (
    cold,
    growth,
    http,
    latency,
    memory,
    opening,
    recovery,
    search,
    size,
    throughput,
    tokens,
)
from bench.targets import COPIER, WORKBENCH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bench.over_http.targets import HttpTarget
    from bench.results import Measurement, Quartiles


class Goal(NamedTuple):
    """A bound on one figure of the workbench, or on its ratio to the suite's bare relay's."""

    what: str
    suite: str
    case: str
    figure: str
    least: float | None = None
    most: float | None = None
    is_ratio: bool = True
    unit: str = "×"
    target: str = WORKBENCH.key


class Verdict(NamedTuple):
    """What was measured of a goal."""

    goal: Goal
    measured: Quartiles
    is_met: bool
    is_close: bool
    """Whether the bound is within the quartiles, so that another run may say otherwise."""
    copying: Quartiles | None
    """The same figure of what only checks and copies lines, where that has one: near the limit of any program
    that passes on nothing which is broken."""


P50_BOUNDS = (("100 B", 0.9), ("10 KB", 0.7), ("1 MB", 0.3))


def _over_http(target: HttpTarget, era: str) -> Iterator[Goal]:
    for shown, _, _ in http.SIZES:
        what, case = f"over HTTP, {era}, text of {shown}", http.case_name(shown)
        yield Goal(f"{what}: p50", http.SUITE, case, "p50", most=1.5, target=target.key)
        yield Goal(
            f"{what}, {http.AGAINST_PEERS}: p50",
            http.SUITE,
            case,
            http.AGAINST_PEERS,
            most=1.0,
            is_ratio=False,
            target=target.key,
        )
    for count in http.CONNECTIONS:
        yield Goal(
            f"over HTTP, {era}, calls per second on {count} connections, {http.AGAINST_PEERS}",
            http.SUITE,
            http.parallel_case_name(count),
            http.AGAINST_PEERS,
            least=1.0,
            is_ratio=False,
            target=target.key,
        )


def _of_tokens() -> Iterator[Goal]:
    for figure, unit, most in (
        (tokens.MEDIAN_OPENED, "%", 60),
        (tokens.MOST_OF_MANY, "%", 100),
        (tokens.MOST_OF_FEW, "%", 140),
        (tokens.MEDIAN_SEARCH, "1", 500),
    ):
        what = f"tokens, {figure}"
        yield Goal(what, tokens.SUITE, tokens.IN_ALL, figure, most=most, is_ratio=False, unit=unit)


def _of_search() -> Iterator[Goal]:
    for target, case, figure, unit, least, most in (
        (WORKBENCH.key, search.ALL_SETS, search.MACRO, "share", 0.77, None),
        (WORKBENCH.key, search.ALL_SETS, search.SHORT_TYPOS, "share", 0.93, None),
        (WORKBENCH.key, search.LARGEST, "p50", "s", None, 0.001),
        (WORKBENCH.key, search.LARGEST, "index", "s", None, 0.3),
        (WORKBENCH.key, search.LARGEST, "memory", "B", None, 10e6),
        (WORKBENCH.key, search.POOLED, "p50", "s", None, 0.015),
        (search.SEMANTIC, search.ALL_SETS, search.MACRO, "share", 0.82, None),
        (search.SEMANTIC, search.LARGEST, "p50", "s", None, 0.015),
    ):
        what = f"search{' by meaning too' if target == search.SEMANTIC else ''}, {case}: {figure}"
        yield Goal(what, search.SUITE, case, figure, least, most, is_ratio=False, unit=unit, target=target)


GOALS: tuple[Goal, ...] = (
    Goal("CPU to the first `tools/list`", cold.SUITE, cold.CASE, "CPU", most=1.5),
    *(
        Goal(f"call, {kind} of {shown}: p50", latency.SUITE, latency.case_name(kind, shown), "p50", most=most)
        for kind in (TEXT, STRUCTURED)
        for shown, most in P50_BOUNDS
    ),
    *(
        Goal(
            f"call, {kind} of {shown}: CPU",
            latency.SUITE,
            latency.case_name(kind, shown),
            "CPU per call",
            most=0.7,
        )
        for kind in (TEXT, STRUCTURED)
        for shown, _ in P50_BOUNDS
    ),
    *(
        Goal(
            f"call, structured of {shown}, against text: p50",
            latency.SUITE,
            latency.case_name(STRUCTURED, shown),
            latency.AGAINST_TEXT,
            most=1.1,
            is_ratio=False,
        )
        for shown, _ in P50_BOUNDS
    ),
    *(
        Goal(
            f"calls per second, {window} in flight",
            throughput.SUITE,
            throughput.case_name(window),
            throughput.RATE,
            least=0.9,
        )
        for window in (64, 256)
    ),
    Goal("memory after opening 10 servers of 30 tools", memory.SUITE, memory.AFTER_OPENING, "RSS", most=1.5),
    *(
        Goal(
            f"memory {step}, against after opening",
            memory.SUITE,
            step,
            memory.AGAINST_OPENING,
            most=1.1,
            is_ratio=False,
        )
        for step in (memory.AFTER_LARGE, memory.AFTER_HUGE)
    ),
    Goal(
        "call with 5,000 tools, against 10 tools: p50",
        growth.SUITE,
        growth.MOST_TOOLS,
        growth.AGAINST_LEAST,
        most=1.1,
        is_ratio=False,
    ),
    Goal("opening a server of 5,000 tools: CPU", growth.SUITE, growth.MOST_TOOLS_OPENING, "CPU", most=2.0),
    Goal(
        "opening 20 servers, against the floor",
        opening.SUITE,
        opening.case_name(20),
        opening.OVER_FLOOR,
        most=1.15,
        is_ratio=False,
    ),
    Goal(
        "one result of 64 MB, against 64 of 1 MB: time",
        size.SUITE,
        size.ONE,
        size.AGAINST_MANY,
        least=0.7,
        most=1.3,
        is_ratio=False,
    ),
    Goal(
        "error after a server's death",
        recovery.SUITE,
        recovery.CASE,
        recovery.ERROR,
        most=0.05,
        is_ratio=False,
        unit="s",
    ),
    Goal(
        "next call after it, beyond the server's own start",
        recovery.SUITE,
        recovery.CASE,
        recovery.BEYOND_OWN_START,
        most=0.05,
        is_ratio=False,
        unit="s",
    ),
    *_of_search(),
    *_of_tokens(),
    *_over_http(over_http.WORKBENCH, "a session"),
    *_over_http(over_http.WORKBENCH_MODERN, "2026-07-28"),
)


def judge(measurements: Sequence[Measurement]) -> list[Verdict]:
    """The verdicts on those goals whose figures were measured."""
    found = {(one.target, one.suite, one.case, one.figure): one for one in measurements}
    verdicts = []
    for goal in GOALS:
        measured, copying = (_figure(goal, found, target) for target in (goal.target, COPIER.key))
        if measured:
            bounds = (bound for bound in (goal.least, goal.most) if bound is not None)
            is_close = any(measured.low <= bound <= measured.high for bound in bounds)
            verdicts.append(Verdict(goal, measured, _meets(goal, measured.median), is_close, copying))
    return verdicts


def _figure(
    goal: Goal, found: Mapping[tuple[str, str, str, str], Measurement], target: str
) -> Quartiles | None:
    measurement = found.get((target, goal.suite, goal.case, goal.figure))
    if measurement is None:
        return None
    return measurement.ratio if goal.is_ratio else measurement.value


def _meets(goal: Goal, number: float) -> bool:
    return (goal.least is None or number >= goal.least) and (goal.most is None or number <= goal.most)
