"""What a legacy server asks, and the calls that it may be about."""

from __future__ import annotations

import time

import msgspec

from mcp_workbench.downstream.inquiry import Asked, Pushed
from tests.downstream.test_turns import Line
from tests.wire.loops import IN_JUMPING_TIME

pytestmark = IN_JUMPING_TIME

MANY = 700


async def test_many_questions_that_may_be_about_many_calls_hold_nobody_up() -> None:
    line = Line()
    session = line.connection.session
    calls = [line.call() for _ in range(MANY)]
    began = time.process_time()
    for number in range(MANY):
        session.pushed[number] = Pushed(session, number, Asked("roots/list"), list(calls))
    assert all(call.held_at is not None for call in calls)
    for name, question in list(session.pushed.items()):
        question.answer({str(name): msgspec.Raw(b"{}")})
    assert all(call.held_at is None for call in calls)
    assert time.process_time() - began < 1.5
