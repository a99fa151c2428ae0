"""What goes on beside each other, and is kept until it has ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from soak.ledger import Ledger


class Tasks:
    """Those of one part of the load. What fails in them fails the soak."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def keep(self, work: Coroutine[Any, Any, None]) -> None:
        """Begins one."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)

    async def finish(self, seconds: float) -> None:
        """Waits for them, or for so long."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in self._tasks:
            task.cancel()

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._ledger.note_failure(task)
