"""One trial: a workbench of its own, a faulty server and a healthy sibling, and all that is measured of them.

Owns the promises that hold whatever the fault: the sibling answers while it lasts, memory stays bounded,
stdout is JSON-RPC, the workbench goes in time and in good order, and no process is left. What is broken is
collected as complaints, so that one trial says all that is wrong.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast
from uuid import uuid4

import pytest

from tests.support.client import RawClient, clean_environment, serve_command, write_config
from tests.support.configs import WHOLE
from tests.support.journal import Journal
from tests.support.processes import is_running
from tests.support.sessions import session_of
from tests.support.stopwatch import BUSIEST, Stopwatch
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from tests.support.client import Json, Reply
    from tests.support.sessions import Era, Session

OPEN = '{"name":"open_toolbox","arguments":{"toolbox_name":"dev","detail":"full"}}'
"""The parameters of a call that opens the toolbox, and wants to see everything."""

ROOT = Path(__file__).resolve().parents[2]
MARK = "FAULT_TRIAL"

GROWTH_LIMIT = 150.0
"""Megabytes that the workbench may grow by at its peak."""
EXIT_LIMIT = 6.0
SURVIVAL_LIMIT = 5.0
SIBLING_LIMIT = 2.0
"""Seconds for a sibling's answer, on a machine that is busy with the fault."""
TRIAL_LIMIT = 120
"""Seconds for one fault."""
TABLE_LIMIT = 600
"""Seconds for all the faults of a table, which are met before the first of them is judged."""
AT_ONCE = 8
HEAVY_AT_ONCE = 2
"""Trials that share the machine. Nearly all of their time most of them wait; the heavy ones work, too."""


