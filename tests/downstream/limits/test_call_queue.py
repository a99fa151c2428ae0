"""A server gets no more calls than it takes: others wait their turn, and a silent one is asked for a sign."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.config import ServerConfig, SharesConfig
from mcp_workbench.downstream.connection import PROBE_SECONDS, Connection
from mcp_workbench.downstream.conversation.listeners import Listeners
from mcp_workbench.downstream.conversation.offer import Offer
from mcp_workbench.downstream.conversation.session import MAX_UNREAD_ANSWERS
from mcp_workbench.errors import RequestTimeout
from mcp_workbench.fairness import Shares
from tests.downstream.servers import Awaited, call_tool
from tests.wire.loops import IN_JUMPING_TIME, now
from tests.wire.wires import whole

if TYPE_CHECKING:
    from mcp_workbench.wire.message import Outgoing

pytestmark = IN_JUMPING_TIME

TIMEOUT = 10.0


class Line:
    """A connection whose server is in the test's hands."""

    def __init__(self, call_limit: int = 1000, share: int = 32) -> None:
        config = ServerConfig(command="x", call_limit=call_limit, timeout=TIMEOUT)
        self.waiting = 0
        self.sent: list[dict[str, Any]] = []
        self.given_up: list[tuple[float, str]] = []
        self.is_paused = False
        shares = Shares()
        shares.adopt(SharesConfig(calls=share))
        self.connection = Connection(("dev", "files"), self, str, config, Listeners(), shares=shares)

    def write(self, line: Outgoing) -> None:
        self.sent.append(json.loads(whole(line)))

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False

    def give_up(self, reason: str) -> None:
        self.given_up.append((now(), reason))
        self.connection.close(reason)

    def methods(self) -> list[str]:
        return [message["method"] for message in self.sent]

    def answer(self, request_id: int) -> None:
        line = {"jsonrpc": "2.0", "id": request_id, "result": {}}
        self.connection.receive(json.dumps(line).encode())

    def call(self, principal: str = "") -> Awaited:
        """Send a call without waiting for a turn."""
        tally = self.connection.turns.tally(principal) if principal else None
        return call_tool(self.connection.session, "read", TIMEOUT, tally=tally)

    async def call_in_turn(self, principal: str = "") -> int:
        """Send a call when its turn has come, and return its id."""
        assert await self.connection.turn(principal)
        return self.call(principal).id


