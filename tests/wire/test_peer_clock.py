"""No request waits for ever: silence ends it, and so does progress without end."""

from __future__ import annotations

import asyncio

import pytest

from mcp_workbench.errors import RequestTimeout
from mcp_workbench.wire.request import AwaitedRequest
from tests.wire.loops import IN_JUMPING_TIME, JumpingLoop, now
from tests.wire.wires import Wire

pytestmark = IN_JUMPING_TIME


async def end_of(request: AwaitedRequest) -> tuple[float, str]:
    """When the wait ended, and how."""
    with pytest.raises(RequestTimeout) as raised:
        await request.answer
    return now(), str(raised.value)


def start(wire: Wire, *, idle: float, total: float) -> AwaitedRequest:
    """A request that may take longer than its idle time, as a call may."""
    request = AwaitedRequest(asyncio.get_running_loop().create_future(), idle=idle, total=total)
    wire.peer.start(request, b"")
    return request


def touch_at(request: AwaitedRequest, *moments: float) -> None:
    for moment in moments:
        asyncio.get_running_loop().call_at(moment, request.touch)


async def test_silence_ends_a_request_after_its_idle_time() -> None:
    request = start(Wire(), idle=5, total=50)
    assert await end_of(request) == (5, "no answer within 5 s and no progress was reported")


async def test_the_limit_of_a_question_is_all_there_is() -> None:
    request = Wire().peer.ask("x", b"{}", limit=5)
    touch_at(request, 4)
    assert (await end_of(request))[0] == 5


async def test_each_sign_of_life_starts_the_idle_time_anew() -> None:
    request = start(Wire(), idle=5, total=50)
    touch_at(request, 4, 8, 8.5)
    assert await end_of(request) == (13.5, "no answer within 5 s and no progress was reported")


async def test_signs_of_life_without_end_stop_at_the_total() -> None:
    request = start(Wire(), idle=5, total=50)
    touch_at(request, *range(1, 100))
    assert await end_of(request) == (
        50,
        "no answer within 50 s in all, although it went on reporting progress",
    )


async def test_a_flood_of_signs_of_life_sets_no_timer_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    set_timers: list[float] = []
    call_at = loop.call_at

    def counting(when: float, *args: object) -> object:
        set_timers.append(when)
        return call_at(when, *args)  # type: ignore[arg-type] # passed on as they came

    monkeypatch.setattr(loop, "call_at", counting)
    request = start(Wire(), idle=5, total=50)
    for _ in range(10_000):
        request.touch()
    assert set_timers == [5]
    request.drop()


async def test_each_request_has_its_own_clock() -> None:
    wire = Wire()
    requests = [wire.peer.ask("x", b"{}", limit=limit) for limit in (3, 1, 2)]
    ends = await asyncio.gather(*(end_of(request) for request in requests))
    assert [moment for moment, _ in ends] == [3, 1, 2]


async def test_an_answer_stops_the_clock() -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=5)
    asyncio.get_running_loop().call_at(4.9, wire.answer, 1, "just in time")
    assert bytes(await request.answer) == b'"just in time"'
    await asyncio.sleep(100)  # in time that takes none: past every end that the request had
    assert bytes(request.answer.result()) == b'"just in time"'


async def test_an_answer_after_the_time_is_ignored() -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=5)
    await end_of(request)
    wire.answer(1, "too late")
    assert isinstance(request.answer.exception(), RequestTimeout)
    assert wire.handled == []


async def test_a_forgotten_request_has_no_clock() -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=5)
    wire.peer.forget(request)
    await asyncio.sleep(100)  # in time that takes none
    assert request.answer.cancelled()


def stand_still(seconds: float) -> None:
    """What a process that is stopped sees of time: nothing, and then all of it at once."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, JumpingLoop)
    loop._clock.now += seconds


async def test_while_the_workbench_itself_is_suspended_no_request_is_late() -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=5)
    loop = asyncio.get_running_loop()
    loop.call_at(3, stand_still, 50)
    loop.call_at(53.2, wire.answer, 1, "it was there all the time")
    assert bytes(await request.answer) == b'"it was there all the time"'


async def test_silence_ends_a_request_after_that_too() -> None:
    request = Wire().peer.ask("x", b"{}", limit=5)
    asyncio.get_running_loop().call_at(3, stand_still, 50)
    moment, reason = await end_of(request)
    assert 53 < moment < 60
    assert reason == "no answer within 5 s and no progress was reported"
