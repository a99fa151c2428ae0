"""How long a test waits, and the one way to wait for what no event announces."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 15.0


async def poll(condition: Callable[[], object], within: float = PATIENCE) -> None:
    """For a file's content or a stranger's process. Nothing else in the tests may sleep."""
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 - another process brings it about
            await asyncio.sleep(0.01)
