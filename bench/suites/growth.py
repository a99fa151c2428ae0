"""What more servers and more tools cost: each call, and the opening."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import product
from typing import TYPE_CHECKING

from bench.bodies import TEXT
from bench.measure import in_turns, sequential_turn, summarise
from bench.results import Measurement, compare, median
from bench.targets import LEAN_RELAY, RELAY, WORKBENCH, Server

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.measure import Plan, Turn

    Cases = Mapping[str, Sequence[Server]]

SUITE = "growth"
SIZE = 100
CALLS = 200
MOST_TOOLS = "calls, 5,000 tools"
MOST_TOOLS_OPENING = "opening, 5,000 tools"
AGAINST_LEAST = "p50 against the least"

BY_SERVERS: Cases = {
    "calls, 1 server of 30 tools": [Server()],
    "calls, 10 servers of 30 tools": [Server(f"s{number}") for number in range(10)],
    "calls, 50 servers of 30 tools": [Server(f"s{number}") for number in range(50)],
}
BY_TOOLS: Cases = {
    "calls, 10 tools": [Server(tools=10)],
    "calls, 300 tools": [Server(tools=300)],
    MOST_TOOLS: [Server(tools=5000)],
}
OPENING: Cases = {
    "opening, 10 tools": [Server(tools=10)],
    "opening, 300 tools": [Server(tools=300)],
    MOST_TOOLS_OPENING: [Server(tools=5000)],
}


def run(plan: Plan) -> list[Measurement]:
    """Calls by number of servers and of tools, then openings by number of tools."""
    less = plan.fewer_rounds(2)
    return [*_calls(less, BY_SERVERS), *_calls(plan, BY_TOOLS), *_openings(less, OPENING)]


def _calls(plan: Plan, cases: Cases) -> list[Measurement]:
    """All cases are up together and take their turns in the same rounds, for they are compared too."""
    targets = {target.key: target for target in plan.chosen(RELAY, LEAN_RELAY, WORKBENCH)}
    turns: dict[str, dict[str, list[Turn]]] = {case: {key: [] for key in targets} for case in cases}
    for _ in range(plan.rounds):
        with ExitStack() as stack:
            prepared = {}
            for (case, servers), (key, target) in product(cases.items(), targets.items()):
                client = stack.enter_context(target.ready(plan.setting, servers))
                # The last server and one of its last tools: whoever searches has to search to the end.
                params = target.params(servers[-1], TEXT, SIZE, tool=servers[-1].tools - 2)
                prepared[f"{case}/{key}"] = client, client.prepare(params, TEXT, SIZE)
            for place in plan.shuffled(prepared):
                case, _, key = place.rpartition("/")
                turns[case][key].append(sequential_turn(*prepared[place], plan.scaled(CALLS)))
    measurements = []
    for case in cases:
        measurements += summarise(SUITE, case, turns[case])
        for key in targets:
            growth = _against(turns[case][key], turns[next(iter(cases))][key])
            measurements.append(Measurement(SUITE, case, key, AGAINST_LEAST, "×", growth))
    return measurements


def _against(turns: Sequence[Turn], least: Sequence[Turn]) -> tuple[float, ...]:
    paired = zip(turns, least, strict=True)
    return tuple(median(turn.seconds) / median(base.seconds) for turn, base in paired)


def _openings(plan: Plan, cases: Cases) -> list[Measurement]:
    targets = {target.key: target for target in plan.chosen(RELAY, LEAN_RELAY, WORKBENCH)}
    measurements = []
    for case, servers in cases.items():
        seconds: dict[str, list[float]] = {key: [] for key in targets}
        cpu: dict[str, list[float]] = {key: [] for key in targets}
        for key in in_turns(plan, targets):
            with targets[key].start(plan.setting, servers) as client:
                client.handshake()
                cpu_before = client.cpu
                seconds[key].append(targets[key].open(client))
                cpu[key].append(client.cpu - cpu_before)
        measurements += compare(SUITE, case, "time", "s", seconds)
        measurements += compare(SUITE, case, "CPU", "s", cpu)
    return measurements
