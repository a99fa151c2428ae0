"""What is done to the servers: each fault is written down, with the errors that it explains."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from soak import bodies, misdeeds, processes
from soak import ledger as books
from soak.plan import CALL_TIMEOUT, TOTAL_TIMEOUT
from soak.traffic import CALL_BOUND, SLACK, check_text, use_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from soak.ledger import Fault
    from soak.plan import Server
    from soak.stage import Stage
    from soak.traffic import Traffic

LATE = frozenset({books.TIMEOUT})
GONE_WITHIN = 20.0
"""Seconds for a process that is of no use any more to be removed: a time-out, a probe, its end, and slack."""
BACK_WITHIN = 90.0
"""Seconds for a server that is called all the time to be up again, a back-off of a minute included."""
HARMLESS = ("garbage", "flood", "changes", "long", "chatter", "twice", "asks", "patient", "helper")
COSTLY = {
    "hang": (books.TIMEOUT, CALL_TIMEOUT),
    "unreadable": (books.UNREADABLE, CALL_TIMEOUT),
    "endless": (books.TIMEOUT, TOTAL_TIMEOUT),
}
"""How the one call ends, and within how many seconds."""
COSTLY_WEIGHTS = (3, 2, 1)
DEADLY = ("leave", "half", "mute", "deaf", "stall")


class Faults:
    """Does harm, by chance, until it is told to stop; then waits until the harm is over."""

    def __init__(self, stage: Stage, traffic: Traffic) -> None:
        self._stage = stage
        self._place = stage.place
        self._client = stage.client
        self._ledger = stage.ledger
        self._clock = stage.clock
        self._chance = stage.chance("faults")
        self._traffic = traffic
        self._tasks: dict[asyncio.Task[None], Server] = {}
        self._kinds: list[tuple[int, Callable[[Server], Coroutine[Any, Any, None]]]] = [
            (24, self._harmless),
            (12, self._costly),
            (12, self._deadly),
            (8, self._kill),
            (4, self._stop),
            (4, self._pause),
            (3, self._slow_start),
            (3, self._no_start),
        ]

    async def run(self, every: float, ended: asyncio.Event) -> None:
        """Begins a fault every so many seconds, each at a server that has none at the moment."""
        weights = [weight for weight, _ in self._kinds]
        while not ended.is_set():
            busy = set(self._tasks.values())
            free = [server for server in self._stage.servers if server not in busy and self._pid(server)]
            if free:
                server = self._chance.choice(free)
                kind = self._chance.choices(self._kinds, weights)[0][1]
                task = asyncio.create_task(kind(server))
                self._tasks[task] = server
                task.add_done_callback(self._on_done)
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), self._chance.uniform(0.5, 1.5) * every)

    async def finish(self) -> None:
        """Waits until all harm is over. Each fault has a bound of its own."""
        if self._tasks:
            await asyncio.wait(list(self._tasks))

    def _on_done(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        self._ledger.note_failure(task)

    async def _harmless(self, server: Server) -> None:
        """What must cost nothing: the answer comes all the same."""
        how = self._chance.choice(HARMLESS)
        fault = self._note(how, server)
        size = misdeeds.LONG if how == "long" else misdeeds.ECHOED
        delay = misdeeds.PATIENT if how == "patient" else 0.0
        await self._misbehave(server, how, size=size, delay=delay)
        fault.end = self._clock()

    async def _costly(self, server: Server) -> None:
        """What costs the one call, and no other."""
        how = self._chance.choices(tuple(COSTLY), COSTLY_WEIGHTS)[0]
        end, seconds = COSTLY[how]
        fault = self._note(how, server)
        await self._misbehave(server, how, end, bound=seconds + SLACK)
        fault.end = self._clock()

    async def _deadly(self, server: Server) -> None:
        how = self._chance.choice(DEADLY)
        pid = self._pid(server)
        fault = self._note(how, server, ends_life=True, prompt=how != "stall")
        others = {"half": (books.UNREADABLE,), "stall": (books.TIMEOUT,)}
        await self._misbehave(server, how, books.EXIT, *others.get(how, ()))
        await self._replaced(fault, server, pid)

    async def _kill(self, server: Server) -> None:
        await self._killed("kill", server)

    async def _slow_start(self, server: Server) -> None:
        self._order(server, delay=self._chance.uniform(0.5, 4.0), code=0, times=1)
        await self._killed("slow start", server)

    async def _no_start(self, server: Server) -> None:
        times = self._chance.randint(1, 3)
        self._order(server, delay=0.0, code=7, times=times)
        for _ in range(times):
            self._note("no start", server, ends_life=True).end = self._clock()
        await self._killed("kill", server)

    async def _killed(self, what: str, server: Server) -> None:
        pid = self._pid(server)
        fault = self._note(what, server, ends_life=True, prompt=True)
        self._signal(pid, signal.SIGKILL)
        await self._replaced(fault, server, pid)

    async def _stop(self, server: Server) -> None:
        """Stopped for good: it is to be found out and replaced."""
        pid = self._pid(server)
        fault = self._note("stop", server, ends_life=True)
        self._signal(pid, signal.SIGSTOP)
        await self._replaced(fault, server, pid)

    async def _pause(self, server: Server) -> None:
        """Stopped for a moment: too short to be replaced for."""
        pid = self._pid(server)
        fault = self._note("pause", server, explains=LATE)
        self._signal(pid, signal.SIGSTOP)
        await asyncio.sleep(self._chance.uniform(0.2, 1.2))
        self._signal(pid, signal.SIGCONT)
        fault.end = self._clock()

    async def _misbehave(
        self,
        server: Server,
        how: str,
        *ends: str,
        size: int = misdeeds.ECHOED,
        delay: float = 0.0,
        bound: float = CALL_BOUND,
    ) -> None:
        token = self._traffic.token()
        entry = self._traffic.entry(
            how, server, token, delay=delay, bound=bound + delay, own_fault=frozenset(ends)
        )
        params = use_tool(server, "misbehave", {"token": token, "how": how})
        check = check_text(bodies.text(token, size), modern=False)
        outcome = await self._client.request(entry, "tools/call", params, check)
        if ends and outcome not in {*ends, books.OK}:
            # It did not come so far, because of an earlier fault: whether that is so the ledger will see.
            entry.own_fault = frozenset()

    async def _replaced(self, fault: Fault, server: Server, pid: int) -> None:
        """Waits for the end of a process, and for the next one to be there."""
        if not await self._stage.comes(lambda: not processes.is_running(pid, self._place.stamp), GONE_WITHIN):
            self._ledger.problems.append(
                f"{server.label} was not removed in {GONE_WITHIN:g} s after '{fault.what}'"
            )
            self._signal(pid, signal.SIGKILL)
        if not await self._stage.comes(lambda: self._pid(server) not in {pid, 0}, BACK_WITHIN):
            self._ledger.problems.append(
                f"{server.label} was not back {BACK_WITHIN:g} s after '{fault.what}'"
            )
        fault.end = self._clock()

    def _pid(self, server: Server) -> int:
        """Its process, if it runs; else 0."""
        lives = self._place.lives(server.label)
        return lives[-1] if lives and processes.is_running(lives[-1], self._place.stamp) else 0

    def _signal(self, pid: int, number: signal.Signals) -> None:
        if processes.is_running(pid, self._place.stamp):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def _order(self, server: Server, *, delay: float, code: int, times: int) -> None:
        orders = {"delay": delay, "exit": code, "times": times}
        self._place.orders(server.label).write_text(json.dumps(orders), encoding="ascii")

    def _note(
        self,
        what: str,
        server: Server,
        explains: frozenset[str] = frozenset(),
        *,
        ends_life: bool = False,
        prompt: bool = False,
    ) -> Fault:
        fault = books.Fault(
            *(what, server.label, self._clock(), books.ANY_FAILURE if ends_life else explains),
            ends_life=ends_life,
            prompt=prompt,
        )
        return self._ledger.fault(fault)