async def settle() -> None:
    """Lets everyone take the steps that they can take."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_calls_beyond_the_limit_wait_and_go_out_in_their_order() -> None:
    line = Line(call_limit=2)
    first, second = line.call(), line.call()
    assert not line.connection.is_clear
    waiting = [asyncio.create_task(line.call_in_turn()) for _ in range(3)]
    await settle()
    assert len(line.sent) == 2
    line.answer(first.id)
    line.answer(second.id)
    await settle()
    assert [task.done() for task in waiting] == [True, True, False]
    line.answer(3)
    assert await asyncio.gather(*waiting) == [3, 4, 5]
    for request_id in (4, 5):
        line.answer(request_id)
    assert line.connection.is_clear


async def test_a_call_that_gives_up_waiting_leaves_its_place_to_the_next() -> None:
    line = Line(call_limit=1)
    call = line.call()
    waiting = [asyncio.create_task(line.call_in_turn()) for _ in range(3)]
    await settle()
    line.answer(call.id)
    waiting[0].cancel()  # it has been let in, and has not sent anything yet
    waiting[1].cancel()
    assert await waiting[2] == 2


async def test_calls_over_the_share_of_a_principal_wait_and_others_pass_them() -> None:
    line = Line(share=2)
    calls = [asyncio.create_task(line.call_in_turn("alice")) for _ in range(5)]
    await settle()
    assert len(line.sent) == 2
    assert not line.connection.turns.may_pass("alice")
    assert line.connection.is_clear  # for all others
    assert line.connection.turns.may_pass("bob")
    assert await line.call_in_turn("bob") == 3
    assert await line.call_in_turn() == 4
    line.answer(1)
    await settle()
    assert [call.done() for call in calls] == [True, True, True, False, False]
    for request_id in (2, 5, 6, 7):
        line.answer(request_id)
        await settle()
    assert [call.result() for call in calls] == [1, 2, 5, 6, 7]
    assert line.connection.turns.may_pass("alice")


async def test_no_principal_has_more_than_half_of_what_a_server_takes() -> None:
    line = Line(call_limit=6, share=100)
    calls = [asyncio.create_task(line.call_in_turn("alice")) for _ in range(10)]
    await settle()
    assert len(line.sent) == 3
    for call in calls:
        call.cancel()


async def test_principals_take_turns_on_a_server_that_takes_one_call_at_a_time() -> None:
    line = Line(call_limit=1)
    order: list[str] = []

    async def call(principal: str) -> None:
        request_id = await line.call_in_turn(principal)
        order.append(principal)
        asyncio.get_running_loop().call_soon(line.answer, request_id)

    first = line.call("alice")
    waiting = ["alice"] * 4 + ["bob"] * 2 + ["carol"]
    calls = [asyncio.create_task(call(principal)) for principal in waiting]
    await settle()
    line.answer(first.id)
    await asyncio.gather(*calls)
    assert order == ["alice", "bob", "carol", "alice", "bob", "alice", "alice"]


async def test_a_call_that_waits_for_its_client_is_not_counted_until_it_goes_on() -> None:
    line = Line(share=1)
    peer = line.connection.session.peer
    call = line.call("alice")
    peer.hold(call)
    assert line.connection.turns.may_pass("alice")
    peer.release(call)
    assert not line.connection.turns.may_pass("alice")
    peer.hold(call)
    line.answer(call.id)
    assert line.connection.turns.tally("alice").count == 0


async def test_a_turn_that_was_given_is_kept_until_it_is_used() -> None:
    line = Line(call_limit=1)
    call = line.call("alice")
    waiting = asyncio.create_task(line.call_in_turn("alice"))
    await settle()
    line.answer(call.id)
    assert not line.connection.is_clear
    late = asyncio.create_task(line.call_in_turn("bob"))
    assert await waiting == 2
    line.answer(2)
    assert await late == 3


async def test_a_principal_that_gives_up_after_its_turn_was_given_leaves_it_to_another() -> None:
    line = Line(call_limit=1)
    call = line.call("alice")
    given, late = [asyncio.create_task(line.call_in_turn(name)) for name in ("alice", "bob")]
    await settle()
    line.answer(call.id)
    given.cancel()
    assert await late == 2
    assert line.connection.turns.tally("alice").count == 0


async def test_no_call_waits_for_a_connection_that_has_ended() -> None:
    line = Line(call_limit=1)
    call = line.call()
    waiting = [asyncio.create_task(line.connection.turn()) for _ in range(5)]
    await settle()
    line.connection.close("the server exited with code 1")
    assert await asyncio.gather(*waiting) == [False] * 5
    with pytest.raises(Exception, match="exited with code 1"):
        await call.result


async def test_while_a_server_does_not_read_calls_wait() -> None:
    line = Line()
    line.connection.on_full(True)
    assert not line.connection.is_clear
    waiting = asyncio.create_task(line.call_in_turn())
    await settle()
    assert line.sent == []
    line.connection.on_full(False)
    assert await waiting == 1


async def test_a_server_that_does_not_read_gets_no_answers_either() -> None:
    line = Line()
    ping = b'{"jsonrpc":"2.0","id":"x","method":"ping"}'
    line.connection.on_full(True)
    for _ in range(1000):
        line.connection.receive(ping)
    assert line.sent == []
    line.connection.on_full(False)
    line.connection.receive(ping)
    assert line.sent == [{"jsonrpc": "2.0", "id": "x", "result": {}}]


async def test_a_server_that_is_slow_to_read_gets_the_answers_to_what_it_asks_within_bounds() -> None:
    line = Line()

    def ask(number: int) -> None:
        question = {"jsonrpc": "2.0", "id": number, "method": "roots/list"}
        line.connection.receive(json.dumps(question).encode())

    line.connection.on_full(True)
    for number in range(MAX_UNREAD_ANSWERS + 10):
        ask(number)
    assert [message["id"] for message in line.sent] == list(range(MAX_UNREAD_ANSWERS))
    line.connection.on_full(False)
    ask(-1)
    line.connection.on_full(True)
    ask(-2)
    assert [message["id"] for message in line.sent[MAX_UNREAD_ANSWERS:]] == [-1, -2]


async def test_a_call_without_an_answer_has_the_server_asked_for_a_sign_and_given_up_without_one() -> None:
    line = Line()
    call = line.call()
    with pytest.raises(RequestTimeout):
        await call.result
    await settle()
    assert line.methods() == ["tools/call", "notifications/cancelled", "ping"]
    waiting = asyncio.create_task(line.connection.turn())
    await settle()
    assert not waiting.done()
    assert await waiting is False
    assert line.given_up == [
        (
            TIMEOUT + PROBE_SECONDS,
            "the server no longer answers anything, not even a ping within 2 s",
        )
    ]


@pytest.mark.parametrize("sign", ['"result":{}', '"error":{"code":-32601,"message":"no"}', '"result":5'])
async def test_any_answer_to_that_is_a_sign_of_life(sign: str) -> None:
    line = Line()
    with pytest.raises(RequestTimeout):
        await line.call().result
    waiting = asyncio.create_task(line.connection.turn())
    await settle()
    line.connection.receive(f'{{"jsonrpc":"2.0","id":2,{sign}}}'.encode())
    assert await waiting is True
    assert line.given_up == []
    assert line.connection.is_clear


async def test_a_modern_server_is_asked_in_the_words_of_its_era() -> None:
    line = Line()
    line.connection.session.speak_modern(Offer())
    with pytest.raises(RequestTimeout):
        await line.call().result
    await settle()
    assert line.methods()[-1] == "server/discover"
    assert "io.modelcontextprotocol/protocolVersion" in line.sent[-1]["params"]["_meta"]


async def test_many_calls_that_time_out_together_ask_once() -> None:
    line = Line()
    calls = [line.call() for _ in range(10)]
    await asyncio.gather(*(call.result for call in calls), return_exceptions=True)
    assert line.methods().count("ping") == 1


async def test_while_nothing_is_read_nothing_is_late() -> None:
    line = Line()
    call = line.call()
    await asyncio.sleep(TIMEOUT - 1)  # in time that takes none
    line.connection.pause()
    later = line.call()
    await asyncio.sleep(1000)
    assert line.is_paused
    assert [call.result.done(), later.result.done()] == [False, False]
    line.connection.resume()
    resumed = now()
    with pytest.raises(RequestTimeout):
        await call.result
    assert now() - resumed == 1
    await settle()
    line.answer(3)  # to the question for a sign of life
    with pytest.raises(RequestTimeout):
        await later.result
    assert now() - resumed == TIMEOUT
