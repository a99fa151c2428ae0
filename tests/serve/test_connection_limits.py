"""How many connections there may be, and which one goes for another."""

from __future__ import annotations

import pytest

from mcp_workbench.serve import connection_limits
from mcp_workbench.serve.connection_limits import (
    MAX_CONNECTIONS,
    SILENT_SECONDS,
    ConnectionLimits,
    address_group,
    allowed_connections,
)


class Open:
    """A connection that remembers whether it was closed for another."""

    def __init__(self, peer: str, idle_since: float | None = None, descriptor: int = 10) -> None:
        self.peer = peer
        self.descriptor = descriptor
        self.idle_since = idle_since
        self.is_closed = False

    def close_for_another(self) -> None:
        self.is_closed = True


def connect(limits: ConnectionLimits, *peers: str) -> list[Open]:
    opened = [Open(peer) for peer in peers]
    for it in opened:
        assert limits.add(it)
    return opened


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(connection_limits, "time", clock)
    return clock


class Clock:
    """A clock that a test puts forward."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_the_oldest_silent_connection_of_an_address_goes_when_that_has_too_many(clock: Clock) -> None:
    limits = ConnectionLimits(most=100, per_address=2)
    opened = connect(limits, "a", "b", "b")
    clock.now = SILENT_SECONDS
    opened += connect(limits, "b", "a")
    assert [it.is_closed for it in opened] == [False, True, False, False, False]
    assert len(limits) == 4


def test_connections_with_an_authenticated_request_do_not_count_for_their_address(
    clock: Clock,
) -> None:
    limits = ConnectionLimits(most=100, per_address=2)
    for it in connect(limits, "proxy", "proxy"):
        limits.trust(it)
    opened = connect(limits, "proxy", "proxy")
    clock.now = SILENT_SECONDS
    opened += connect(limits, "proxy")
    assert [it.is_closed for it in opened] == [True, False, False]


def test_a_burst_of_one_address_loses_no_connection_whose_request_may_be_on_its_way(clock: Clock) -> None:
    limits = ConnectionLimits(most=100, per_address=2)
    opened = connect(limits, *["proxy"] * 50)
    assert not any(it.is_closed for it in opened)
    clock.now = SILENT_SECONDS / 2
    limits.note_request(opened[0])
    clock.now = SILENT_SECONDS
    connect(limits, "proxy")
    assert [it.is_closed for it in opened[:3]] == [False, True, False]


def test_silent_connections_go_before_those_that_have_asked_something() -> None:
    limits = ConnectionLimits(most=3)
    asking, silent, other = connect(limits, "a", "b", "c")
    limits.note_request(asking)
    connect(limits, "d", "e")
    assert [it.is_closed for it in (asking, silent, other)] == [False, True, True]


def test_authenticated_connections_go_last_and_only_idle_ones() -> None:
    limits = ConnectionLimits(most=3)
    busy, idle, longer_idle = connect(limits, "a", "a", "a")
    idle.idle_since, longer_idle.idle_since = 2.0, 1.0
    for it in (busy, idle, longer_idle):
        limits.trust(it)
    (newcomer,) = connect(limits, "b")
    assert [it.is_closed for it in (busy, idle, longer_idle)] == [False, False, True]
    limits.trust(newcomer)
    idle.idle_since = None
    assert not limits.add(Open("c"))
    assert len(limits) == 3


def test_a_connection_that_takes_one_of_the_last_descriptors_has_another_closed() -> None:
    limits = ConnectionLimits(most=100, descriptors=64)
    opened = [Open("a"), Open("b", descriptor=55), Open("c", descriptor=56)]
    assert [limits.add(it) for it in opened] == [True] * 3
    assert [it.is_closed for it in opened] == [True, False, False]
    for it in opened[1:]:
        limits.trust(it)
    assert not limits.add(Open("d", descriptor=56))


def test_nothing_is_left_of_connections_that_ended() -> None:
    limits = ConnectionLimits(most=3)
    opened = connect(limits, "a", "a", "b")
    limits.trust(opened[0])
    for it in opened:
        limits.remove(it)
        limits.remove(it)
    assert (len(limits), limits._unknown_of) == (0, {})


@pytest.mark.parametrize(
    ("descriptors", "expected"),
    [(None, MAX_CONNECTIONS), (20_000, MAX_CONNECTIONS), (1024, 768), (256, 128), (1, 1)],
)
def test_there_are_no_more_connections_than_file_descriptors_allow(
    descriptors: int | None, expected: int
) -> None:
    assert allowed_connections(descriptors) == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
    ],
)
def test_a_network_of_ipv6_is_one_address(host: str, expected: str) -> None:
    assert address_group(host) == expected
