"""Real children for the tests of `Child`: small shell programs, and all that came from them."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_workbench.wire.cancellation import run_to_completion
from mcp_workbench.wire.processes.child import Child, Program
from mcp_workbench.wire.processes.guard import Guard
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

IGNORE_END = "while :; do sleep 0.02; done"
"""Goes on whatever becomes of its input."""
HELPER = "(trap '' TERM; exec sleep 600) & echo $!"
"""Leaves a helper behind that holds its pipes and outlives SIGTERM, and says which."""
DISTANT_HELPER = "(trap '' TERM; exec setsid sh -c 'echo $$; exec sleep 600') &"
"""A helper process in a session of its own."""


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


def shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def program(command: list[str], env: dict[str, str] | None = None, cwd: str | None = None) -> Program:
    return Program(command, {"PATH": os.environ["PATH"]} if env is None else env, cwd)


class Watched:
    """A child with what it has said so far."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self.stderr: list[str] = []
        self.lines: list[bytes] = []
        self.full: list[bool] = []
        self.unwritten: list[bytes] = []
        self.child = Child(guard, str, self.stderr.append)

    def receive(self, line: bytes | memoryview) -> None:
        self.lines.append(bytes(line))

    def receive_rest(self, line: bytes | memoryview) -> None:
        self.receive(line)

    def receive_overlong(self, edges: bytes, *, is_over: bool) -> None:
        raise AssertionError(f"no line of these tests is too long, but one was: {edges!r}, {is_over}")

    def on_full(self, is_full: bool) -> None:
        self.full.append(is_full)

    def on_unwritten(self, lines: bytes) -> None:
        self.unwritten.append(lines)

    async def line(self, number: int = 0) -> str:
        await poll(lambda: len(self.lines) > number)
        return self.lines[number].decode()

    async def closed(self) -> tuple[str, float]:
        """What `closed` says, and how many seconds that took from now."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        async with asyncio.timeout(PATIENCE):
            return await asyncio.shield(self.child.closed), loop.time() - started

    async def stop(self) -> float:
        """How many seconds it took to stop it."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        async with asyncio.timeout(PATIENCE):
            await self.child.stop()
        return loop.time() - started


@asynccontextmanager
async def started(what: Program | str, guard: Guard | None = None) -> AsyncIterator[Watched]:
    """A child of its own guard, unless there is one already."""
    its_guard = guard or Guard({})
    watched = Watched(its_guard)
    try:
        async with watched.child:
            to_run = program(shell(what)) if isinstance(what, str) else what
            await watched.child.start(to_run, watched)
            yield watched
    finally:
        if guard is None:
            await run_to_completion(its_guard.close())


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))
