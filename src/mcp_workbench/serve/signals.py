"""The signals that ask the process to end, as one callback in the event loop."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def on_request_to_end(callback: Callable[[], object]) -> None:
    """Call `callback` on SIGINT, SIGTERM and SIGHUP, in place of their default action."""
    if sys.platform == "win32":
        signal.signal(signal.SIGINT, lambda *_: callback())
        return
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, callback)


def cancel_on_request_to_end() -> None:
    """Cancel the calling task when a signal asks the process to end.

    asyncio does so by itself for SIGINT, but misses a signal that arrives just before it begins to wait.
    """
    task = asyncio.current_task()
    if task is not None:
        on_request_to_end(task.cancel)


class SecondSignal(asyncio.Event):
    """An event that the second signal sets. The first signal calls `on_first`, which ends in order."""

    def __init__(self, on_first: Callable[[], object]) -> None:
        super().__init__()
        self._on_first = on_first
        self._is_first = True
        on_request_to_end(self._on_signal)

    def _on_signal(self) -> None:
        if self._is_first:
            self._is_first = False
            self._on_first()
        else:
            self.set()
