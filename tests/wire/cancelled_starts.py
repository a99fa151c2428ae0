"""Starts children and cancels that at every step of the way: `python -m tests.wire.cancelled_starts asyncio`.

Prints what was left behind, which should be nothing. A process of its own, because a descriptor that is
closed twice may by then be a stranger's.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
import warnings

from mcp_workbench.wire.processes import child as child_module
from mcp_workbench.wire.processes.guard import Guard
from tests.wire.children import Watched, open_descriptors, program
from tests.wire.loops import FACTORIES

STEPS = 8


async def start_and_cancel(steps: int) -> None:
    guard = Guard({})
    watched = Watched(guard)

    async def work() -> None:
        async with watched.child:
            await watched.child.start(program(["sleep", "600"]), watched)
            await asyncio.Event().wait()

    working = asyncio.create_task(work())
    for _ in range(steps):
        await asyncio.sleep(0)
    working.cancel()
    await asyncio.wait([working])
    await guard.close()
    for _ in range(10):
        await asyncio.sleep(0)  # transports close their descriptors a turn or two later


async def main() -> None:
    await start_and_cancel(STEPS)
    for steps in range(1, STEPS):
        before = open_descriptors()
        await start_and_cancel(steps)
        if (more := open_descriptors() - before) > 0:
            print(f"cancelled at step {steps}: {more} descriptors left open")


def report_processes() -> None:
    with contextlib.suppress(ChildProcessError):
        pid, _ = os.waitpid(-1, os.WNOHANG)
        print("a process was left", "unreaped" if pid else "running")


if __name__ == "__main__":
    child_module.EXIT_GRACE_SECONDS = 0.1
    warnings.simplefilter("always", ResourceWarning)
    with asyncio.Runner(loop_factory=FACTORIES[sys.argv[1]]) as runner:
        runner.run(main())
    report_processes()
    gc.collect()
