"""From the start of the process to the first response to `tools/list`.

The relays start without servers, which is the least that such a program can do. The workbench starts with
ten toolboxes in its configuration, none of which is opened.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bench.measure import in_turns
from bench.results import compare
from bench.targets import COPIER, FASTMCP_PROXY

if TYPE_CHECKING:
    from bench.measure import Plan
    from bench.results import Measurement

SUITE = "cold"
CASE = "start to first tools/list"


def run(plan: Plan) -> list[Measurement]:
    """One case; each turn is one start."""
    # FastMCP's proxy cannot be without a server; its server with nothing mounted is the same start.
    targets = {target.key: target for target in plan.targets if target not in {COPIER, FASTMCP_PROXY}}
    wall: dict[str, list[float]] = {key: [] for key in targets}
    cpu: dict[str, list[float]] = {key: [] for key in targets}
    commands = {key: target.launch(plan.setting, ()) for key, target in targets.items()}
    for key in in_turns(plan, targets):
        with targets[key].run(plan.setting, commands[key]) as client:
            client.handshake()
            client.request("tools/list", {})
            wall[key].append(time.perf_counter() - client.started_at)
            cpu[key].append(client.cpu)
    return [*compare(SUITE, CASE, "wall", "s", wall), *compare(SUITE, CASE, "CPU", "s", cpu)]
