"""The event loops that tests run on: the two that people have, and one whose time passes at once.

Owns the loops and the marks that choose them; a `conftest` hands `FACTORIES` to pytest-asyncio.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class _Clock(selectors.DefaultSelector):
    """Where a loop would sleep until its next timer, the clock is put forward instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everyone waits, and nothing is going to happen any more"
            self.now += timeout
        return ready


class JumpingLoop(asyncio.SelectorEventLoop):
    """For what happens in memory: minutes take no time, and every moment is exact."""

    def __init__(self) -> None:
        self._clock = _Clock()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def _uvloop() -> asyncio.AbstractEventLoop:
    import uvloop

    return uvloop.new_event_loop()


FACTORIES: Mapping[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.SelectorEventLoop,
    "uvloop": _uvloop,
    "jumping": JumpingLoop,
}

ON_BOTH_LOOPS = pytest.mark.asyncio(loop_factories=["asyncio", "uvloop"])
IN_JUMPING_TIME = pytest.mark.asyncio(loop_factories=["jumping"])


def now() -> float:
    """Seconds of the running loop."""
    return round(asyncio.get_running_loop().time(), 6)
