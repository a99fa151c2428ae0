"""The HTTP part of the soak: several principals share a workbench, and one of them misbehaves all the time.

Every answer of the others has to be right, and soon; every request of the one has to be answered, too.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import signal
import sys
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from soak import bodies, plan, processes
from soak.client import safe_environment
from soak.http_client import Principal
from soak.ledger import Entry
from soak.records import judge_records
from soak.traffic import use_tool

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from soak.plan import Place, Server

    Json = dict[str, Any]

GOOD = ("bob", "carol", "dave")
BAD = "mallory"
P99_SECONDS = 0.2
IDLE_FACTOR = 10
"""Times the p99 of the calls while nobody misbehaves that they may take on a machine that is busy anyway."""
LATE_FACTOR = 8
"""Times by which our own sleep is late, for the same reason: a call is as many turns of three processes."""
IDLE_CALLS = 100
PAUSE_SECONDS = 0.01
"""Between two calls of one of the others."""
KEPT_SIZE = 20_000
START_BOUND = 20.0
EXIT_BOUND = 30.0
MEMORY_LIMIT = 1024 * 2**20
"""Bytes that the workbench may grow by: kept results, waiting calls, and one large regular expression."""
INLINE_LIMIT = 10_000
SHOWN = 5
"""Problems of the audit that are shown: they may be thousands."""
TROUBLE = ("Traceback", "inside the workbench", "never retrieved", "never awaited", "Exception in callback")


class Shared(NamedTuple):
    """The figures of the HTTP part."""

    seconds: float
    idle: Sequence[float]
    """Seconds that calls of the others took while nobody misbehaved, in order of size."""
    times: Sequence[float]
    """The same while one did."""
    late: Sequence[float]
    """Seconds by which our own sleep was late meanwhile: the machine may be busy with something else."""
    deeds: Mapping[str, Mapping[str, int]]
    """What the one did, and how its requests ended."""
    rss: tuple[int, int]
    """Bytes before, and at most."""
    problems: Sequence[str]


def p99(times: Sequence[float]) -> float:
    """The time that 99 of 100 calls took at most."""
    return times[min(int(len(times) * 0.99), len(times) - 1)] if times else 0.0


async def share(seconds: float, chance: random.Random, directory: Path) -> Shared:
    """Run it, and judge it."""
    place = plan.Place(directory, f"shared-{time.time_ns()}")
    servers = plan.servers(1)
    tokens = {name: hashlib.sha256(f"{name} {place.marker}".encode()).hexdigest() for name in (*GOOD, BAD)}
    _write(place, servers, tokens)
    with place.stderr.open("ab") as stderr:
        process = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).parent / "mcp-workbench"),
            *("--config", str(place.config), "serve", "--http", "127.0.0.1:0"),
            *("--token-file", str(directory / "tokens.json")),
            stdin=asyncio.subprocess.DEVNULL,
            stderr=stderr,
            env={**safe_environment(), plan.MARKER: place.marker, **place.directories},
            start_new_session=True,
        )
    try:
        url = await _url(place)
        numbers = count(1)
        principals = {name: Principal(url, name, tokens[name], numbers) for name in GOOD}
        run = _Run(place, servers, principals, process.pid, chance)
        nuisance = [sys.executable, "-m", "soak.nuisance", url, tokens[BAD], str(chance.random())]
        return await run.run(seconds, process, nuisance)
    finally:
        for pid in processes.marked(place.stamp):
            processes.kill(pid, place.stamp)


def _write(place: Place, servers: Sequence[Server], tokens: Mapping[str, str]) -> None:
    tree = plan.configuration(servers, place)
    box = tree["toolboxes"][servers[0].toolbox]["mcpServers"]
    own = plan.Server(servers[0].toolbox, "own", "legacy")
    entry = plan.configuration([own], place)["toolboxes"][own.toolbox]["mcpServers"]["own"]
    box["own"] = entry | {"isolation": "client"}
    tree["results"] = {"inlineLimit": INLINE_LIMIT, "memory": 8 * 2**20, "quota": 16 * 2**20}
    place.config.write_text(json.dumps(tree), encoding="utf-8")
    listed = {name: {"token": token, "toolboxes": ["*"]} for name, token in tokens.items()}
    path = place.directory / "tokens.json"
    path.touch(mode=0o600)
    path.write_text(json.dumps({"tokens": listed}), encoding="utf-8")


async def _url(place: Place) -> str:
    async with asyncio.timeout(START_BOUND):
        while not (found := re.search(r"serving at (http://\S+)", place.log())):  # noqa: ASYNC110 - a file
            await asyncio.sleep(0.05)
    return found[1]


async def _lateness(ended: asyncio.Event) -> list[float]:
    """Seconds by which sleeps of ours were late, in order of size."""
    late = []
    while not ended.is_set():
        begun = time.monotonic()
        await asyncio.sleep(PAUSE_SECONDS)
        late.append(time.monotonic() - begun - PAUSE_SECONDS)
    return sorted(late)


class _Run:
    """The phases: all quiet, one misbehaves, the end."""

    def __init__(
        self,
        place: Place,
        servers: Sequence[Server],
        principals: Mapping[str, Principal],
        pid: int,
        chance: random.Random,
    ) -> None:
        self._place = place
        self._servers = servers
        self._principals = principals
        self._pid = pid
        self._chance = chance
        self._numbers = 0
        self._problems: list[str] = []

    async def run(
        self, seconds: float, process: asyncio.subprocess.Process, nuisance: Sequence[str]
    ) -> Shared:
        """All of it, with the command of whoever misbehaves."""
        started = time.monotonic()
        good = [self._principals[name] for name in GOOD]
        await asyncio.gather(*(self._echo(good[0], server) for server in self._servers))
        handles = {one.name: await self._keep(one) for one in good}
        idle = sorted([await self._echo(good[0], self._servers[0]) for _ in range(IDLE_CALLS)])
        before = most = processes.rss_of(self._pid)
        ended = asyncio.Event()
        misbehaving = await asyncio.create_subprocess_exec(
            *nuisance, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=plan.ROOT
        )
        calling = [asyncio.create_task(self._go_on(one, ended)) for one in good]
        sleeping = asyncio.create_task(_lateness(ended))
        while time.monotonic() - started < seconds and misbehaving.returncode is None:
            await asyncio.sleep(0.25)
            most = max(most, processes.rss_of(self._pid))
        said, _ = await asyncio.wait_for(misbehaving.communicate(b""), EXIT_BOUND)
        told: Json = json.loads(said) if said else {"ends": {}, "problems": ["ended early"], "entries": []}
        ended.set()
        times = sorted([one for some in await asyncio.gather(*calling) for one in some])
        for one in good:
            await self._read_kept(one, handles[one.name])
        late = await sleeping
        self._judge(idle, times, late, most - before)
        self._problems += [f"{BAD}: {problem}" for problem in told["problems"]]
        await self._end(process)
        self._judge_records(told["entries"])
        took = time.monotonic() - started
        return Shared(took, idle, times, late, told["ends"], (before, most), self._problems)

    async def _go_on(self, principal: Principal, ended: asyncio.Event) -> list[float]:
        times = []
        while not ended.is_set():
            times.append(await self._echo(principal, self._chance.choice(self._servers)))
            await asyncio.sleep(PAUSE_SECONDS)
        return times

    async def _echo(self, principal: Principal, server: Server) -> float:
        """Seconds that a small call took. What is wrong with its answer is written down."""
        self._numbers += 1
        token = f"{principal.name}-{self._numbers}"
        text = bodies.text(token, self._chance.choice((10, 100, 2000)))
        begun = time.monotonic()
        try:
            answer = await principal.call(use_tool(server, "echo", {"token": token, "text": text}))
        except (OSError, EOFError, TimeoutError) as error:
            self._problems.append(f"a call of {principal.name} was lost: {error!r}")
        else:
            if answer.text != text:
                self._problems.append(f"a call of {principal.name} got {str(answer)[:300]}")
        return time.monotonic() - begun

    async def _keep(self, principal: Principal) -> str:
        """The handle of a result that is kept for a principal."""
        arguments = {"token": f"kept-{principal.name}", "size": KEPT_SIZE}
        answer = await principal.call(use_tool(self._servers[0], "make", arguments))
        return answer.text.partition("handle ")[2].partition("\n")[0]

    async def _read_kept(self, principal: Principal, handle: str) -> None:
        place = plan.Server("workbench", "results", "")
        answer = await principal.call(use_tool(place, "read_result", {"handle": handle, "length": 100}))
        if not answer.is_good:
            self._problems.append(f"what was kept for {principal.name} is gone: {str(answer)[:300]}")

    def _judge(
        self, idle: Sequence[float], times: Sequence[float], late: Sequence[float], growth: int
    ) -> None:
        bound = max(P99_SECONDS, IDLE_FACTOR * p99(idle), LATE_FACTOR * p99(late))
        if p99(times) > bound:
            self._problems.append(f"p99 of the others' calls is {p99(times):.3f} s, more than {bound:.3f} s")
        if growth > MEMORY_LIMIT:
            self._problems.append(f"the shared workbench grew by {growth / 2**20:.0f} MiB")
        for one in self._principals.values():
            if one.sent != one.answered + one.left:
                lost = one.sent - one.answered - one.left
                self._problems.append(f"{lost} of {one.sent} requests of {one.name} have no answer")

    def _judge_records(self, others: Sequence[tuple[int, str, bool, list[tuple[float, str]]]]) -> None:
        """Each call has one record, also of the one who misbehaves."""
        entries = [entry for one in self._principals.values() for entry in one.entries]
        for number, what, is_call, answers in others:
            entries.append(Entry(number, what, frozenset(), 0.0, 0.0, is_call=is_call, answers=answers))
        found = judge_records(entries, self._place.audit)
        self._problems += [f"of {len(found)} problems of the audit: {problem}" for problem in found[:SHOWN]]

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        for one in self._principals.values():
            one.close()
        process.send_signal(signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), EXIT_BOUND)
        if process.returncode != 0:
            self._problems.append(f"the shared workbench ended with code {process.returncode}")
        if left := processes.marked(self._place.stamp):
            self._problems.append(f"processes left behind by the shared workbench: {list(left.values())[:3]}")
        troubles = [line for line in self._place.log().splitlines() if any(word in line for word in TROUBLE)]
        self._problems += [f"the log of the shared workbench says: {line[:300]}" for line in troubles]
