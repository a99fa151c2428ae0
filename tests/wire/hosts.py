"""Hosts with children and a guard, as processes that a test can kill."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.processes import is_running
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

ROOT = Path(__file__).parents[2]


class Host:
    """A running `guarded_host`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.guard = 0
        """The number of the guard that was there when the last line was read."""

    async def line(self) -> str:
        """What one of its children said next."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            line = await self.process.stdout.readline()
        guard, _, text = line.decode().rstrip("\n").partition(" ")
        self.guard = int(guard)
        return text

    async def pid(self) -> int:
        return int(await self.line())

    def run(self, script: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(script.encode() + b"\n")

    async def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self._gone()

    async def kill(self) -> None:
        self.process.kill()
        await self._gone()

    async def _gone(self) -> int:
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()


@asynccontextmanager
async def host(
    *scripts: str, loop: str = "uvloop", env: Mapping[str, str] | None = None
) -> AsyncIterator[Host]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.wire.guarded_host", loop, *scripts),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
    )
    it = Host(process)
    try:
        yield it
    finally:
        if process.returncode is None:
            await it.kill()


async def seconds_until_gone(pids: list[int]) -> float:
    loop = asyncio.get_running_loop()
    started = loop.time()
    async with asyncio.timeout(PATIENCE):
        while any(map(is_running, pids)):  # noqa: ASYNC110 - not our children, so nothing reports their end
            await asyncio.sleep(0.01)
    return loop.time() - started
