"""How many calls wait for a server that is not ready for them."""

from __future__ import annotations

import contextlib

import pytest

from mcp_workbench.downstream.waiting import MOST_BYTES, MOST_CALLS, WaitingRoom
from mcp_workbench.errors import Overloaded


def test_thousands_may_wait_and_the_next_is_told_how_many_there_are() -> None:
    room = WaitingRoom()
    with contextlib.ExitStack() as stack:
        for _ in range(MOST_CALLS):
            stack.enter_context(room.seat(10))
        with pytest.raises(Overloaded) as raised, room.seat(10):
            raise AssertionError("there was no room for it")
        assert str(raised.value) == (
            "10,000 calls with 100,000 bytes of arguments wait for this server already, and no more are "
            "taken. Wait for some of their answers first"
        )
    assert (room.calls, room.bytes) == (0, 0)
    with room.seat(10):
        assert (room.calls, room.bytes) == (1, 10)


def test_large_arguments_fill_it_sooner() -> None:
    room = WaitingRoom()
    with room.seat(MOST_BYTES), pytest.raises(Overloaded), room.seat(1):
        raise AssertionError("there was no room for it")


def test_one_call_may_be_as_large_as_it_likes() -> None:
    room = WaitingRoom()
    with room.seat(2 * MOST_BYTES):
        assert room.bytes == 2 * MOST_BYTES
