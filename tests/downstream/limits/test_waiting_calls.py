"""How many calls wait for a server that is not ready for them."""

from __future__ import annotations

import contextlib

import pytest

from mcp_workbench.config import SharesConfig
from mcp_workbench.downstream.limits.waiting_calls import (
    MAX_BYTES,
    MAX_BYTES_PER_PRINCIPAL,
    MAX_CALLS,
    WaitingCalls,
)
from mcp_workbench.errors import Overloaded
from mcp_workbench.fairness import Shares


def test_thousands_may_wait_and_the_next_is_told_how_many_there_are() -> None:
    room = WaitingCalls()
    with contextlib.ExitStack() as stack:
        for _ in range(MAX_CALLS):
            stack.enter_context(room.place(10))
        with pytest.raises(Overloaded) as raised, room.place(10):
            raise AssertionError("there was no room for it")
        assert str(raised.value) == (
            "10,000 calls with 100,000 bytes of arguments already wait for this server, and no more are "
            "accepted. Wait until some of them are answered"
        )
    assert (room.calls, room.bytes) == (0, 0)
    with room.place(10):
        assert (room.calls, room.bytes) == (1, 10)


def test_large_arguments_fill_it_sooner() -> None:
    room = WaitingCalls()
    with room.place(MAX_BYTES), pytest.raises(Overloaded), room.place(1):
        raise AssertionError("there was no room for it")


def test_one_call_may_be_as_large_as_it_likes() -> None:
    room = WaitingCalls()
    with room.place(2 * MAX_BYTES):
        assert room.bytes == 2 * MAX_BYTES


def test_one_principal_has_its_share_of_the_room_and_is_told_when_to_try_again() -> None:
    shares = Shares()
    shares.adopt(SharesConfig(waiting=2))
    room = WaitingCalls(shares)
    with room.place(10, "alice"), room.place(10, "alice"), room.place(10, "bob"):
        with pytest.raises(Overloaded) as raised, room.place(10, "alice"):
            raise AssertionError("there was no room for it")
        assert str(raised.value) == (
            "2 calls of yours with 20 bytes of arguments already wait for this server, which is your share "
            '("http.shares.waiting"). Try again in 5 s, or when some of them have ended'
        )
        with room.place(10, "bob"), room.place(10):
            assert room.calls == 5
    with room.place(10, "alice"):
        assert room.calls == 1


def test_large_arguments_of_one_principal_leave_room_for_others() -> None:
    room = WaitingCalls()
    with room.place(MAX_BYTES_PER_PRINCIPAL, "alice"), room.place(MAX_BYTES_PER_PRINCIPAL, "bob"):
        assert room.calls == 2
    with room.place(MAX_BYTES_PER_PRINCIPAL, "alice"), pytest.raises(Overloaded), room.place(1, "alice"):
        raise AssertionError("there was no room for it")
