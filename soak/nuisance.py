"""The principal that misbehaves: one bad deed after the other, and how each of its requests ended.

A process of its own, so that what it costs to misbehave is not taken for what it does to others:
`python -m soak.nuisance URL TOKEN SEED` until its input ends; then it prints a JSON object.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any

from soak import plan
from soak.http_client import Principal
from soak.traffic import use_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from soak.http_client import Answer
    from soak.plan import Server

    Json = dict[str, Any]

DEED_SECONDS = 2.0
"""Seconds for one deed; what is not answered by then is left."""
SLOW_CALLS = 600
SLOW_SECONDS = 1.5
TOO_MANY = 1200
"""Requests at once: more than `http.shares.requests`."""
FLOODS = 40
LARGE = 500_000
KEPT = 30
SEARCHES = 12
QUESTIONS = 120
SESSIONS = 25
RUNAWAY = r"(\w|\w\w)+(?<!\w)$"
FIRST_NUMBER = 10_000_000
"""Of its requests: those of the others are below."""


class Nuisance:
    """One principal with nothing but bad manners."""

    def __init__(self, principal: Principal, servers: Sequence[Server], chance: random.Random) -> None:
        self._principal = principal
        self._servers = servers
        self._chance = chance
        self._numbers = 0
        self._results = plan.Server("workbench", "results", "")
        self._own = plan.Server(servers[0].toolbox, "own", "legacy")
        self._doing = ""
        self.ends: dict[str, Counter[str]] = {}
        """How its requests ended, by deed."""
        self.problems: list[str] = []

    async def run(self, ended: asyncio.Event) -> None:
        """Do one deed after the other until told to stop."""
        deeds: list[tuple[str, Callable[[], Coroutine[Any, Any, None]]]] = [
            ("slow calls", self._call_slowly),
            ("too many requests", self._crowd),
            ("a flood of calls", self._flood),
            ("large results", self._keep),
            ("runaway searches", self._search),
            ("questions", self._be_asked),
            ("sessions", self._begin_sessions),
            ("lists", self._list),
        ]
        while not ended.is_set():
            self._chance.shuffle(deeds)
            for name, deed in deeds:
                if ended.is_set():
                    return
                self._doing = name
                task = asyncio.create_task(deed())
                await asyncio.wait([task], timeout=DEED_SECONDS)
                task.cancel()
                await asyncio.wait([task])
                if not task.cancelled() and (error := task.exception()) is not None:
                    self.problems.append(f"{name}: {error!r}")

    async def _all(self, calls: Sequence[Coroutine[Any, Any, Answer]]) -> None:
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(self._note(call))

    async def _note(self, call: Coroutine[Any, Any, Answer]) -> Answer:
        ends = self.ends.setdefault(self._doing, Counter())
        try:
            answer = await call
        except asyncio.CancelledError:
            ends["left"] += 1
            raise
        if answer.is_good:
            ends["answered"] += 1
        elif answer.status == 429 or answer.is_failure:
            ends["refused"] += 1
            if not _says_what_to_do(answer):
                self.problems.append(f"{self._doing}: an error without a remedy: {str(answer)[:300]}")
        else:
            self.problems.append(f"{self._doing}: {str(answer)[:300]}")
        return answer

    def _use(self, server: Server, tool: str, **arguments: object) -> Json:
        self._numbers += 1
        return use_tool(server, tool, {"token": f"mallory-{self._numbers}", **arguments})

    async def _call_slowly(self) -> None:
        server = self._chance.choice(self._servers)
        slow = [self._use(server, "echo", text="slow", delay=SLOW_SECONDS) for _ in range(SLOW_CALLS)]
        await self._all([self._principal.call(params) for params in slow])

    async def _crowd(self) -> None:
        many = [
            self._use(self._chance.choice(self._servers), "echo", text="", delay=1) for _ in range(TOO_MANY)
        ]
        await self._all([self._principal.call(params) for params in many])

    async def _flood(self) -> None:
        async def go_on() -> None:
            while True:
                params = self._use(self._chance.choice(self._servers), "echo", text="flood")
                await self._note(self._principal.call(params))

        async with asyncio.TaskGroup() as group:
            for _ in range(FLOODS):
                group.create_task(go_on())

    async def _keep(self) -> None:
        large = [self._use(self._servers[0], "make", size=LARGE) for _ in range(KEPT)]
        await self._all([self._principal.call(params) for params in large])

    async def _search(self) -> None:
        kept = await self._note(self._principal.call(self._use(self._servers[0], "make", size=LARGE)))
        handle = kept.text.partition("handle ")[2].partition("\n")[0]
        search = use_tool(self._results, "search_result", {"handle": handle, "regex": RUNAWAY})
        await self._all([self._principal.call(search) for _ in range(SEARCHES)])

    async def _be_asked(self) -> None:
        legacy = next(server for server in self._servers if server.era == "legacy")
        asks = [["elicitation/create"]]
        asked = [self._use(legacy, "ask", asks=asks, pause=0) for _ in range(QUESTIONS)]
        await self._all([self._principal.call(params) for params in asked])

    async def _begin_sessions(self) -> None:
        for _ in range(SESSIONS):
            session = await self._principal.begin_session()
            await self._note(self._principal.call(self._use(self._own, "echo", text="mine"), session))

    async def _list(self) -> None:
        box = {"toolbox_name": self._servers[0].toolbox, "detail": "signatures"}
        opening: Json = {"name": "open_toolbox", "arguments": box}
        searching: Json = {"name": "open_toolbox", "arguments": {"query": ["echo a text"] * 20}}
        await self._all([self._principal.call(params) for params in [opening, searching] * 30])


def _says_what_to_do(answer: Answer) -> bool:
    said = str(answer.message)
    words = ("ry again", "Simplify", "implify the expression", "asks for input", "Answer or cancel")
    return any(word in said for word in words)


async def _main(url: str, token: str, seed: str) -> None:
    principal = Principal(url, "mallory", token, count(FIRST_NUMBER))
    nuisance = Nuisance(principal, plan.servers(1), random.Random(seed))
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin, ended.set)
    await nuisance.run(ended)
    lost = principal.sent - principal.answered - principal.left
    if lost:
        nuisance.problems.append(f"{lost} of {principal.sent} requests have no answer")
    entries = [(one.number, one.what, one.is_call, one.answers) for one in principal.entries]
    print(json.dumps({"ends": nuisance.ends, "problems": nuisance.problems, "entries": entries}))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
