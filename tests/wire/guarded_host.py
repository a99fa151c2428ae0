"""A program with children and a guard, to be killed: `python -m tests.wire.guarded_host uvloop SCRIPT...`.

Runs each shell script as a child, prints what the children say, and takes commands: a line of input is
another script to run, the end of the input is the end of it all. The guard's own number comes first in
every line: `GUARD TEXT`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import AsyncExitStack

from mcp_workbench.wire.processes.child import Child
from mcp_workbench.wire.processes.guard import Guard
from mcp_workbench.wire.reader import LineReader, read_lines
from tests.wire.children import Watched, program, shell
from tests.wire.loops import FACTORIES


class Saying(Watched):
    """Passes on what a child says, behind the number of the guard's process."""

    def receive(self, line: bytes | memoryview) -> None:
        assert self.guard._process is not None
        print(self.guard._process.pid, bytes(line).decode(), flush=True)


async def main(scripts: list[str]) -> None:
    guard = Guard(os.environ)

    to_run: asyncio.Queue[str | None] = asyncio.Queue()
    for first in scripts:
        to_run.put_nowait(first)
    reader = LineReader(
        lambda line: to_run.put_nowait(bytes(line).decode()),
        lambda: to_run.put_nowait(None),
        lambda edges, *, is_over: print(edges, is_over),
    )
    await read_lines(os.fdopen(0, "rb", 0), reader)
    try:
        async with AsyncExitStack() as children:
            while (script := await to_run.get()) is not None:
                child = await children.enter_async_context(Child(guard, str, print))
                await child.start(program(shell(script)), Saying(guard))
    finally:
        await guard.close()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=FACTORIES[sys.argv[1]]) as runner:
        runner.run(main(sys.argv[2:]))
