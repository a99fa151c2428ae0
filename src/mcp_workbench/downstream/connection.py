"""A live conversation with a server, and the list of tools that came out of it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from mcp_workbench.downstream.session import Session
from mcp_workbench.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Callable

    import msgspec

    Tools = tuple[msgspec.Raw, ...]

log = logging.getLogger(__name__)


class Connection:
    """What a server's owner keeps alive and its callers use."""

    def __init__(
        self, label: str, write: Callable[[bytes], None], mask: Callable[[str], str], timeout: float
    ) -> None:
        self._label = label
        self._mask = mask
        self._timeout = timeout
        self._changed = asyncio.Event()
        self._fresh = asyncio.Event()
        self._fresh.set()
        self._closed = False
        self.session = Session(label, write, self._on_tools_changed)
        self.listed: Tools = ()

    async def tools(self) -> Tools:
        """The list, after any change that the server has announced."""
        await self._fresh.wait()
        return self.listed

    async def keep_fresh(self) -> None:
        """Lists anew when the server says that its tools have changed, until it is gone."""
        while not self._closed:
            await self._changed.wait()
            self._changed.clear()
            if self._fresh.is_set():
                continue
            try:
                self.listed = await self.session.list_tools(timeout=self._timeout)
            except WireError as error:
                reason = self._mask(str(error))
                log.warning("[%s] its changed tools could not be listed: %s", self._label, reason)
            if not self._changed.is_set():
                self._fresh.set()

    def close(self, reason: str) -> None:
        """Fails what is in flight; nobody waits any longer."""
        self._closed = True
        self.session.peer.close(reason)
        self._fresh.set()
        self._changed.set()

    def _on_tools_changed(self) -> None:
        self._fresh.clear()
        self._changed.set()
