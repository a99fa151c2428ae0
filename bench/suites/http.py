"""The workbench over HTTP, for many clients at once, compared with the least that such an endpoint can do.

Each target has the same echo server, over stdio, and the client keeps its connections. With several
connections, each has one call at a time. Ratios are to the bare Starlette endpoint that relays to the
server. A start ends with the first answered call, so that it includes everything that a target delays until
then.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from bench.bodies import TEXT
from bench.measure import CPU_PER_CALL, TURN_LIMIT, sequential_turn, summarise
from bench.over_http.targets import OURS, PEERS, RELAY
from bench.results import compare
from bench.targets import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from bench.client import Call
    from bench.measure import Schedule, Turn
    from bench.over_http.client import HttpClient
    from bench.over_http.targets import HttpTarget
    from bench.results import Measurement

    Figures = dict[tuple[str, str, str], dict[str, list[float]]]
    """By case, figure and unit, and by target: a number per round."""

SUITE = "http"
START = "over HTTP, start to first answered call"
SIZES = (("100 B", 100, 200), ("10 KB", 10_000, 150), ("1 MB", 1_000_000, 20))
"""As shown, in bytes, and the calls of one turn."""
CONNECTIONS = (16, 64)
CALLS = 2000
"""In one turn with several connections, for those who are fast enough."""
RATE = "calls per second"
MEMORY = "over HTTP, after all these calls"
AGAINST_PEERS = "against the best peer"
TAIL = 0.95


def case_name(size: str) -> str:
    """How a case with one connection is called in the tables."""
    return f"over HTTP, text, {size}"


def parallel_case_name(connections: int) -> str:
    """How a case with several is called."""
    return f"over HTTP, {connections} connections"


def run(plan: Schedule[HttpTarget]) -> list[Measurement]:
    """A start, calls by size and by number of connections, and the memory after all of them."""
    server = Server()
    figures: Figures = {}
    turns: dict[str, dict[str, list[Turn]]] = {case_name(shown): {} for shown, _, _ in SIZES}
    for number in range(plan.rounds):
        targets = {target.key: target for target in plan.in_round(number)}
        with ExitStack() as stack:
            clients = {}
            for key in plan.shuffled(targets):
                clients[key] = stack.enter_context(targets[key].start(plan.setting, server))
                _note(figures, key, _first_call(clients[key], targets[key], server))
            for shown, size, count in SIZES:
                for key in plan.shuffled(clients):
                    call = clients[key].prepare(targets[key].params(server, TEXT, size), TEXT, size)
                    turn = sequential_turn(clients[key], call, plan.scaled(count))
                    turns[case_name(shown)].setdefault(key, []).append(turn)
            for connections in CONNECTIONS:
                for key in plan.shuffled(clients):
                    call = clients[key].prepare(targets[key].params(server, TEXT, 100), TEXT, 100)
                    _note(figures, key, _parallel(clients[key], call, connections, plan.scaled(CALLS)))
            for key, client in clients.items():
                _note(figures, key, {(MEMORY, "RSS", "B"): client.rss})
    return list(_measurements(figures, turns))


def _note(figures: Figures, key: str, found: Mapping[tuple[str, str, str], float]) -> None:
    for figure, number in found.items():
        figures.setdefault(figure, {}).setdefault(key, []).append(number)


def _first_call(client: HttpClient, target: HttpTarget, server: Server) -> dict[tuple[str, str, str], float]:
    client.handshake()
    client.prepare(target.params(server, TEXT, 100), TEXT, 100)
    wall = time.perf_counter() - client.started_at
    return {
        (START, "wall", "s"): wall,
        (START, "CPU", "s"): client.cpu,
        (START, "RSS", "B"): client.rss,
    }


def _parallel(
    client: HttpClient, call: Call, connections: int, count: int
) -> dict[tuple[str, str, str], float]:
    # Also opens the connections.
    client.time_parallel(call, 2 * connections, connections, TURN_LIMIT)
    cpu_before = client.cpu
    done, seconds = client.time_parallel(call, max(count, 4 * connections), connections, TURN_LIMIT)
    case = parallel_case_name(connections)
    cost = (client.cpu - cpu_before) / done
    return {(case, RATE, "1/s"): done / seconds, (case, CPU_PER_CALL, "s"): cost}


def _measurements(figures: Figures, turns: Mapping[str, Mapping[str, list[Turn]]]) -> Iterator[Measurement]:
    for case, taken in turns.items():
        measured = summarise(SUITE, case, taken, reference=RELAY.key, tail=TAIL)
        yield from measured
        yield from _against_peers(measured, "p50", min)
    for (case, figure, unit), rounds in figures.items():
        measured = compare(SUITE, case, figure, unit, rounds, reference=RELAY.key)
        yield from measured
        yield from _against_peers(measured, RATE, max)


def _against_peers(
    measured: Iterable[Measurement], figure: str, best: Callable[[Iterable[float]], float]
) -> Iterator[Measurement]:
    """What the workbench has of a figure against the best peer in the same round."""
    found = {one.target: one for one in measured if one.figure == figure}
    peers = [found[peer.key].rounds for peer in PEERS if peer.key in found]
    bests = [best(numbers) for numbers in zip(*peers, strict=True)]
    for one in (found[target.key] for target in OURS if target.key in found and bests):
        ratios = tuple(mine / other for mine, other in zip(one.rounds, bests, strict=False))
        yield one._replace(figure=AGAINST_PEERS, unit="×", rounds=ratios, ratios=())
