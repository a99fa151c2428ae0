"""Many calls in flight: how many are answered in a second, and what each costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.bodies import TEXT
from bench.measure import TURN_LIMIT, all_ready
from bench.results import compare
from bench.targets import Server

if TYPE_CHECKING:
    from bench.client import Call, Client
    from bench.measure import Plan
    from bench.results import Measurement

SUITE = "throughput"
WINDOWS = (1, 16, 64, 256)
SIZE = 100
RATE = "calls per second"
CALLS = 2000
"""In one turn, for those who are fast enough."""


def case_name(window: int) -> str:
    """How a case is called in the tables."""
    return f"{window} in flight"


def run(plan: Plan) -> list[Measurement]:
    """One case for each number of calls in flight."""
    server = Server()
    rates: dict[int, dict[str, list[float]]] = {window: {} for window in WINDOWS}
    costs: dict[int, dict[str, list[float]]] = {window: {} for window in WINDOWS}
    for number in range(plan.rounds):
        targets = {target.key: target for target in plan.in_round(number)}
        with all_ready(plan.setting, tuple(targets.values()), [server]) as clients:
            for window in WINDOWS:
                for key in plan.shuffled(clients):
                    client = clients[key]
                    call = client.prepare(targets[key].params(server, TEXT, SIZE), TEXT, SIZE)
                    rate, cost = _turn(client, call, plan.scaled(CALLS), window)
                    rates[window].setdefault(key, []).append(rate)
                    costs[window].setdefault(key, []).append(cost)
    measurements = []
    for window in WINDOWS:
        measurements += compare(SUITE, case_name(window), RATE, "1/s", rates[window])
        measurements += compare(SUITE, case_name(window), "CPU per call", "s", costs[window])
    return measurements


def _turn(client: Client, call: Call, count: int, window: int) -> tuple[float, float]:
    """Calls per second, and seconds of CPU per call."""
    client.time_pipelined(call, window, window, TURN_LIMIT)
    cpu_before = client.cpu
    # Never fewer than a few windows full, or the filling would be all that is measured.
    done, seconds = client.time_pipelined(call, max(count, 4 * window), window, TURN_LIMIT)
    return done / seconds, (client.cpu - cpu_before) / done
