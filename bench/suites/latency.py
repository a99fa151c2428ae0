"""Calls one after the other: how long one takes, by kind and size of its result."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from bench.bodies import STRUCTURED, TEXT
from bench.measure import all_ready, sequential_turn, summarise
from bench.targets import Server

if TYPE_CHECKING:
    from bench.measure import Plan, Turn
    from bench.results import Measurement

SUITE = "latency"
SIZES = (("100 B", 100, 300), ("10 KB", 10_000, 200), ("1 MB", 1_000_000, 20))
"""As shown, in bytes, and the calls of one turn."""


def case_name(kind: str, size: str) -> str:
    """How a case is called in the tables."""
    return f"{kind}, {size}"


def run(plan: Plan) -> list[Measurement]:
    """Six cases: two kinds of result, three sizes."""
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
    return [one for case, taken in turns.items() for one in summarise(SUITE, case, taken)]
