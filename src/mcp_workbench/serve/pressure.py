"""A client that does not read what it is sent: first the servers wait for it, and in the end it waits itself.

Nothing is dropped and nothing piles up. The client's own requests are taken for longer than the servers'
answers, because a client may well send all that it has to say before it begins to read.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_workbench.wire.reader import LineReader
    from mcp_workbench.wire.writer import Writer
    from mcp_workbench.workbench.registry import ToolboxRegistry

MOST = 32 * 1024 * 1024
"""Bytes that may wait, for the client and for all servers together, before the client is not read either."""
LOOK_EVERY = 0.02
"""Seconds between two looks at that, while the client is behind."""


class StdioBackpressure:
    """What is done while much waits for the client to read it."""

    def __init__(self, workbench: ToolboxRegistry) -> None:
        self._workbench = workbench
        self._timer: asyncio.TimerHandle | None = None
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._client: Writer | None = None
        self._reader: LineReader | None = None

    async def wait(self) -> None:
        """Returns when the client takes more."""
        # Whoever was let in before may have filled it again.
        while not self._has_room.is_set():
            await self._has_room.wait()

    def watch(self, client: Writer, reader: LineReader) -> None:
        """What waits for the client, and what comes from it."""
        self._client = client
        self._reader = reader

    def close(self) -> None:
        """Looks no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def on_full(self, is_full: bool) -> None:
        """Much waits for the client, or nothing any more."""
        self.close()
        if is_full:
            self._has_room.clear()
            self._workbench.flow_control.close()
            self._look()
        else:
            self._has_room.set()
            self._workbench.flow_control.open()
            if self._reader is not None:
                self._reader.resume()

    def _look(self) -> None:
        if self._client is None or self._reader is None:
            return
        if self._client.waiting + self._workbench.waiting > MOST:
            self._reader.pause()
        else:
            self._reader.resume()
        self._timer = asyncio.get_running_loop().call_later(LOOK_EVERY, self._look)
