"""The load: calls of all sizes and kinds, many in flight, at a pace that the machine can follow."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from soak import bodies
from soak import ledger as books
from soak.plan import CALL_TIMEOUT, POLICED, START_TIMEOUT
from soak.server import TOOLS
from soak.tasks import Tasks

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from soak.client import Client
    from soak.ledger import Entry
    from soak.plan import Server

SLACK = 15.0
"""Seconds on top of every bound: the machine may be busy, and an answer that is lost never comes."""
CALL_BOUND = START_TIMEOUT + CALL_TIMEOUT + SLACK
"""A call may have to wait until its server has ended and is up again."""
PACE = 0.02
MOST_IN_FLIGHT = 300
BURST = 100
POLICED_ENDS = {
    "erase": frozenset({books.DENIED}),
    "publish": frozenset({books.UNAPPROVED}),
    "scarce": frozenset({books.LIMITED}),
}
"""How calls of these tools end because of the policy."""


class Traffic:
    """What an eager client asks for, by chance."""

    def __init__(self, client: Client, servers: Sequence[Server], chance: random.Random) -> None:
        self._client = client
        self._servers = servers
        self._boxes = sorted({server.toolbox for server in servers})
        self._chance = chance
        self._tokens = 0
        self._tasks = Tasks(client.ledger)
        self._kinds: list[tuple[float, Callable[[], None]]] = [
            (70, self._some_echo),
            (12, self._some_made),
            (5, lambda: self._tasks.keep(self.progress(self._any_server()))),
            (6, lambda: self._tasks.keep(self.cancelled(self._any_server()))),
            (2, lambda: self._tasks.keep(self.refused(self._any_server()))),
            (2, lambda: self._tasks.keep(self.policed())),
            (2, lambda: self._tasks.keep(self.ping())),
            (2, lambda: self._tasks.keep(self.open(self._chance.choice(self._boxes)))),
        ]

    async def run(self, ended: asyncio.Event) -> None:
        """Goes on until it is told to stop."""
        weights = [weight for weight, _ in self._kinds]
        while not (ended.is_set() or self._client.ended.is_set()):
            count = BURST if self._chance.random() < PACE / 5 else self._chance.randrange(6)
            for _, start in self._chance.choices(self._kinds, weights, k=count):
                if self._client.in_flight < MOST_IN_FLIGHT:
                    start()
            await asyncio.sleep(PACE)

    async def finish(self, seconds: float) -> None:
        """Waits for what is under way, or for so long."""
        await self._client.drain(seconds)
        await self._tasks.finish(PACE + 1)

    def echo(self, server: Server, size: int, delay: float = 0.0, **details: Any) -> asyncio.Future[str]:
        """A call whose answer is its argument."""
        token = self.token()
        text = bodies.text(token, size)
        arguments = {"text": text, "delay": delay}
        return self.call(server, "echo", arguments, token, text, delay=delay, size=size, **details)

    def call(
        self, server: Server, tool: str, arguments: dict[str, Any], token: str, text: str, **details: Any
    ) -> asyncio.Future[str]:
        """A call whose answer must be this text."""
        entry = self.entry(tool, server, token, **details)
        params = use_tool(server, tool, {"token": token, **arguments})
        modern = self._chance.random() < 0.5
        return self._client.request(
            entry, "tools/call", params, check_text(text, modern=modern), modern=modern
        )

    def entry(self, what: str, server: Server, token: str, **details: Any) -> Entry:
        """A page in the books for a call."""
        bound = CALL_BOUND + details.get("delay", 0.0)
        return self._client.entry(
            what, **{"bound": bound, **details}, servers=frozenset({server.label}), token=token
        )

    async def progress(self, server: Server) -> None:
        """A call that reports progress, of which none may come to anybody else."""
        token, steps = self.token(), self._chance.randint(1, 20)
        text = bodies.text(token, 200)
        entry = self.entry("echo with progress", server, token, delay=0.3, size=200)
        params = use_tool(server, "echo", {"token": token, "text": text, "delay": 0.3, "progress": steps})
        params["_meta"] = {"progressToken": token}
        self._client.ears.progress[token] = 0
        outcome = await self._client.request(entry, "tools/call", params, check_text(text, modern=False))
        seen = self._client.ears.progress.pop(token)
        if outcome == books.OK and seen != steps:
            entry.answers[0] = (
                entry.answers[0][0],
                f"{books.WRONG}: {seen} reports of progress in place of {steps}",
            )

    async def cancelled(self, server: Server) -> None:
        """A call that is taken back, sometimes when it is too late."""
        token = self.token()
        size, delay = self._size(), self._chance.choice((0.0, 0.05, 1.0))
        text = bodies.text(token, size)
        entry = self.entry("echo, cancelled", server, token, delay=delay, size=size)
        params = use_tool(server, "echo", {"token": token, "text": text, "delay": delay})
        self._client.request(entry, "tools/call", params, check_text(text, modern=False))
        await asyncio.sleep(self._chance.choice((0.0, 0.01, 0.1)))
        await self._client.cancel(entry)

    async def refused(self, server: Server) -> None:
        """A call that the server answers with an error."""
        token = self.token()
        entry = self.entry("refuse", server, token, own_fault=frozenset({books.REMOTE}))
        params = use_tool(server, "refuse", {"token": token})
        outcome = await self._client.request(entry, "tools/call", params, check_text("", modern=False))
        if outcome not in {books.REMOTE, books.OK}:
            entry.own_fault = (
                frozenset()
            )  # it did not come so far; whether that is right is for a fault to say

    async def policed(self) -> None:
        """A call that the policy refuses always, or sometimes. A server that gets it answers."""
        server = self._chance.choice([one for one in self._servers if one.name == POLICED])
        tool, ends = self._chance.choice(list(POLICED_ENDS.items()))
        token, size = self.token(), 100
        entry = self.entry(tool, server, token, size=size)
        if tool == "scarce":
            entry.possible = ends
        else:
            entry.own_fault = ends
        text = bodies.text(token, size)
        params = use_tool(server, tool, {"token": token, "size": size})
        outcome = await self._client.request(entry, "tools/call", params, check_text(text, modern=False))
        if outcome not in {*ends, books.OK}:
            entry.own_fault = frozenset()  # the server could not even be asked about the tool

    async def count_waiting(self, server: Server) -> int:
        """How many answers to its questions a server waits for."""
        entry = self.entry("waiting", server, token := self.token())
        counted: list[int] = []

        def check(message: dict[str, Any]) -> str:
            counted.append(int(message["result"]["content"][0]["text"]))
            return books.OK

        await self._client.request(entry, "tools/call", use_tool(server, "waiting", {"token": token}), check)
        return sum(counted)

    async def ping(self) -> None:
        """A question to the workbench itself."""
        await self._client.ping()

    async def open(self, box: str) -> None:
        """An opening, which must name every server of the toolbox."""
        own = [server for server in self._servers if server.toolbox == box]
        entry = self._client.entry("open", CALL_BOUND, servers=frozenset(server.label for server in own))
        params = {"name": "open_toolbox", "arguments": {"toolbox_name": box, "detail": "full"}}
        await self._client.request(entry, "tools/call", params, check_opening(own, entry))

    def token(self) -> str:
        """A name for a call that no other has."""
        self._tokens += 1
        return f"t{self._tokens}"

    def _some_echo(self) -> None:
        delay = self._chance.choice((0.0, 0.0, 0.0, 0.05, 0.5))
        self.echo(self._any_server(), self._size(), delay)

    def _some_made(self) -> None:
        token, size = self.token(), self._size()
        self.call(self._any_server(), "make", {"size": size}, token, bodies.text(token, size), size=size)

    def _any_server(self) -> Server:
        return self._chance.choice(self._servers)

    def _size(self) -> int:
        least, most = self._chance.choices(
            ((10, 4_000), (4_000, 100_000), (100_000, 2_000_000)), (85, 12, 3)
        )[0]
        return self._chance.randint(least, most)


def use_tool(server: Server, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a call."""
    identifier = {"toolbox": server.toolbox, "server": server.name, "tool": tool}
    return {"name": "use_tool", "arguments": {"tool": identifier, "arguments": arguments}}