class Trial:
    """The workbench while it is tried."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.mark = uuid4().hex
        self.complaints: list[str] = []
        self.client: RawClient
        self.session: Session
        self._before = 0.0

    def journal(self, server: str) -> Journal:
        return Journal(self.directory / f"{server}.journal")

    def server(self, name: str, entry: Json | None = None, **options: object) -> Json:
        """An `mcpServers` entry for the misbehaving server; `entry` adds keys of the configuration."""
        told = {"era": "legacy", "journal": str(self.journal(name).path), **options}
        return {
            "command": sys.executable,
            "args": ["-S", "-m", "tests.faults.servers.faulty", json.dumps(told)],
            "cwd": str(ROOT),
            "env": {MARK: self.mark},
            **(entry or {}),
        }

    def config(self, **servers: Json) -> Json:
        """One toolbox with these servers and the sibling."""
        everyone = {"sibling": self.server("sibling"), **servers}
        return {**WHOLE, "toolboxes": {"dev": {"description": "The toolbox", "mcpServers": everyone}}}

    @asynccontextmanager
    async def running(
        self, config: Json, era: Era = "modern", environment: Mapping[str, str] | None = None
    ) -> AsyncIterator[Session]:
        """A session on a workbench that is judged at the end, however it came to that."""
        extra = {MARK: self.mark, **(environment or {})}
        command = serve_command(write_config(self.directory, config))
        self.client = RawClient(command, clean_environment(self.directory, extra))
        async with self.client:
            self.session = session_of(era, self.client)
            await self.session.greet()
            self._before = self.memory("VmRSS")
            yield self.session
            self.weigh()
            if self.client.process.returncode is None:
                await self.leave(self.client.close)

    def memory(self, field: str = "VmHWM") -> float:
        """Megabytes that the workbench holds now, or held at its peak."""
        status = Path(f"/proc/{self.client.process.pid}/status").read_text(encoding="ascii")
        found = re.search(rf"^{field}:\s+(\d+) kB", status, re.MULTILINE)
        assert found, status
        return int(found[1]) / 1024

    def descriptors(self) -> int:
        """How many the workbench has open."""
        return len(list(Path(f"/proc/{self.client.process.pid}/fd").iterdir()))

    def weigh(self) -> None:
        if self.client.process.returncode is None:
            grown = self.memory() - self._before
            self.claim(grown <= GROWTH_LIMIT, f"it grew by {grown:.0f} MB")

    def claim(self, holds: object, complaint: str) -> None:
        if not holds:
            self.complaints.append(complaint)

    async def leave(
        self, way: Callable[[], Awaitable[object]], limit: float = EXIT_LIMIT, *, any_code: bool = False
    ) -> None:
        """Ends the workbench in that way, and judges how it went."""
        watch = self.stopwatch()
        took = 0.0

        async def end() -> None:
            await way()
            await self.client.wait_exit()

        ending = asyncio.create_task(end())
        while not ending.done() and took <= 3 * EXIT_LIMIT:
            # The system tells how long a process waited for a core only while it lives.
            await asyncio.wait([ending], timeout=0.05)
            took = watch.seconds()
        if not ending.done():
            self.complaints.append("it did not exit")
            self.client.kill_group()
        await ending
        self.claim(took <= limit, f"its exit took {took:.1f} s")
        code = self.client.process.returncode
        self.claim(any_code or code == 0, f"its exit code was {code}")
        await self.outlive()

    async def outlive(self, within: float = 1.0) -> None:
        """Waits for the last process of the trial, and complains of those that stay."""
        try:
            await poll(lambda: not processes_marked(self.mark), within)
        except TimeoutError:
            left = processes_marked(self.mark)
            self.complaints.append(f"processes were left behind: {sorted(left.values())}")
            for pid in left:
                os.kill(pid, 9)

    async def alongside(self, answer: asyncio.Future[Reply], within: float) -> tuple[Reply | None, float]:
        """The answer, if it comes in time, and when; the sibling is called again and again until then."""
        watch = self.stopwatch()
        what = asyncio.create_task(timed(answer, watch))
        worst = 0.0
        while True:
            sibling = self.stopwatch()
            try:
                async with asyncio.timeout(BUSIEST * SIBLING_LIMIT):
                    echo = await self.session.begin_tool("dev", "sibling", "echo")
                    text = spoken((await echo).message)
                self.claim(text == "echo", f"the sibling said {text[:300]!r}")
            except TimeoutError:
                self.complaints.append("the sibling did not answer")
                break
            worst = max(worst, sibling.seconds())
            if what.done() or watch.seconds() > within:
                break
            await asyncio.wait([what], timeout=0.05)
        self.claim(worst <= SIBLING_LIMIT, f"the sibling took {worst:.1f} s")
        if what.done():
            return what.result()
        what.cancel()
        return None, within

    async def settle(self, server: str) -> None:
        """Returns when what the server did after its answer is done, and the workbench had time to see it."""
        await self.journal(server).wait_until(lambda it: it.events("settled") or not is_running(it.pids[-1]))
        await self.use("sibling", "echo", SIBLING_LIMIT)

    async def use(self, server: str, tool: str, within: float) -> str:
        """What a call brings, or that it brings nothing in time."""
        watch = self.stopwatch()
        answer = await self.session.begin_tool("dev", server, tool)
        try:
            async with asyncio.timeout(BUSIEST * within):
                text = spoken((await answer).message)
        except TimeoutError:
            text = ""
        took = watch.seconds()
        return text if text and took <= within else f"(no answer within {took:.1f} s) {text}"

    def stopwatch(self) -> Stopwatch:
        """Start to measure the time that the workbench, its sibling server and this client of it need."""
        return Stopwatch(os.getpid(), self.client.process.pid, *self.journal("sibling").pids)


async def timed(answer: asyncio.Future[Reply], watch: Stopwatch) -> tuple[Reply, float]:
    return await answer, watch.seconds()


def spoken(message: Json) -> str:
    """What an answer says, with what kind of answer it is in front if it is not a plain success."""
    if "error" in message:
        return f"(JSON-RPC error) {message['error']}"
    result = message["result"]
    text = "".join(str(part.get("text", part)) for part in result["content"])
    return f"(error) {text}" if result.get("isError") else text


async def replies(calls: list[asyncio.Future[Reply]], within: float = PATIENCE) -> list[str]:
    """What all the answers say, if they come in time."""
    async with asyncio.timeout(within):
        return [spoken((await call).message) for call in calls]


def processes_marked(mark: str) -> dict[int, str]:
    """The processes that have the mark in their environment: pid -> command line."""
    wanted = f"{MARK}={mark}".encode()
    found = {}
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit():
            try:
                if wanted in (directory / "environ").read_bytes().split(b"\0"):
                    words = (directory / "cmdline").read_bytes().decode(errors="replace").split("\0")
                    found[int(directory.name)] = " ".join(words)[:200]
            except OSError:
                continue  # not ours, or gone by now
    return found


class Fault(Protocol):
    """An entry of a table of faults."""

    @property
    def name(self) -> str: ...

    @property
    def is_heavy(self) -> bool:
        """Whether it takes much of the machine."""


def conduct(
    request: pytest.FixtureRequest,
    directories: pytest.TempPathFactory,
    meet: Callable[[Any, Path], Awaitable[list[str]]],
) -> dict[str, list[str]]:
    """The complaints about every fault that was asked for, a few at once: most only wait."""
    asked = [item for item in request.session.items if isinstance(item, pytest.Function)]
    tables = [
        item.callspec.params for item in asked if item.module is request.module and hasattr(item, "callspec")
    ]
    faults = [cast("Fault", params["fault"]) for params in tables if "fault" in params]

    async def one(fault: Fault, turn: asyncio.Semaphore) -> list[str]:
        async with turn:
            try:
                async with asyncio.timeout(TRIAL_LIMIT):
                    return await meet(fault, directories.mktemp("trial"))
            except Exception as error:  # noqa: BLE001 - what breaks one trial must not take the others along
                return [f"{type(error).__name__}: {error}"[:2000]]

    async def all_of(faults: list[Fault], at_once: int) -> dict[str, list[str]]:
        turn = asyncio.Semaphore(at_once)
        complaints = await asyncio.gather(*(one(fault, turn) for fault in faults))
        return {fault.name: found for fault, found in zip(faults, complaints, strict=True)}

    light = asyncio.run(all_of([fault for fault in faults if not fault.is_heavy], AT_ONCE))
    return light | asyncio.run(all_of([fault for fault in faults if fault.is_heavy], HEAVY_AT_ONCE))
