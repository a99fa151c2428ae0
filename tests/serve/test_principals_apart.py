"""Whatever the order of things on a shared legacy server, no principal sees what is about another's call.

The clients of the model belong to several principals and speak both protocol versions. Its one legacy server
asks and logs for any of its calls, also for those that wait for an answer, were given up or were answered a
moment ago. A question names the call that it is about in its text, which only the test reads.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_workbench.downstream.conversation.attribution import ENDED_SECONDS, GIVEN_UP_SECONDS, MAX_GIVEN_UP
from mcp_workbench.downstream.conversation.listeners import NO_CALL
from mcp_workbench.downstream.conversation.server_messages import SHARED
from mcp_workbench.surface.client_connection import ClientConnection
from mcp_workbench.surface.client_session import ClientSession
from mcp_workbench.surface.http.clients import BACKPRESSURE
from mcp_workbench.surface.output import SingleOutput
from mcp_workbench.surface.questions.parking import ParkedCalls
from mcp_workbench.surface.questions.sealing import Seal
from mcp_workbench.workbench.client_view import ClientView
from mcp_workbench.workbench.principal import Principal
from tests.serve.relayed import Behind, written
from tests.wire.loops import JumpingLoop, now

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.wire.message import Outgoing
    from tests.support.client import Json

    Step = tuple[str, int, float]

TOOL: Final = {"toolbox": "dev", "server": "files", "tool": "read"}
META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    "io.modelcontextprotocol/logLevel": "debug",
}
LIKELY: Final = {
    "start": 5,
    "ask": 5,
    "answer": 3,
    "wait": 3,
    "finish": 2,
    "cancel": 2,
    "log": 2,
    "leave": 2,
    "fail": 1,
}
"""How often each step is taken, beside the others."""

steps = st.tuples(
    st.sampled_from([step for step, weight in LIKELY.items() for _ in range(weight)]),
    st.integers(0, 7),
    st.sampled_from([0.1, ENDED_SECONDS, GIVEN_UP_SECONDS, GIVEN_UP_SECONDS]),
)


@dataclass
class Made:
    """A call that the server got."""

    id: int
    owner: str
    """The name of the principal that it was made for."""
    ended_at: float | None = None
    """When the server answered it."""
    given_up_at: float | None = None

    def may_be_spoken_of(self, others: bool) -> bool:
        """Whether the promise covers what the server says about it now."""
        if self.ended_at is not None:
            return now() - self.ended_at < ENDED_SECONDS or not others
        return self.given_up_at is None or now() - self.given_up_at < GIVEN_UP_SECONDS or not others


@dataclass
class Put:
    """A question that a client has been shown and has not answered."""

    shown: Json
    """The request, or the result that requires input."""
    call: Json
    """The request of a modern client that it is about."""


@dataclass
class Client:
    """One client. A legacy one has one connection; a modern one has one for each request, as over HTTP."""

    client_session: ClientSession
    is_modern: bool
    numbers: count[int]
    got: list[Json] = field(default_factory=list)
    put: list[Put] = field(default_factory=list)
    requests: dict[int, tuple[ClientConnection, Json]] = field(default_factory=dict)
    """The requests in flight, by id."""

    def __post_init__(self) -> None:
        self.client_connection = self._open(self._take)
        if not self.is_modern:
            hello = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}}
            self._send(self.client_connection, "initialize", hello, 0)

    @property
    def principal(self) -> str:
        return self.client_session.view.principal.name

    def call(self, more: Json | None = None) -> None:
        params = {"name": "use_tool", "arguments": {"tool": TOOL, "arguments": {"for": self.principal}}}
        number = next(self.numbers)
        client_connection = self.client_connection
        if self.is_modern:
            params |= {"_meta": META, **(more or {})}
            client_connection = self._open(lambda line: self._take(line, params))
        self.requests[number] = (client_connection, params)
        self._send(client_connection, "tools/call", params, number)

    def cancel(self, number: int) -> None:
        client_connection, _ = self.requests.pop(number)
        if self.is_modern:
            client_connection.close()
        else:
            cancelled = {"method": "notifications/cancelled", "params": {"requestId": number}}
            client_connection.receive(json.dumps({"jsonrpc": "2.0", **cancelled}).encode())

    def answer(self, at: int) -> None:
        put = self.put.pop(at)
        said = {"action": "accept", "content": {"said": self.principal}}
        if self.is_modern:
            answers = dict.fromkeys(put.shown["inputRequests"], said)
            self.call({"requestState": put.shown["requestState"], "inputResponses": answers})
        else:
            answer = {"jsonrpc": "2.0", "id": put.shown["id"], "result": said}
            self.client_connection.receive(json.dumps(answer).encode())

    def leave(self) -> None:
        client_connections = dict.fromkeys(
            [self.client_connection, *(client_connection for client_connection, _ in self.requests.values())]
        )
        self.requests.clear()
        self.put.clear()
        for client_connection in client_connections:
            client_connection.close()

    def _open(self, take: Callable[[Outgoing], None]) -> ClientConnection:
        return ClientConnection(self.client_session, SingleOutput(take), BACKPRESSURE)

    def _send(self, client_connection: ClientConnection, method: str, params: Json, number: int) -> None:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        client_connection.receive(json.dumps(message).encode())

    def _take(self, line: Outgoing, call: Json | None = None) -> None:
        message = json.loads(written(line))
        self.got.append(message)
        result = message.get("result", {})
        if result.get("resultType") == "input_required":
            self.put.append(Put(result, call or {}))
        elif message.get("method") == "elicitation/create":
            self.put.append(Put(message, {}))
        elif message.get("method") == "notifications/cancelled":
            taken_back = message["params"]["requestId"]
            self.put = [it for it in self.put if it.shown.get("id") != taken_back]
        if "method" not in message and message["id"] in self.requests:
            client_connection, _ = self.requests.pop(message["id"])
            if self.is_modern:
                asyncio.get_running_loop().call_soon(client_connection.close)


class SharedWorkbench:
    """A shared workbench with one legacy server behind it, and its clients."""

    def __init__(self, kinds: list[tuple[str, bool]]) -> None:
        self._behind = Behind(Path("/nonexistent"), modern=False)
        self._parking = ParkedCalls()
        self._numbers = count(1)
        self._questions = count(1)
        self._client_sessions: dict[str, ClientSession] = {}
        self._kinds = kinds
        self._here: dict[int, Client] = {}
        self.former: list[Client] = []
        self.made: list[Made] = []
        self.asked: dict[str, Made] = {}
        self.replies: dict[str, list[Json]] = {}
        self._read = 0

    def _come(self, principal: str, is_modern: bool) -> Client:
        client_session = self._client_sessions.get(principal) if is_modern else None
        if client_session is None:
            view = ClientView(self._behind.workbench, Principal(principal), has_own_servers=True)
            client_session = ClientSession(view, self._parking, Seal({}, principal))
        if is_modern:
            self._client_sessions[principal] = client_session
        return Client(client_session, is_modern, self._numbers)

    async def do(self, step: Step) -> None:
        kind, at, seconds = step
        if kind == "wait":
            await self._pass(seconds)
        else:
            getattr(self, kind)(at)
        await self._settle()

    async def _pass(self, seconds: float) -> None:
        """The server goes on answering pings meanwhile."""
        while seconds > 0:
            await asyncio.sleep(min(seconds, 1.0))
            seconds -= 1.0
            await self._settle()

    async def _settle(self) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
            self._hear()

    @property
    def clients(self) -> list[Client]:
        return list(self._here.values())

    def start(self, at: int) -> None:
        """A client makes a call, and comes for that if it is not there."""
        place = at % len(self._kinds)
        if place not in self._here:
            self._here[place] = self._come(*self._kinds[place])
        self._here[place].call()

    def cancel(self, at: int) -> None:
        found = [(client, number) for client in self.clients for number in client.requests]
        if found:
            client, number = found[at % len(found)]
            client.cancel(number)

    def answer(self, at: int) -> None:
        found = [(client, number) for client in self.clients for number in range(len(client.put))]
        if found:
            client, number = found[at % len(found)]
            client.answer(number)

    def leave(self, at: int) -> None:
        if (client := self._here.pop(at % len(self._kinds), None)) is not None:
            client.leave()
            self.former.append(client)

    def finish(self, at: int) -> None:
        self._end(at, {"result": {"content": []}})

    def fail(self, at: int) -> None:
        self._end(at, {"error": {"code": -32000, "message": "no"}})

    def _end(self, at: int, body: Json) -> None:
        found = [made for made in self.made if made.ended_at is None]
        if found:
            made = found[at % len(found)]
            made.ended_at = now()
            self._say({"id": made.id, **body})

    def ask(self, at: int) -> None:
        if (made := self._one_to_speak_of(at)) is not None:
            name = f"question {next(self._questions)}"
            self.asked[name] = made
            message = f"{name} about <{made.owner}>"
            params = {"message": message, "requestedSchema": {"type": "object", "properties": {}}}
            self._say({"id": name, "method": "elicitation/create", "params": params})

    def log(self, at: int) -> None:
        if (made := self._one_to_speak_of(at)) is not None:
            said = {"level": "info", "data": f"a line about <{made.owner}>"}
            self._say({"method": "notifications/message", "params": said})

    def _one_to_speak_of(self, at: int) -> Made | None:
        """A call long ended can still be spoken of where it cannot be mistaken: while there is no other."""
        is_busy = any(made.may_be_spoken_of(others=True) for made in self.made)
        found = [made for made in self.made if made.may_be_spoken_of(others=is_busy)]
        return found[at % len(found)] if found else None

    def _say(self, message: Json) -> None:
        self._behind.server_says(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def _hear(self) -> None:
        """The server reads what it was sent."""
        lines = self._behind.to_server[self._read :]
        self._read += len(lines)
        for message in (json.loads(written(line)) for line in lines):
            match message.get("method"):
                case "tools/call":
                    self.made.append(Made(message["id"], message["params"]["arguments"]["for"]))
                case "ping":
                    self._say({"id": message["id"], "result": {}})
                case "notifications/cancelled":
                    for made in self.made:
                        if made.id == message["params"]["requestId"]:
                            made.given_up_at = now()
                case None:
                    self.replies.setdefault(message["id"], []).append(message)

    async def close(self) -> None:
        for client in self.clients:
            client.leave()
        self._parking.close()
        await self._settle()

    @property
    def crossed(self) -> list[Any]:
        """All that reached the wrong one."""
        shown = [
            (client.principal, message)
            for client in (*self.clients, *self.former)
            for message in client.got
            if " about <" in (text := json.dumps(message)) and f" about <{client.principal}>" not in text
        ]
        answers = [
            (self.asked[name].owner, reply)
            for name, replies in self.replies.items()
            for reply in replies
            if "result" in reply and reply["result"]["content"]["said"] != self.asked[name].owner
        ]
        return [*shown, *answers]


async def live(kinds: list[tuple[str, bool]], what: list[Step]) -> SharedWorkbench:
    shared_workbench = SharedWorkbench(kinds)
    for step in what:
        await shared_workbench.do(step)
        assert shared_workbench.crossed == []
    await shared_workbench.close()
    assert shared_workbench.crossed == []
    assert {
        name: len(shared_workbench.replies.get(name, ())) for name in shared_workbench.asked
    } == dict.fromkeys(shared_workbench.asked, 1)
    return shared_workbench


def run(kinds: list[tuple[str, bool]], what: list[Step]) -> SharedWorkbench:
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(live(kinds, what))


several = st.lists(
    st.tuples(st.sampled_from(["ann", "bob", "eve"]), st.booleans()), min_size=2, max_size=4
).filter(lambda kinds: len({name for name, _ in kinds}) > 1)


@settings(max_examples=1000)
@given(several, st.lists(steps, min_size=4, max_size=30))
def test_no_principal_sees_or_answers_what_is_about_the_call_of_another(
    kinds: list[tuple[str, bool]], what: list[Step]
) -> None:
    run(kinds, what)


@settings(max_examples=50)
@given(st.lists(st.booleans(), min_size=1, max_size=3), st.lists(steps, min_size=4, max_size=30))
def test_clients_of_one_principal_are_never_refused_for_the_sake_of_another(
    kinds: list[bool], what: list[Step]
) -> None:
    shared_workbench = run([("ann", is_modern) for is_modern in kinds], what)
    replies = [reply for replies in shared_workbench.replies.values() for reply in replies]
    assert not [reply for reply in replies if SHARED in json.dumps(reply, ensure_ascii=False)]


ANN, BOB = 0, 1
BOTH: Final = [("ann", False), ("bob", False)]


def test_a_question_is_shown_where_it_can_be_of_one_principal_only() -> None:
    first: list[Step] = [("start", ANN, 0), ("start", BOB, 0), ("finish", 0, 0), ("finish", 0, 0)]
    shared_workbench = run(
        BOTH, [*first, ("wait", 0, ENDED_SECONDS), ("start", BOB, 0), ("ask", 2, 0), ("answer", 0, 0)]
    )
    ((reply,),) = shared_workbench.replies.values()
    assert reply["result"]["content"] == {"said": "bob"}


@pytest.mark.parametrize("end", ["finish", "cancel"])
def test_nobody_is_asked_outside_of_a_call_where_another_principal_has_ever_made_one(end: str) -> None:
    """Bob alone is there, and the server comes back to what Ann wanted a minute ago."""
    first: list[Step] = [("start", BOB, 0), ("finish", 0, 0), ("start", ANN, 0), (end, 0, 0)]
    shared_workbench = run(BOTH, [*first, ("leave", ANN, 0), ("wait", 0, 60.0), ("ask", 1, 0)])
    ((reply,),) = shared_workbench.replies.values()
    assert reply["error"]["message"] == NO_CALL


def test_the_late_answer_to_a_call_that_is_forgotten_counts_like_any_other() -> None:
    late: list[Step] = [
        ("start", ANN, 0),
        ("cancel", 0, 0),
        ("start", BOB, 0),
        ("wait", 0, 60.0),
        ("fail", 0, 0),
    ]
    shared_workbench = run(BOTH, [*late, ("ask", 0, 0)])
    ((reply,),) = shared_workbench.replies.values()
    assert SHARED in reply["error"]["message"]


def test_no_number_of_cancelled_calls_makes_those_of_another_principal_forgotten() -> None:
    many = [step for _ in range(MAX_GIVEN_UP) for step in (("start", BOB, 0.0), ("cancel", 0, 0.0))]
    shared_workbench = run(
        BOTH, [*many, ("start", ANN, 0), ("cancel", 0, 0), ("start", BOB, 0), ("ask", MAX_GIVEN_UP, 0)]
    )
    ((reply,),) = shared_workbench.replies.values()
    assert SHARED in reply["error"]["message"]
