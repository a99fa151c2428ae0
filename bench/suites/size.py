"""Many results compared with one that is as large as all of them: the cost of a byte should be the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.bodies import TEXT
from bench.measure import in_turns
from bench.results import Measurement, compare
from bench.targets import COPIER, LEAN_RELAY, RELAY, WORKBENCH, Server

if TYPE_CHECKING:
    from bench.measure import Plan

SUITE = "size"
MANY = "64 results of 1 MB"
ONE = "one result of 64 MB"
AGAINST_MANY = "time against 64 of 1 MB"
MEGABYTE = 1_000_000
COUNT = 64


def run(plan: Plan) -> list[Measurement]:
    """Two cases in the same life of a target; each turn is one life, so that peaks are those of the case."""
    plan = plan.fewer_rounds(2)
    count = plan.scaled(COUNT)
    targets = {target.key: target for target in plan.chosen(RELAY, COPIER, LEAN_RELAY, WORKBENCH)}
    server = Server()
    figures: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for key in in_turns(plan, targets):
        target = targets[key]
        with target.ready(plan.setting, [server]) as client:
            for case, size, calls in ((MANY, MEGABYTE, count), (ONE, count * MEGABYTE, 2)):
                call = client.prepare(target.params(server, TEXT, size), TEXT, size)
                client.forget_peak()
                cpu_before = client.cpu
                seconds = sum(client.time_call(call) for _ in range(calls))
                cpu = client.cpu - cpu_before
                megabytes = calls * size // MEGABYTE
                for figure, unit, number in (
                    ("time per MB", "s", seconds / megabytes),
                    ("CPU per MB", "s", cpu / megabytes),
                    ("peak RSS", "B", client.peak_rss),
                ):
                    figures.setdefault((case, figure, unit), {}).setdefault(key, []).append(number)
    measurements = []
    for (case, figure, unit), rounds in figures.items():
        measurements += compare(SUITE, case, figure, unit, rounds)
    for key in targets:
        paired = zip(
            figures[ONE, "time per MB", "s"][key], figures[MANY, "time per MB", "s"][key], strict=True
        )
        growth = tuple(one / many for one, many in paired)
        measurements.append(Measurement(SUITE, ONE, key, AGAINST_MANY, "×", growth))
    return measurements
