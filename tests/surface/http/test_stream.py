"""What a stream keeps for a client that is away, or was not there for all of it, and for how long."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.surface.http import stream as module
from mcp_workbench.surface.http.backlog import Backlog
from mcp_workbench.surface.http.stream import ResponseStream

if TYPE_CHECKING:
    from collections.abc import Callable

ACCOUNT = Backlog().account("")


class Reader:
    """Follows a stream, and remembers whether it was cut off."""

    def __init__(self) -> None:
        self.is_disconnected = False

    def disconnect(self) -> None:
        self.is_disconnected = True


def line(number: int) -> bytes:
    return b'{"n":%d}\n' % number


def rest_of(stream: ResponseStream) -> list[tuple[str, object]]:
    said: list[tuple[str, object]] = []
    while (message := stream.next()) is not None:
        said.append(message)
    return said


def test_messages_come_in_order_each_with_its_position() -> None:
    stream = ResponseStream(ACCOUNT, "7", [1])
    stream.write(line(1))
    stream.answer(1, line(2))
    assert rest_of(stream) == [("7-1", line(1)), ("7-2", line(2))]
    assert stream.is_over


def test_one_that_cannot_be_come_back_to_keeps_nothing() -> None:
    stream = ResponseStream(ACCOUNT, unanswered=[1])
    for number in range(10):
        stream.write(line(number))
    assert [position for position, _ in rest_of(stream)] == [""] * 10
    assert len(stream._messages) == 0


def test_an_answer_alone_is_told_apart() -> None:
    stream = ResponseStream(ACCOUNT, "1", [1])
    stream.answer(1, line(1))
    assert stream.only_answer == line(1)
    other = ResponseStream(ACCOUNT, "1", [1])
    other.write(line(1))
    other.answer(1, line(2))
    assert other.only_answer is None


def test_it_is_over_when_all_requests_are_answered_or_given_up() -> None:
    stream = ResponseStream(ACCOUNT, "1", [1, 2])
    stream.answer(1, line(1))
    assert not stream.is_over
    stream.end_request(2)
    assert stream.is_over


def test_a_client_that_is_back_has_what_came_after_the_message_that_it_names() -> None:
    stream = ResponseStream(ACCOUNT, "1")
    for number in range(1, 6):
        stream.write(line(number))
    rest_of(stream)
    stream.rewind(3)
    assert rest_of(stream) == [("1-4", line(4)), ("1-5", line(5))]
    stream.rewind(0)
    assert len(rest_of(stream)) == 5
    stream.rewind(99)
    assert rest_of(stream) == []


def test_of_many_that_were_sent_the_latest_are_kept() -> None:
    stream = ResponseStream(ACCOUNT, "1")
    for number in range(1, 1001):
        stream.write(line(number))
        stream.next()
    stream.rewind(0)
    assert [position for position, _ in rest_of(stream)] == [f"1-{number}" for number in range(901, 1001)]


def test_of_long_ones_that_were_sent_fewer_are_kept_and_the_last_in_any_case() -> None:
    stream = ResponseStream(ACCOUNT, "1")
    for _ in range(10):
        stream.write(b"x" * 300_000)
    rest_of(stream)
    stream.rewind(0)
    assert len(rest_of(stream)) == 3
    stream.write([b"x" * 2_000_000])
    rest_of(stream)
    stream.rewind(0)
    assert [position for position, _ in rest_of(stream)] == ["1-11"]


def test_of_many_that_nobody_came_for_the_latest_are_kept() -> None:
    stream = ResponseStream(ACCOUNT, "0")
    for number in range(1, 5001):
        stream.write(line(number))
    positions = [position for position, _ in rest_of(stream)]
    assert (len(positions), positions[0], positions[-1]) == (1000, "0-4001", "0-5000")


def test_of_long_ones_that_nobody_came_for_fewer_are_kept() -> None:
    stream = ResponseStream(ACCOUNT, "0")
    for _ in range(1000):
        stream.write(b"x" * 100_000)
    assert sum(len(message) for message in stream._messages) <= module.MAX_UNSENT_BYTES


def test_a_client_that_is_there_may_be_behind_by_more() -> None:
    stream = ResponseStream(ACCOUNT, "0")
    stream.consumer = Reader()
    for number in range(5000):
        stream.write(line(number))
    assert len(rest_of(stream)) == 5000
    for _ in range(1000):
        stream.write(b"x" * 100_000)
    assert 2**20 < sum(len(message) for message in stream._messages) <= module.MAX_BEHIND_BYTES + 2**20


def test_an_answer_is_kept_however_long_it_is() -> None:
    stream = ResponseStream(ACCOUNT, "1", [1])
    stream.write(line(1))
    stream.answer(1, [b"x" * 50_000_000])
    assert [position for position, _ in rest_of(stream)] == ["1-1", "1-2"]


async def test_who_waits_is_woken_by_a_message_by_the_end_and_by_having_to_leave() -> None:
    acts: list[Callable[[ResponseStream], None]] = [
        lambda it: it.write(line(1)),
        ResponseStream.end,
        ResponseStream.detach,
    ]
    for act in acts:
        stream = ResponseStream(ACCOUNT, "1")
        stream.consumer = Reader()
        waiting = asyncio.ensure_future(stream.wait(60))
        await asyncio.sleep(0)
        assert not waiting.done()
        act(stream)
        async with asyncio.timeout(5):
            assert await waiting is True


async def test_who_waits_in_vain_is_told() -> None:
    stream = ResponseStream(ACCOUNT, "1")
    stream.consumer = Reader()
    async with asyncio.timeout(5):
        assert await stream.wait(0.01) is False


async def test_another_follower_does_not_lose_its_wait_to_the_one_before() -> None:
    stream = ResponseStream(ACCOUNT, "1")
    stream.consumer = Reader()
    first = asyncio.ensure_future(stream.wait(60))
    await asyncio.sleep(0)
    stream.wake()
    stream.consumer = second_consumer = Reader()
    second = asyncio.ensure_future(stream.wait(60))
    await asyncio.sleep(0)
    await first
    stream.write(line(1))
    async with asyncio.timeout(5):
        assert await second is True
    assert stream.consumer is second_consumer


def test_only_the_one_who_follows_can_leave() -> None:
    stream = ResponseStream(ACCOUNT, "1")
    stream.consumer = here = Reader()
    stream.detach(Reader())
    assert stream.consumer is here
    stream.detach(here)
    assert stream.consumer is None


@pytest.mark.parametrize("sent", [0, 500])
def test_what_was_dropped_is_not_numbered_anew(sent: int) -> None:
    stream = ResponseStream(ACCOUNT, "0")
    for number in range(1, sent + 1):
        stream.write(line(number))
    rest_of(stream)
    for number in range(sent + 1, sent + 1502):
        stream.write(line(number))
    positions = rest_of(stream)
    assert positions[-1] == (f"0-{sent + 1501}", line(sent + 1501))
    assert len(positions) == 1000
