"""Change notifications of a modern server: it sends them only in response to a request that stays open."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_workbench.errors import BrokenOff, Unreachable
from mcp_workbench.protocol.caller import OWN_META
from mcp_workbench.wire.message import encode
from mcp_workbench.wire.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import msgspec

    from mcp_workbench.errors import WireError
    from mcp_workbench.wire.peer import Peer

METHOD = "subscriptions/listen"
URIS = "resourceSubscriptions"
MIN_REOPEN_SECONDS, MAX_REOPEN_SECONDS = 1.0, 60.0
"""Seconds until a stream that the server has ended is opened again: at first, and at most."""


class ChangeStream(Request):
    """One `subscriptions/listen` request, kept open for as long as it is needed."""

    peer: Peer
    wanted: Mapping[str, object]
    """The notifications that the stream is for."""
    on_reopened: Callable[[], None] | None = None
    """Called when the stream is open again, because changes may have been missed."""
    delay: float = MIN_REOPEN_SECONDS
    opened_at: float = 0.0
    reopening: asyncio.TimerHandle | None = None

    @property
    def uri(self) -> str | None:
        """The resource that the stream is for; None if it is for lists."""
        uris = self.wanted.get(URIS)
        return str(uris[0]) if isinstance(uris, list) else None

    def open(self) -> None:
        """Send the request for the notifications."""
        params = b'{%b,"notifications":%b}' % (OWN_META, encode(self.wanted))
        self.reopening = None
        self.opened_at = asyncio.get_running_loop().time()
        self.peer.open_stream(self, METHOD, params)

    def on_acknowledged(self, agreed: Mapping[str, msgspec.Raw]) -> None:
        """Called when the server has said which of the notifications it will send."""

    def close(self) -> None:
        """Cancel the stream, because its notifications are not needed any more."""
        if self.reopening is not None:
            self.reopening.cancel()
        elif self.peer.find(self.id) is self:
            self.peer.forget(self)
            self.peer.notify("notifications/cancelled", encode({"requestId": self.id}))

    def break_off(self) -> None:
        """Open the stream again after a while, because the server has ended it."""
        loop = asyncio.get_running_loop()
        self.peer.forget(self)
        if loop.time() - self.opened_at > MAX_REOPEN_SECONDS:
            self.delay = MIN_REOPEN_SECONDS
        self.reopening = loop.call_later(self.delay, self._reopen)
        self.delay = min(self.delay * 2, MAX_REOPEN_SECONDS)

    def _reopen(self) -> None:
        self.open()
        if self.on_reopened is not None:
            self.on_reopened()

    def succeed(self, result: msgspec.Raw) -> None:  # noqa: ARG002 - Request
        """Open the stream again after a while, because the server has ended it normally."""
        self.break_off()

    def fail(self, error: WireError) -> None:
        """Open the stream again if the connection broke. A server that refused would refuse again."""
        if isinstance(error, (BrokenOff, Unreachable)):
            self.break_off()
