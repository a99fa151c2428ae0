"""Calls one after the other: how long one takes, by kind and size of its result.

There are twice as many rounds as elsewhere, because the time of a small call differs between processes.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from bench.bodies import STRUCTURED, TEXT
from bench.measure import all_ready, sequential_turn, summarise
from bench.results import Measurement
from bench.targets import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.measure import Plan, Turn

SUITE = "latency"
SIZES = (("100 B", 100, 200), ("10 KB", 10_000, 150), ("1 MB", 1_000_000, 20))
"""As shown, in bytes, and the calls of one turn."""
AGAINST_TEXT = "p50 against text"


def case_name(kind: str, size: str) -> str:
    """How a case is called in the tables."""
    return f"{kind}, {size}"


def run(plan: Plan) -> list[Measurement]:
    """Six cases: two kinds of result, three sizes."""
    plan = plan._replace(rounds=2 * plan.rounds)
    server = Server()
    turns: dict[str, dict[str, list[Turn]]] = {}
    for number in range(plan.rounds):
        targets = {target.key: target for target in plan.in_round(number)}
        with all_ready(plan.setting, tuple(targets.values()), [server]) as clients:
            for kind, (shown, size, count) in product((TEXT, STRUCTURED), SIZES):
                taken = turns.setdefault(case_name(kind, shown), {})
                for key in plan.shuffled(clients):
                    call = clients[key].prepare(targets[key].params(server, kind, size), kind, size)
                    turn = sequential_turn(clients[key], call, plan.scaled(count))
                    taken.setdefault(key, []).append(turn)
    measurements = [one for case, taken in turns.items() for one in summarise(SUITE, case, taken)]
    return measurements + [one for shown, _, _ in SIZES for one in _against_text(measurements, shown)]


def _against_text(measurements: list[Measurement], shown: str) -> Iterator[Measurement]:
    """What structured content of a size takes, by target, against text of that size in the same round."""
    kinds = (case_name(STRUCTURED, shown), case_name(TEXT, shown))
    structured, text = (
        {one.target: one for one in measurements if (one.case, one.figure) == (case, "p50")} for case in kinds
    )
    for target, one in structured.items():
        ratios = tuple(mine / other for mine, other in zip(one.rounds, text[target].rounds, strict=True))
        yield Measurement(SUITE, one.case, target, AGAINST_TEXT, "×", ratios)
