"""How long a server that keeps failing is left alone."""

from __future__ import annotations

import pytest

from mcp_workbench.downstream.backoff import HEALTHY_SECONDS, JITTER, MAX_SECONDS, Backoff

ROUNDING = 1e-6
"""Tolerance for sums and differences of times."""


def waits(failures: int) -> list[float]:
    """Seconds of waiting after each of so many failures in a row, each at the end of the wait before it."""
    backoff = Backoff()
    now, found = 0.0, []
    for _ in range(failures):
        backoff.fail(now)
        found.append(backoff.remaining(now))
        now += found[-1]
    return found


def test_the_first_failure_is_forgiven_and_the_wait_then_doubles_up_to_a_minute() -> None:
    steady = [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    for wait, expected in zip(waits(len(steady)), steady, strict=True):
        assert (
            expected * (1 - JITTER) - ROUNDING <= wait <= min(expected * (1 + JITTER), MAX_SECONDS) + ROUNDING
        )


def test_no_two_servers_wait_equally_long() -> None:
    assert len({waits(3)[-1] for _ in range(50)}) > 10


def test_thousands_of_failures_are_no_different() -> None:
    assert waits(5000)[-1] <= MAX_SECONDS + ROUNDING


def test_the_wait_passes() -> None:
    backoff = Backoff()
    backoff.fail(100.0)
    backoff.fail(100.0)
    assert 0 < backoff.remaining(100.3) < backoff.remaining(100.0)
    assert backoff.remaining(101.0) == 0


@pytest.mark.parametrize(
    ("up", "served", "failures"),
    [(1.0, False, 3), (HEALTHY_SECONDS, False, 1), (1.0, True, 1), (HEALTHY_SECONDS, True, 1)],
)
def test_a_life_that_was_long_or_of_use_makes_up_for_the_failures_before_it(
    up: float, served: bool, failures: int
) -> None:
    backoff = Backoff()
    backoff.fail(0.0)
    backoff.fail(0.0)
    backoff.end(100.0, up=up, served=served)
    assert backoff.failures == failures
    assert (backoff.remaining(100.0) == 0) is (failures == 1)