def check_text(text: str, *, modern: bool) -> Callable[[dict[str, Any]], str]:
    """Whether an answer carries this text; only its digest is kept meanwhile."""
    size, digest = len(text), bodies.digest(text)

    def check(message: dict[str, Any]) -> str:
        result = message["result"]
        found = result["content"][0]["text"]
        if len(found) != size or bodies.digest(found) != digest:
            return f"{books.WRONG}: the text of another call, or a damaged one"
        if modern and result.get("resultType") != "complete":
            return f"{books.WRONG}: a modern result without its type"
        return books.OK

    return check


def check_opening(servers: Sequence[Server], entry: Entry) -> Callable[[dict[str, Any]], str]:
    """Whether each server of the toolbox has all its tools in the answer, or is named there as failed.

    Then it is the first of those that something must have been done to.
    """

    def check(message: dict[str, Any]) -> str:
        opened = message["result"]["structuredContent"]
        listed = {server.name: set[str]() for server in servers}
        for tool in opened["tools"]:
            listed[tool["source_server"]].add(tool["name"])
        failed = {one["server"]: books.STARTING for one in opened.get("starting_servers", [])}
        for one in opened.get("failed_servers", []):
            failed[one["server"]] = books.kind_of_error(one["error"])
        for name, tools in listed.items():
            if tools and not tools.issuperset(TOOLS):
                return f"{books.WRONG}: a list of tools with some left out"
            if bool(tools) == (name in failed):
                return f"{books.WRONG}: a server both listed and failed, or neither"
        for server in servers:
            if server.name in failed:
                entry.servers = frozenset({server.label})
                return failed[server.name]
        return books.OK

    return check
