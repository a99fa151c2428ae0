"""HTTP connections with limits: on their number, on what comes before a request, and on how long all of it
takes, in both directions.

uvicorn speaks HTTP; this adds what it leaves to whatever stands in front of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mcp_workbench.serve.responses import WayOut

if TYPE_CHECKING:
    import asyncio

    from uvicorn._types import ASGI3Application
    from uvicorn.config import Config
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
    from uvicorn.server import ServerState

MOST_CONNECTIONS: Final = 10_000
HEADERS_LIMIT: Final = 64 * 1024
"""Bytes of the request line and the headers together."""
HEADERS_TIME: Final = 20.0
"""Seconds in which they have to come, from the beginning of the connection or of the request."""
SLOW: Final = 30.0
"""Seconds after which a client that takes nothing of what waits for it is cut off."""


class Connection(HttpToolsProtocol):
    """One of them."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._header_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._slow: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Somebody has come, and should have something to say."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(HEADERS_TIME, self._cut_off)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._stop_clock()
        self.resume_writing()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._header_bytes = 0
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEADERS_TIME, self._cut_off)

    def on_url(self, url: bytes) -> None:
        """It says what it is for."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One more header."""
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """All that comes before its body is there."""
        self._stop_clock()
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        if cycle.scope["method"] != "HEAD":  # whose response ends with the head
            cycle.transport = WayOut(self.transport)  # type: ignore[assignment] # all that it asks of one
        super()._start_asgi_task(cycle, app)

    def pause_writing(self) -> None:
        """The client does not take what waits for it."""
        super().pause_writing()
        self._watch_slow()

    def resume_writing(self) -> None:
        """It does."""
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None
        super().resume_writing()

    def _count(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > HEADERS_LIMIT:
            # To the parser it is a request that cannot be read, which is answered and ends the connection.
            raise ValueError(f"the headers are longer than {HEADERS_LIMIT:,} bytes")

    def _watch_slow(self) -> None:
        waiting = self.transport.get_write_buffer_size()
        self._slow = self.loop.call_later(SLOW, self._look_at_slow, waiting)

    def _look_at_slow(self, before: int) -> None:
        if self.transport.get_write_buffer_size() < before:
            self._watch_slow()
        else:
            self._cut_off()

    def _cut_off(self) -> None:
        self._deadline = None
        if self.transport is not None:
            self.transport.abort()

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
