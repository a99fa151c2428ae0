"""Runs work that has to complete even if its caller is cancelled."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any


async def run_to_completion(work: Coroutine[Any, Any, None]) -> None:
    """Await `work` to its end, even when cancelled meanwhile. The cancellation is raised afterwards."""
    task = asyncio.create_task(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    task.result()
    if cancelled:
        raise asyncio.CancelledError
