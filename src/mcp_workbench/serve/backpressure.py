"""Backpressure of the stdio server: what happens if the client does not read its responses.

First the servers are not read either. If still more accumulates, the client is not read. Nothing is dropped,
and memory stays bounded. The client is read for longer than the servers, because it may send all its requests
before it begins to read.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_workbench.wire.reader import LineReader
    from mcp_workbench.wire.writer import Writer
    from mcp_workbench.workbench.registry import ToolboxRegistry

MAX_WAITING_BYTES = 32 * 1024 * 1024
"""Bytes that may wait, for the client and for all servers together, before the client is not read either."""
CHECK_EVERY_SECONDS = 0.02
"""Time between two checks of the waiting bytes, while the client is behind."""


class StdioBackpressure:
    """Stops reading the servers, and then the client, while too much waits for the client."""

    def __init__(self, workbench: ToolboxRegistry) -> None:
        self._workbench = workbench
        self._timer: asyncio.TimerHandle | None = None
        self._has_space = asyncio.Event()
        self._has_space.set()
        self._client: Writer | None = None
        self._reader: LineReader | None = None

    async def wait(self) -> None:
        """Return when the client's output has space again."""
        # A task that was woken before this one may have filled the output again.
        while not self._has_space.is_set():
            await self._has_space.wait()

    def watch(self, client: Writer, reader: LineReader) -> None:
        """Set the client's output, whose waiting bytes count, and its input, which may be paused."""
        self._client = client
        self._reader = reader

    def close(self) -> None:
        """Cancel the timer that checks the waiting bytes."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def on_full(self, is_full: bool) -> None:
        """React to an output that is full, or empty again."""
        self.close()
        if is_full:
            self._has_space.clear()
            self._workbench.flow_control.close()
            self._check()
        else:
            self._has_space.set()
            self._workbench.flow_control.open()
            if self._reader is not None:
                self._reader.resume()

    def _check(self) -> None:
        if self._client is None or self._reader is None:
            return
        if self._client.waiting + self._workbench.waiting > MAX_WAITING_BYTES:
            self._reader.pause()
        else:
            self._reader.resume()
        self._timer = asyncio.get_running_loop().call_later(CHECK_EVERY_SECONDS, self._check)
