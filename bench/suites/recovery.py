"""A server that is killed in the middle of a call: time to the error, and to the next response.

The relays are not measured, because they do not handle servers that die.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.bodies import TEXT
from bench.client import Client
from bench.measure import in_turns
from bench.results import Measurement
from bench.targets import DIRECT, WORKBENCH, WORKBENCH_MODERN, Server

if TYPE_CHECKING:
    from bench.measure import Plan
    from bench.targets import Target

SUITE = "recovery"
CASE = "a server killed during a call"
ERROR = "until the error"
NEXT = "next call"
BEYOND_OWN_START = "next call beyond own start"
SIZE = 100
MID_CALL = 60.0
"""Seconds that the call would take which is cut short."""


def run(plan: Plan) -> list[Measurement]:
    """One case. The direct target's next call is a start of the server and a first call, by this client."""
    server = Server()
    targets = {target.key: target for target in plan.chosen(WORKBENCH, WORKBENCH_MODERN)}
    starts: list[float] = []
    errors: dict[str, list[float]] = {key: [] for key in targets}
    nexts: dict[str, list[float]] = {key: [] for key in targets}
    for key in in_turns(plan, (DIRECT.key, *targets)):
        if key == DIRECT.key:
            starts.append(_own_start(plan, server))
            continue
        error, following = _killed(plan, targets[key], server)
        errors[key].append(error)
        nexts[key].append(following)
    measurements = [Measurement(SUITE, CASE, DIRECT.key, NEXT, "s", tuple(starts))]
    for key in targets:
        beyond = tuple(after - own for after, own in zip(nexts[key], starts, strict=True))
        measurements += [
            Measurement(SUITE, CASE, key, ERROR, "s", tuple(errors[key])),
            Measurement(SUITE, CASE, key, NEXT, "s", tuple(nexts[key])),
            Measurement(SUITE, CASE, key, BEYOND_OWN_START, "s", beyond),
        ]
    return measurements


def _own_start(plan: Plan, server: Server) -> float:
    started = time.perf_counter()
    with Client(DIRECT.title, plan.setting.echo_command(server), plan.setting.environment()) as client:
        client.handshake()
        client.request("tools/call", DIRECT.params(server, TEXT, SIZE))
        return time.perf_counter() - started


def _killed(plan: Plan, target: Target, server: Server) -> tuple[float, float]:
    with target.ready(plan.setting, [server]) as client:
        cut_short = client.send("tools/call", target.params(server, TEXT, SIZE, delay=MID_CALL))
        # The server reads in order: once this is answered, it has the other call.
        client.request("tools/call", target.params(server, TEXT, SIZE))
        # The workbench has a guard beside its servers.
        (pid,) = (pid for pid in client.children() if _is_echo_server(pid))
        killed = time.perf_counter()
        os.kill(pid, signal.SIGKILL)
        answer = client.receive(cut_short, killed)
        result = answer.message.get("result", {"isError": True})
        if not result.get("isError"):
            raise client.failure(f"answered the call of a killed server with {answer.message}")
        following = client.timed_request("tools/call", target.params(server, TEXT, SIZE))
        return answer.seconds, following.seconds


def _is_echo_server(pid: int) -> bool:
    return b"echo_server" in Path(f"/proc/{pid}/cmdline").read_bytes()
