"""Small calls to one server while another server or call is busy."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.bodies import TEXT
from bench.measure import TURN_LIMIT, Turn, all_ready, summarise
from bench.targets import LEAN_RELAY, RELAY, WORKBENCH, Server

if TYPE_CHECKING:
    from bench.client import Call, Client
    from bench.measure import Plan
    from bench.results import Measurement

SUITE = "blocking"
IDLE = "nothing else"
LARGE_RESULTS = "another server sends 1 MB every 10 ms"
WITHOUT_PAUSE = "another server sends 1 MB results back to back"
SLOW_CALL = "another call of the same server takes 1 s"
STOPPED = "another server is stopped, with a call in flight"
SMALL, LARGE = 100, 1_000_000
CALLS = 200
SERVERS = (Server("s0"), Server("s1"), Server("s2"))


class Other(NamedTuple):
    """What goes on besides: a call that is made again and again."""

    server: Server
    size: int
    delay: float = 0.0
    """Seconds that the server takes for it."""
    pause: float = 0.0
    """Seconds from its start to that of the next, if it has been answered by then."""


def run(plan: Plan) -> list[Measurement]:
    """One case for each thing that goes on."""
    plan = plan.fewer_rounds(2)
    targets = plan.chosen(RELAY, LEAN_RELAY, WORKBENCH)
    one, other, third = SERVERS
    going_on = {
        IDLE: None,
        LARGE_RESULTS: Other(other, LARGE, pause=0.01),
        WITHOUT_PAUSE: Other(other, LARGE),
        SLOW_CALL: Other(one, SMALL, delay=1.0),
        STOPPED: Other(third, SMALL),
    }
    turns: dict[str, dict[str, list[Turn]]] = {case: {} for case in going_on}
    by_key = {target.key: target for target in targets}
    for _ in range(plan.rounds):
        with all_ready(plan.setting, targets, SERVERS) as clients:
            for case, what in going_on.items():
                for key in plan.shuffled(clients):
                    client, target = clients[key], by_key[key]
                    small = client.prepare(target.params(one, TEXT, SMALL), TEXT, SMALL)
                    besides = None
                    if what is not None:
                        params = target.params(what.server, TEXT, what.size, what.delay)
                        besides = client.prepare(params, TEXT, what.size), what.pause
                    stopped = [_pid_of(client, third)] if case == STOPPED else []
                    turn = _turn(client, small, besides, plan.scaled(CALLS), stopped)
                    turns[case].setdefault(key, []).append(turn)
    return [measured for case, taken in turns.items() for measured in summarise(SUITE, case, taken)]


def _turn(
    client: Client, small: Call, besides: tuple[Call, float] | None, count: int, stopped: list[int]
) -> Turn:
    """Small calls one after the other, and besides one of the other kind whenever it is time for it."""
    background, pause = besides or (None, 0.0)
    client.forget_output()
    seconds: list[float] = []
    try:
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        cpu_before = client.cpu
        next_time = time.perf_counter()
        deadline = next_time + TURN_LIMIT
        is_due = background is not None
        while len(seconds) < count and (not seconds or time.perf_counter() < deadline):
            started = time.perf_counter()
            client.start_calls(small)
            waiting = True
            while waiting:
                if background is not None and is_due and time.perf_counter() >= next_time:
                    next_time = time.perf_counter() + pause
                    client.start_calls(background)
                    is_due = False
                answered = client.answered_calls()
                if small in answered:
                    seconds.append(time.perf_counter() - started)
                    waiting = False
                is_due = is_due or background in answered
        cpu = client.cpu - cpu_before
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    client.await_all()
    return Turn(tuple(seconds), cpu)


def _pid_of(client: Client, server: Server) -> int:
    """The process of a server behind a target: all of them carry their names in their command lines."""
    wanted = f"--name\0{server.name}\0".encode()
    for pid in client.children():
        if wanted in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    raise client.failure(f"has no process of the server {server.name}")
