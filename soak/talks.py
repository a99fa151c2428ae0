"""Calls that are conversations: the client answers what servers ask, or declines, or does what it should not.

A legacy client is asked by requests. A modern one is asked in the answer to its call, and calls again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from soak import ledger as books
from soak.plan import INPUT_TIMEOUT
from soak.questions import METHODS, NAME
from soak.talk import MOST_ROUNDS, Talk
from soak.tasks import Tasks
from soak.traffic import CALL_BOUND, SLACK, use_tool

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from soak.client import Client
    from soak.ears import Question
    from soak.ledger import Entry
    from soak.plan import Server
    from soak.traffic import Traffic

    Json = dict[str, Any]

PACE = 0.1
MOST = 60
TOO_LATE = INPUT_TIMEOUT + 1.0
LEGACY_ACTS = ("ignored", "late", "error", "cancelled", "twice")
MODERN_ACTS = ("ignored", "late", "cancelled", "twice", "forged", "swapped", "asked again")
ACTING = 0.3
"""The share of the calls in which something else is done than to answer."""
ENDLESS_SHARE = 0.02


class Talks:
    """Has many of them at once, by chance."""

    def __init__(
        self, client: Client, traffic: Traffic, servers: Sequence[Server], chance: random.Random
    ) -> None:
        self._client = client
        self._ledger = client.ledger
        self._traffic = traffic
        self._servers = servers
        self._chance = chance
        self._tasks = Tasks(client.ledger)

    async def run(self, ended: asyncio.Event) -> None:
        """Goes on until it is told to stop."""
        while not (ended.is_set() or self._client.ended.is_set()):
            if len(self._tasks) < MOST:
                self._start(self._chance.choice(self._servers), modern=self._chance.random() < 0.5)
            await asyncio.sleep(self._chance.uniform(0.5, 1.5) * PACE)

    async def finish(self, seconds: float) -> None:
        """Waits for what is under way, or for so long."""
        await self._tasks.finish(seconds)

    def _start(self, server: Server, *, modern: bool) -> None:
        acts = MODERN_ACTS if modern else LEGACY_ACTS
        act = self._chance.choice(acts) if self._chance.random() < ACTING else ""
        talk = self.plan(server, act)
        self._tasks.keep(self.modern(talk) if modern else self.legacy(talk))

    def plan(self, server: Server, act: str) -> Talk:
        """A call of one or more rounds; only a modern server can ask several things in one."""
        chance = self._chance
        rounds = MOST_ROUNDS + 1 if chance.random() < ENDLESS_SHARE else chance.choice((1, 1, 1, 2, 3))
        most = 2 if server.era == "modern" else 1
        asks = [chance.choices(METHODS, k=chance.randint(1, most)) for _ in range(rounds)]
        sizes = chance.choices((0, 10, 200, 5000), (2, 4, 4, 1), k=5)
        delay, pause = chance.choice((0.0, 0.0, 0.05, 0.5)), chance.choice((0.0, 0.0, 0.02, 0.2))
        turn = chance.randrange(rounds)
        return Talk(self._traffic.token(), server, asks, sizes, act, turn, delay, pause)

    async def legacy(self, talk: Talk) -> None:
        """The one kind."""
        entry = self._entry(f"legacy talk with a {talk.server.era} server", talk)
        entry.token = talk.token
        entry.lapses = entry.sent + INPUT_TIMEOUT
        pause = talk.pause if talk.server.era == "legacy" else 0.0
        entry.delay = (talk.delay + pause) * len(talk.asks)
        entry.bound += entry.delay + INPUT_TIMEOUT
        if talk.server.era == "modern" and len(talk.asks) > MOST_ROUNDS:
            talk.expect(entry, books.ENDLESS)
        answering = Tasks(self._ledger)
        self._client.ears.talks[talk.token] = lambda asked: answering.keep(self._answer(talk, entry, asked))
        outcome = self._client.request(
            entry, "tools/call", use_tool(talk.server, "ask", talk.arguments), talk.check
        )
        await asyncio.wait([outcome])
        await answering.finish(TOO_LATE + SLACK)
        del self._client.ears.talks[talk.token]

    async def _answer(self, talk: Talk, entry: Entry, asked: Question) -> None:
        number = talk.asked
        if problem := talk.take(asked.name, asked.method, asked.params):
            self._ledger.problems.append(f"{problem}: {asked.method} {asked.name} for {entry}")
            return
        act = talk.act if talk.round_of(number) == talk.turn else ""
        if act == "error":
            talk.expect(entry, books.SAID_NO)
            self._client.reply(asked.id, error={"code": -1, "message": f"{books.SAYS_NO}: {talk.token}"})
        elif act in {"ignored", "late"}:
            talk.expect(entry, books.UNANSWERED)
            await self._taken_back(asked, entry)
            if act == "late":
                self._client.reply(asked.id, result=talk.answer(number))
        elif act == "cancelled":
            await self._client.cancel(entry)
            await self._taken_back(asked, entry)
        else:
            await asyncio.sleep(talk.delay)
            for _ in range(2 if act == "twice" else 1):
                self._client.reply(asked.id, result=talk.answer(number))

    async def _taken_back(self, asked: Question, entry: Entry) -> None:
        """What is not answered is taken back, at the latest when its time is over."""
        try:
            async with asyncio.timeout(INPUT_TIMEOUT + SLACK):
                await asked.taken_back.wait()
        except TimeoutError:
            if not self._client.ended.is_set():
                self._ledger.problems.append(f"a question was not taken back: {asked.name} for {entry}")

    async def modern(self, talk: Talk) -> None:
        """The other kind."""
        rounds = Rounds(talk, use_tool(talk.server, "ask", talk.arguments))
        entry = self._entry(f"modern talk with a {talk.server.era} server", talk)
        entry.token = talk.token
        outcome = await self._request(entry, rounds)
        for number in range(len(talk.asks)):
            if outcome != books.OK or not rounds.asked:
                return
            await asyncio.sleep(talk.delay)
            if number == talk.turn and not await self._act(talk, rounds, entry):
                return
            last = entry.sent
            entry = self._retry(talk, last)
            again = (
                self._retry(talk, last, books.USED) if number == talk.turn and talk.act == "twice" else None
            )
            params = rounds.retry()
            sent = self._request(entry, rounds, params)
            if again is not None:
                await self._request(again, rounds, params)
            outcome = await sent

    async def _act(self, talk: Talk, rounds: Rounds, entry: Entry) -> bool:
        """Does what is to be done in place of an answer; whether the call goes on after that."""
        if talk.act == "late":
            await asyncio.sleep(TOO_LATE)
            await self._request(self._retry(talk, entry.sent, books.EXPIRED), rounds, rounds.retry())
        elif talk.act == "cancelled" and talk.server.era == "legacy":
            await self._client.take_back(entry)
            await self._request(self._retry(talk, entry.sent, books.OVER), rounds, rounds.retry())
        elif talk.act == "forged":
            params = rounds.retry()
            middle = len(params["requestState"]) // 2
            other = "A" if params["requestState"][middle] != "A" else "B"
            params["requestState"] = (
                params["requestState"][:middle] + other + params["requestState"][middle + 1 :]
            )
            await self._request(self._retry(talk, entry.sent, books.FORGED), rounds, params)
        elif talk.act == "swapped":
            params = rounds.retry() | use_tool(talk.server, "ask", {**talk.arguments, "token": "another"})
            await self._request(self._retry(talk, entry.sent, books.SWAPPED), rounds, params)
        elif talk.act == "asked again":
            talk.asked -= len(rounds.asked)
            params = rounds.retry()
            del params["inputResponses"]
            outcome = await self._request(self._retry(talk, entry.sent), rounds, params)
            return outcome == books.OK and bool(rounds.asked)
        return talk.act in {"twice", "forged", "swapped"} or (
            talk.act == "cancelled" and talk.server.era == "modern"
        )

    def _entry(self, what: str, talk: Talk) -> Entry:
        possible = frozenset({books.AMBIGUOUS} if talk.server.era == "legacy" else ())
        return self._traffic.entry(what, talk.server, "", bound=CALL_BOUND, possible=possible)

    def _retry(self, talk: Talk, last: float, *ends: str) -> Entry:
        """A page for a call that comes back, which was asked after the last one was sent."""
        entry = self._entry(f"retry to a {talk.server.era} server", talk)
        entry.lapses = last + INPUT_TIMEOUT
        if ends:
            entry.own_fault = frozenset(ends)
        return entry

    def _request(self, entry: Entry, rounds: Rounds, params: Json | None = None) -> asyncio.Future[str]:
        return self._client.request(entry, "tools/call", params or rounds.params, rounds.check, modern=True)


class Rounds:
    """What a modern client has been asked in a call, and what it calls again with."""

    def __init__(self, talk: Talk, params: Json) -> None:
        self._talk = talk
        self.params = params
        self.asked: dict[str, int] = {}
        """The numbers of the questions that are open, by their names."""
        self._state = ""

    def check(self, message: Json) -> str:
        """Whether an answer is what comes next: questions, or the end."""
        result = message["result"]
        self.asked = {}
        if result["resultType"] != "input_required":
            return self._talk.check(message)
        self._state = result["requestState"]
        for name, asked in result["inputRequests"].items():
            number = self._talk.asked
            params = asked.get("params", {})
            if problem := self._talk.take(params["_meta"][NAME], asked["method"], params):
                return f"{books.WRONG}: {problem}"
            self.asked[name] = number
        return books.OK

    def retry(self) -> Json:
        """The parameters of the next call."""
        answers = {name: self._talk.answer(number) for name, number in self.asked.items()}
        return {**self.params, "inputResponses": answers, "requestState": self._state}
