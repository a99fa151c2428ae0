"""The signals that ask a process to end, as one callback in the event loop."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def on_request_to_end(callback: Callable[[], object]) -> None:
    """Calls `callback` in place of what SIGINT, SIGTERM and SIGHUP would do."""
    if sys.platform == "win32":
        signal.signal(signal.SIGINT, lambda *_: callback())
        return
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, callback)


def cancel_on_request_to_end() -> None:
    """Such a signal cancels the task that calls this.

    asyncio does so by itself for SIGINT, but does not hear of one that comes just before it begins to wait.
    """
    task = asyncio.current_task()
    if task is not None:
        on_request_to_end(task.cancel)


class SecondSignal(asyncio.Event):
    """Set by the second request to end; the first is passed on to whoever ends things in good order."""

    def __init__(self, on_first: Callable[[], object]) -> None:
        super().__init__()
        self._on_first = on_first
        self._is_first = True
        on_request_to_end(self._take)

    def _take(self) -> None:
        if self._is_first:
            self._is_first = False
            self._on_first()
        else:
            self.set()
