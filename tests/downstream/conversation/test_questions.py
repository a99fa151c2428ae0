"""What a legacy server asks, and the calls that it may be about."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import msgspec
import pytest

from mcp_workbench.downstream.conversation.attribution import ENDED_SECONDS, LATE_QUESTION_SECONDS
from mcp_workbench.downstream.conversation.inquiry import Pushed
from mcp_workbench.errors import RequestTimeout
from mcp_workbench.protocol.caller import NOBODY
from mcp_workbench.protocol.questions import Question
from tests.downstream.limits.test_call_queue import TIMEOUT, Line
from tests.downstream.servers import Awaited
from tests.wire.loops import IN_JUMPING_TIME, now

if TYPE_CHECKING:
    from mcp_workbench.downstream.conversation.inquiry import InputRequired, Inquiry

pytestmark = IN_JUMPING_TIME

MANY = 700
A_CLIENT = object()


class Asking(Awaited, kw_only=True):
    """A call that notes what is asked in the middle of it."""

    asked: object = None
    """Whom a question is put to, if that is not the call itself: a legacy client."""
    inquired: list[Inquiry] = msgspec.field(default_factory=list)
    owner: str = ""
    """The principal that it is made for."""

    @property
    def principal(self) -> str:
        return self.owner

    @property
    def conversation(self) -> object:
        return self.asked or self

    def on_question(self, question: Pushed) -> None:
        self.inquired.append(question)

    def on_input_required(self, required: InputRequired) -> None:
        self.inquired.append(required)


class Asker:
    """A server in the test's hands that asks."""

    def __init__(self) -> None:
        self.line = Line()
        self._asked = 0

    def call(self, client: object = None, owner: str = "") -> Asking:
        session = self.line.connection.session
        future = asyncio.get_running_loop().create_future()
        call = Asking(NOBODY, future, session=session, asked=client, owner=owner)
        head = b',"method":"tools/call","params":{"name":"x"'
        session.call(call, [head], {}, TIMEOUT, size=len(head))
        return call

    def ask(self, on_stream_of: Asking | None = None) -> str:
        """Return what the server is told at once: nothing if a client is asked, else why not."""
        self._asked += 1
        certain = None if on_stream_of is None else on_stream_of.id
        self.line.connection.session.attribution.certain = certain
        self.line.connection.receive(b'{"jsonrpc":"2.0","id":%d,"method":"roots/list"}' % self._asked)
        last = self.line.sent[-1]
        return str(last["error"]["message"]) if last.get("id") == self._asked and "error" in last else ""


async def test_a_question_that_several_calls_of_a_client_share_makes_none_of_them_one_that_waits() -> None:
    it = Asker()
    first, second = it.call(A_CLIENT), it.call(A_CLIENT)
    assert it.ask() == ""
    assert len(first.inquired) == 1
    other = it.call()
    assert "does not say which" in it.ask()
    assert (second.inquired, other.inquired) == ([], [])


async def test_what_is_asked_while_another_call_waits_for_an_answer_is_the_others() -> None:
    it = Asker()
    waiting = it.call()
    it.ask()
    other = it.call()
    assert it.ask() == ""
    assert (len(waiting.inquired), len(other.inquired)) == (1, 1)


async def test_a_question_that_may_belong_to_a_call_that_was_given_up_is_refused_for_a_while() -> None:
    it = Asker()
    given_up, other = it.call(), it.call()
    given_up.cancel()
    assert "does not say which" in it.ask()
    await asyncio.sleep(LATE_QUESTION_SECONDS + 0.1)
    assert it.ask() == ""
    assert len(other.inquired) == 1


async def test_a_call_that_was_given_up_and_is_answered_all_the_same_has_ended() -> None:
    it = Asker()
    given_up, other = it.call(), it.call()
    given_up.cancel()
    it.line.answer(given_up.id)
    assert it.ask() == ""
    assert len(other.inquired) == 1


async def test_a_call_that_was_given_up_does_not_stand_in_the_way_of_a_later_one() -> None:
    it = Asker()
    it.call().cancel()
    later = it.call()
    assert it.ask() == ""
    assert len(later.inquired) == 1


async def test_with_no_call_in_progress_a_question_for_one_that_was_given_up_is_refused() -> None:
    it = Asker()
    it.call().cancel()
    assert "does not say which" in it.ask()


async def test_a_question_that_may_concern_two_principals_is_refused() -> None:
    it = Asker()
    waiting = it.call(owner="ann")
    it.ask()
    other = it.call(owner="bob")
    assert "several users" in it.ask()
    assert (len(waiting.inquired), len(other.inquired)) == (1, 0)


async def test_a_question_on_the_stream_of_a_call_is_about_that_call_whatever_others_are_in_flight() -> None:
    it = Asker()
    calls = [it.call(owner=owner) for owner in ("ann", "bob", "ann")]
    assert it.ask(on_stream_of=calls[1]) == ""
    assert [len(call.inquired) for call in calls] == [0, 1, 0]


async def test_a_question_on_the_stream_of_a_call_that_has_ended_is_for_no_other_principal() -> None:
    it = Asker()
    it.line.connection.session.listeners.is_shared = True
    ended = it.call(owner="ann")
    it.line.answer(ended.id)
    await asyncio.sleep(ENDED_SECONDS)
    other = it.call(owner="bob")
    assert "several users" in it.ask(on_stream_of=ended)
    assert it.ask() == ""
    assert len(other.inquired) == 1


async def test_many_questions_that_may_be_about_many_calls_delay_no_other_call() -> None:
    line = Line()
    session = line.connection.session
    calls = [line.call() for _ in range(MANY)]
    began = time.process_time()
    for number in range(MANY):
        session.pushed[number] = Pushed(session, number, Question("roots/list"), list(calls))
    assert all(call.held_at is not None for call in calls)
    for name, question in list(session.pushed.items()):
        question.answer({str(name): msgspec.Raw(b"{}")})
    assert all(call.held_at is None for call in calls)
    assert time.process_time() - began < 1.5


@pytest.mark.parametrize("thinking", [0.01, TIMEOUT / 2, TIMEOUT * 3])
async def test_what_others_ask_does_not_keep_a_call_from_its_time_out_for_ever(thinking: float) -> None:
    it = Asker()
    session = it.line.connection.session
    session.input_timeout = 20.0
    hanging = it.call(A_CLIENT)
    began = now()
    while not hanging.result.done():
        other = it.call(A_CLIENT)
        it.ask()
        (question,) = session.pushed.values()
        await asyncio.sleep(thinking)
        for name in question.questions:
            question.answer({name: msgspec.Raw(b"{}")})
        it.line.answer(other.id)
        await asyncio.sleep(TIMEOUT / 10)
        assert now() - began < 10 * session.input_timeout
    assert isinstance(hanging.result.exception(), RequestTimeout)
    assert now() - began <= 2 * TIMEOUT + 2 * max(session.input_timeout, thinking)


async def test_a_call_that_has_asked_has_all_its_time_again_when_it_is_answered() -> None:
    it = Asker()
    call = it.call()
    await asyncio.sleep(TIMEOUT - 1)
    it.ask()
    await asyncio.sleep(TIMEOUT * 10)
    (inquiry,) = call.inquired
    answered = now()
    inquiry.answer(dict.fromkeys(inquiry.questions, msgspec.Raw(b"{}")))
    with pytest.raises(RequestTimeout):
        await call.result
    assert now() - answered == pytest.approx(TIMEOUT)
