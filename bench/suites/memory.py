"""The memory of a target's process, after each step of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.bodies import TEXT
from bench.measure import in_turns
from bench.results import Measurement, compare
from bench.targets import (
    FASTMCP_MOUNT,
    LEAN_RELAY,
    RELAY,
    WORKBENCH,
    WORKBENCH_ASYNCIO,
    WORKBENCH_MODERN,
    Server,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.client import Client
    from bench.measure import Plan
    from bench.targets import Target

SUITE = "memory"
AFTER_START = "after the start"
AFTER_OPENING = "after opening 10 servers of 30 tools"
AFTER_LARGE = "after 50 results of 1 MB"
AFTER_HUGE = "after one result of 16 MB"
AFTER_MANY = "after 5,000 calls of 100 B"
AGAINST_OPENING = "against after opening"
LARGE, LARGE_CALLS = 1_000_000, 50
HUGE = 16_000_000
SMALL, SMALL_CALLS = 100, 5000
SERVERS = [Server(f"s{number}") for number in range(10)]


def run(plan: Plan) -> list[Measurement]:
    """One case for each step; each turn is one life."""
    plan = plan.fewer_rounds(5)
    taking_part = plan.chosen(
        RELAY, LEAN_RELAY, WORKBENCH, WORKBENCH_ASYNCIO, WORKBENCH_MODERN, FASTMCP_MOUNT
    )
    targets = {target.key: target for target in taking_part}
    held: dict[str, dict[str, list[float]]] = {}
    for key in in_turns(plan, targets):
        with targets[key].start(plan.setting, SERVERS) as client:
            for step, rss in _life(plan, targets[key], client):
                held.setdefault(step, {}).setdefault(key, []).append(rss)
    measurements = []
    for step, by_target in held.items():
        measurements += compare(SUITE, step, "RSS", "B", by_target)
        if step in {AFTER_START, AFTER_OPENING}:
            continue
        for key, numbers in by_target.items():
            growth = tuple(
                rss / opened for rss, opened in zip(numbers, held[AFTER_OPENING][key], strict=True)
            )
            measurements.append(Measurement(SUITE, step, key, AGAINST_OPENING, "×", growth))
    return measurements


def _life(plan: Plan, target: Target, client: Client) -> Iterator[tuple[str, float]]:
    client.handshake()
    yield AFTER_START, client.rss
    target.open(client)
    yield AFTER_OPENING, client.rss
    large = client.prepare(target.params(SERVERS[0], TEXT, LARGE), TEXT, LARGE)
    for _ in range(plan.scaled(LARGE_CALLS) - 1):
        client.time_call(large)
    yield AFTER_LARGE, client.rss
    client.prepare(target.params(SERVERS[1], TEXT, HUGE), TEXT, HUGE)
    yield AFTER_HUGE, client.rss
    if not target.slow:
        small = client.prepare(target.params(SERVERS[2], TEXT, SMALL), TEXT, SMALL)
        for _ in range(plan.scaled(SMALL_CALLS) - 1):
            client.time_call(small)
        yield AFTER_MANY, client.rss
