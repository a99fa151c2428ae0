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

    from mcp_workbench.wire.message import Outgoing

    Tools = tuple[msgspec.Raw, ...]

log = logging.getLogger(__name__)


EAGER_AFTER = 1.0
"""Seconds between two listings that nobody asked for: a server may announce changes without end."""


class Connection:
    """What a server's owner keeps alive and its callers use."""

    def __init__(
        self, label: str, write: Callable[[Outgoing], None], mask: Callable[[str], str], timeout: float
    ) -> None:
        self._label = label
        self._mask = mask
        self.timeout = timeout
        self._refresh: asyncio.Task[None] | None = None
        self._refreshed_at = -EAGER_AFTER
        self.session = Session(label, write, self._on_tools_changed)
        self._changed = False
        self.listed: Tools = ()
        self.is_stale = False
        """Whether the server has announced a change that the list does not show yet."""

    async def tools(self) -> Tools:
        """The list, after any change that the server has announced by now."""
        # At most two: the one under way may have been asked for before the change, the next one not.
        for _ in range(2):
            if self.is_stale:
                await asyncio.shield(self._refreshing())
        return self.listed

    def close(self, reason: str) -> None:
        """Fails what is in flight."""
        self.session.peer.close(reason)

    def _on_tools_changed(self) -> None:
        self._changed = self.is_stale = True
        is_due = asyncio.get_running_loop().time() - self._refreshed_at >= EAGER_AFTER
        if self.listed and is_due:
            self._refreshing()

    def _refreshing(self) -> asyncio.Task[None]:
        """The listing under way, which all share; a new one if there is none."""
        if self._refresh is None:
            self._changed = False
            self._refresh = asyncio.create_task(self._list_anew())
        return self._refresh

    async def _list_anew(self) -> None:
        try:
            async with asyncio.timeout(self.timeout):
                self.listed = await self.session.list_tools(timeout=self.timeout)
        except (WireError, TimeoutError) as error:
            reason = self._mask(str(error)) or f"no end within {self.timeout:g} s"
            log.warning("[%s] its changed tools could not be listed: %s", self._label, reason)
        finally:
            self._refreshed_at = asyncio.get_running_loop().time()
            self._refresh = None
            self.is_stale = self._changed
