"""What a client wants beyond calls of tools: resources, prompts, word of changes, log messages."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from soak import bodies
from soak import ledger as books
from soak.client import PINGS_BOUND, identifier_of
from soak.library import LEVELS, PREFIX, PROMPT, uri_of
from soak.tasks import Tasks
from soak.traffic import CALL_BOUND, use_tool

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Coroutine, Sequence

    from soak.client import Client
    from soak.ledger import Entry
    from soak.plan import Server
    from soak.traffic import Traffic

    Json = dict[str, Any]

PACE = 0.1
MOST = 30
SIZE = 100
"""Characters of the answers of calls that are for something else."""


class Fetches:
    """Asks for all of that, by chance."""

    def __init__(
        self, client: Client, traffic: Traffic, servers: Sequence[Server], chance: random.Random
    ) -> None:
        self._client = client
        self._ears = client.ears
        self._ledger = client.ledger
        self._traffic = traffic
        self._servers = servers
        self._chance = chance
        self._tasks = Tasks(client.ledger)
        self._level_lock = asyncio.Lock()
        self._level_changes = 0
        self._kinds: list[tuple[int, Callable[[], Coroutine[Any, Any, None]]]] = [
            (6, lambda: self.read(self._any(), modern=self._chance.random() < 0.5)),
            (4, lambda: self.prompt(self._any(), modern=self._chance.random() < 0.5)),
            (1, self.list_resources),
            (4, lambda: self.subscribe(self._any())),
            (4, lambda: self.listen(self._any())),
            (6, lambda: self.log(self._any(), self._chance.choice((None, *LEVELS)))),
            (1, lambda: self.set_level(self._chance.choice(LEVELS))),
        ]

    async def run(self, ended: asyncio.Event) -> None:
        """Goes on until it is told to stop."""
        weights = [weight for weight, _ in self._kinds]
        while not (ended.is_set() or self._client.ended.is_set()):
            if len(self._tasks) < MOST:
                self._tasks.keep(self._chance.choices(self._kinds, weights)[0][1]())
            await asyncio.sleep(self._chance.uniform(0.5, 1.5) * PACE)

    async def finish(self, seconds: float) -> None:
        """Waits for what is under way, or for so long."""
        await self._tasks.finish(seconds)

    async def read(self, server: Server, *, modern: bool) -> None:
        """A resource, which must have the text of its URI."""
        token, size = self._traffic.token(), self._chance.choice((10, 1000, 100_000))
        uri = uri_of(token, size)
        expected = {"uri": uri, "text": bodies.text(token, size)}
        entry = self._entry("resources/read", server, token)
        params = {"uri": _wrapped(server, uri)}
        check = _check("contents", [expected], modern=modern)
        await self._client.request(entry, "resources/read", params, check, modern=modern)

    async def prompt(self, server: Server, *, modern: bool) -> None:
        """A prompt, which must have the text that its arguments say."""
        token = self._traffic.token()
        text = {"type": "text", "text": bodies.text(token, SIZE)}
        entry = self._entry("prompts/get", server, token)
        name = f"{server.toolbox}/{server.name}/{PROMPT}"
        params = {"name": name, "arguments": {"token": token, "size": str(SIZE)}}
        check = _check("messages", [{"role": "user", "content": text}], modern=modern)
        await self._client.request(entry, "prompts/get", params, check, modern=modern)

    async def list_resources(self) -> None:
        """The resources of all servers: one each, none twice, in the order of the configuration."""
        order = [_wrapped(server, uri_of("t0", 10)) for server in self._servers]

        def check(message: Json) -> str:
            uris = [one["uri"] for one in message["result"]["resources"]]
            # A server that is down at the moment is left out, and one may have been added for a while.
            known = [uri for uri in uris if uri in order]
            if known != [uri for uri in order if uri in known] or len(set(uris)) != len(uris):
                return f"{books.WRONG}: resources out of order, or twice"
            return books.OK if known else books.UNHEARD

        entry = self._client.entry("resources/list", CALL_BOUND)
        await self._client.request(entry, "resources/list", {}, check)

    async def subscribe(self, server: Server) -> None:
        """Hears of a resource as a legacy client, until it is enough."""
        own = uri_of(self._traffic.token(), SIZE)
        uri = _wrapped(server, own)
        entry = self._entry("resources/subscribe", server)
        self._ears.updates[None, uri] = 0
        outcome = await self._client.request(entry, "resources/subscribe", {"uri": uri}, _is_fine)
        if outcome == books.OK:
            await self._touch(server, own, (None, uri), entry)
        elif outcome == books.TIMEOUT:
            entry.answers[0] = (entry.answers[0][0], books.UNHEARD)
        leaving = self._entry("resources/unsubscribe", server)
        await self._client.request(leaving, "resources/unsubscribe", {"uri": uri}, _is_fine)
        del self._ears.updates[None, uri]

    async def listen(self, server: Server) -> None:
        """The same as a modern client, on a stream of its own."""
        own = uri_of(self._traffic.token(), SIZE)
        uri = _wrapped(server, own)
        entry = self._entry("subscriptions/listen", server)
        stream = identifier_of(entry)
        self._ears.updates[stream, uri] = 0
        if await self._client.listen(entry, [uri]) == books.OK:
            await self._touch(server, own, (stream, uri), entry)
        await self._client.take_back(entry)
        del self._ears.updates[stream, uri], self._ears.streams[stream]

    async def _touch(self, server: Server, own: str, key: tuple[int | str | None, str], since: Entry) -> None:
        """Has a resource changed, which must be heard of once before the answer comes."""
        for _ in range(self._chance.randint(1, 4)):
            before = self._ears.updates[key]
            entry = self._traffic.entry("touch", server, token := self._traffic.token())
            params = use_tool(server, "touch", {"token": token, "uri": own, "size": SIZE})
            outcome = await self._client.request(entry, "tools/call", params, _is_fine)
            heard = self._ears.updates[key] - before
            if outcome == books.OK and heard != 1:
                _amend(entry, f"{heard} updates in place of one (subscribed by {since})")
            await asyncio.sleep(self._chance.choice((0.0, 0.5)))

    async def log(self, server: Server, level: str | None) -> None:
        """A call whose server logs; as a modern client with a level, as a legacy one without."""
        token = self._traffic.token()
        entry = self._traffic.entry("log", server, token)
        params = use_tool(server, "log", {"token": token, "size": SIZE})
        least, changes = self._ears.level, self._level_changes
        wanted = (server.label, LEVELS.index(level or LEVELS[0]))
        if level is not None:
            params["_meta"] = {PREFIX + "logLevel": level}
            # A modern server goes by what the request says, and sends nothing else to anybody.
            least = wanted[1] if server.era == "modern" else min(least, wanted[1])
            self._ears.levels[wanted] += 1
        outcome = await self._client.request(entry, "tools/call", params, _is_fine, modern=level is not None)
        if level is not None:
            self._ears.levels[wanted] -= 1
        heard, due = self._ears.logs.pop(token, []), list(LEVELS[least:])
        # There may be more of them, for another request.
        right = heard[len(heard) - len(due) :] == due and len(set(heard)) == len(heard)
        if outcome == books.OK and changes == self._level_changes and not right:
            _amend(entry, f"log messages {heard} in place of {due}")

    async def set_level(self, level: str) -> None:
        """Says from which level on log messages are to be pushed."""
        async with self._level_lock:
            number = LEVELS.index(level)
            self._level_changes += 1
            # Until the answer is here, it may be the one or the other.
            self._ears.level = min(number, self._ears.level)
            entry = self._client.entry("logging/setLevel", PINGS_BOUND)
            await self._client.request(entry, "logging/setLevel", {"level": level}, _is_fine)
            self._ears.level = number
            self._level_changes += 1

    def _entry(self, what: str, server: Server, token: str = "") -> Entry:
        return self._traffic.entry(what, server, token, by_error=True)

    def _any(self) -> Server:
        return self._chance.choice(self._servers)


def _wrapped(server: Server, uri: str) -> str:
    return f"workbench:{server.toolbox}/{server.name}/{uri}"


def _check(member: str, expected: list[Json], *, modern: bool) -> Callable[[Json], str]:
    def check(message: Json) -> str:
        result = message["result"]
        if result[member] != expected:
            return f"{books.WRONG}: {member} of another request, or damaged"
        if modern and result.get("resultType") != "complete":
            return f"{books.WRONG}: a modern result without its type"
        return books.OK

    return check


def _is_fine(message: Json) -> str:  # noqa: ARG001 - Check
    """What counts is what comes with it."""
    return books.OK


def _amend(entry: Entry, problem: str) -> None:
    """The answer was right, but not what should have come before it."""
    entry.answers[0] = (entry.answers[0][0], f"{books.WRONG}: {problem}")
