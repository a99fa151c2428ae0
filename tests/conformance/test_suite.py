"""Whether what we say about the conformance suite is true of the suite that is installed."""

from __future__ import annotations

from tests.conformance.page import PAGE, page
from tests.conformance.scenarios import EXTENSION, LEGACY, MODERN, OLDEST, REASONS, SCENARIOS
from tests.conformance.suite import listed


async def test_every_scenario_of_the_suite_is_known_here() -> None:
    assert await listed() == SCENARIOS


def test_every_scenario_is_run_in_some_version() -> None:
    run = {"server": {LEGACY, MODERN, EXTENSION}, "client": {LEGACY, MODERN, OLDEST, EXTENSION}}
    left_out = [
        name
        for leg, known in SCENARIOS.items()
        for name, versions in known.items()
        if run[leg].isdisjoint(versions)
    ]
    assert left_out == []


def test_every_exception_is_one_of_the_suites_scenarios_and_says_why() -> None:
    for way, reasons in REASONS.items():
        known = SCENARIOS["client" if way == "client" else "server"]
        assert {entry.partition(":")[0] for entry in reasons} <= known.keys()
        assert all(reasons.values())


def test_the_page_on_conformance_is_up_to_date() -> None:
    again = "run `python -m tests.conformance.page`"
    assert PAGE.read_text(encoding="utf-8") == page(), again
