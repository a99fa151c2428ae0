"""Opening many servers at once, each of which takes 300 ms to start, in addition to the start of Python.

The workbench is measured with `open_toolbox`, the others with the first `tools/list`. The floor is the cost
of the servers alone: the benchmark's own client starts all of them at once, connects, and lists their
tools. The workbench remembers the protocol version of a server from its first opening. FastMCP's proxy of
many servers is not measured, because it opens them during the handshake.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from bench.client import Client
from bench.measure import in_turns
from bench.results import Measurement, compare
from bench.targets import FASTMCP_MOUNT, LEAN_RELAY, RELAY, WORKBENCH, WORKBENCH_MODERN, Server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.measure import Plan
    from bench.targets import Setting

SUITE = "open"
COUNTS = (1, 5, 10, 20)
START_DELAY = 0.3
FLOOR = "floor"
OVER_FLOOR = "against the floor"


def case_name(count: int) -> str:
    """How a case is called in the tables."""
    return f"{count} server" + ("s" if count > 1 else "")


def run(plan: Plan) -> list[Measurement]:
    """One case for each number of servers; each turn is one start and one opening."""
    plan = plan.fewer_rounds(3)
    taking_part = plan.chosen(RELAY, LEAN_RELAY, WORKBENCH, WORKBENCH_MODERN, FASTMCP_MOUNT)
    targets = {target.key: target for target in taking_part}
    measurements = []
    for count in COUNTS:
        servers = [Server(f"s{number}", start_delay=START_DELAY) for number in range(count)]
        seconds: dict[str, list[float]] = {key: [] for key in (FLOOR, *targets)}
        cpu: dict[str, list[float]] = {key: [] for key in targets}
        for key in in_turns(plan, seconds):
            if key == FLOOR:
                seconds[key].append(_open_directly(plan.setting, servers))
                continue
            with targets[key].start(plan.setting, servers) as client:
                client.handshake()
                cpu_before = client.cpu
                seconds[key].append(targets[key].open(client))
                cpu[key].append(client.cpu - cpu_before)
        case = case_name(count)
        measurements += compare(SUITE, case, "time", "s", seconds)
        measurements += [
            Measurement(SUITE, case, key, OVER_FLOOR, "×", _quotients(numbers, seconds[FLOOR]))
            for key, numbers in seconds.items()
        ]
        measurements += compare(SUITE, case, "CPU", "s", cpu)
    return measurements


def _quotients(numbers: Sequence[float], bases: Sequence[float]) -> tuple[float, ...]:
    return tuple(number / base for number, base in zip(numbers, bases, strict=False))


def _open_directly(setting: Setting, servers: Sequence[Server]) -> float:
    with ExitStack() as stack:
        started = time.perf_counter()
        clients = [
            stack.enter_context(Client(server.name, setting.echo_command(server), setting.environment()))
            for server in servers
        ]
        greeted = [client.greet() for client in clients]
        for client, identifier in zip(clients, greeted, strict=True):
            client.receive(identifier, started)
            client.confirm_greeting()
        asked = [client.send("tools/list", {}) for client in clients]
        for client, identifier in zip(clients, asked, strict=True):
            client.receive(identifier, started)
        return time.perf_counter() - started
