"""HTTP connections with limits: on their number, on what comes before a request, and on how long all of it
takes, in both directions.

uvicorn speaks HTTP; this adds what it leaves to whatever stands in front of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import httptools
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
"""Bytes of the request line and the headers together, give or take what is read at once."""
HEADERS_TIME: Final = 20.0
"""Seconds in which they have to come, from the beginning of the connection or of the request."""
LINGER: Final = 2.0
"""Seconds for the rest of a request that was answered without it, if the connection ends with it."""
SLOW: Final = 30.0
LEAST_TAKEN: Final = 32 * 1024
"""Seconds after which a client is cut off that has taken less than so many bytes of what waits for it."""
OF_UPGRADE: Final = (b"upgrade", b"connection", b"http2-settings")

NO_HTTP: Final = "Invalid HTTP request received."
TOO_LONG: Final = f"The headers are longer than {HEADERS_LIMIT:,} bytes."


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
        """Runs while something should be said, and has not been."""
        self._slow: asyncio.TimerHandle | None = None
        self._served: RequestResponseCycle | None = None
        """The request that is being answered; others may have come behind it."""
        self._in_body = False
        """Whether what comes next belongs to a request whose headers are there."""
        self._is_ending = False
        """Whether nothing is said any more, nor listened to."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Somebody has come, and should have something to say."""
        super().connection_made(transport)
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._stop_clock()
        if (served := self._served) is not None and not served.response_complete:
            served.disconnected = True
            served.message_event.set()
        self.resume_writing()
        super().connection_lost(exc)
        self.cycle = self._served = None  # type: ignore[assignment] # which know of us

    def data_received(self, data: bytes) -> None:
        """Takes what comes."""
        if self._is_ending:
            return
        self._unset_keepalive_if_required()
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self.logger.warning(NO_HTTP)
            self.send_400_response(NO_HTTP)
            return
        if self._deadline is not None and not self._in_body:
            # Not all of the headers are there, and one may be without end.
            self._header_bytes += len(data)
            if self._header_bytes > HEADERS_LIMIT:
                self.logger.warning(TOO_LONG)
                self.send_400_response(TOO_LONG)
        else:
            self._look_at_unasked()

    def _look_at_unasked(self) -> None:
        """Blank lines, or the rest of a request that was answered without it: not for ever."""
        is_idle = self.timeout_keep_alive_task is not None
        is_answered = self._served is not None and self._served.response_complete
        if is_answered and not is_idle and self._deadline is None:
            self._start_clock()

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._stay_with_http(data[upgrade.args[0] :])

    def _stay_with_http(self, rest: bytes) -> None:
        """Goes on as if another protocol had not been offered: the parser takes what follows for that one."""
        method = self.parser.get_method()
        if method == b"CONNECT":
            raise httptools.HttpParserError("we are no proxy")
        lines = [b"%b %b HTTP/%b" % (method, self.url, self.parser.get_http_version().encode())]
        lines += [b"%b: %b" % (name, value) for name, value in self.headers if name not in OF_UPGRADE]
        self.parser = httptools.HttpRequestParser(self)
        self._feed(b"\r\n".join([*lines, b"", rest]))

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._unset_keepalive_if_required()
        self._header_bytes = 0
        if self._deadline is None:
            self._start_clock()

    def on_headers_complete(self) -> None:
        """All that comes before its body is there."""
        if not self.parser.should_upgrade():
            self._stop_clock()
            self._in_body = True
            super().on_headers_complete()
            # So that whoever serves it is told of it at once, and sets limits only to a body that is late.
            self.cycle.message_event.set()

    def on_message_complete(self) -> None:
        """All of it is there."""
        if not self.parser.should_upgrade():
            super().on_message_complete()
            self._in_body = False
            if self.cycle.response_complete:
                # It was answered without its end, so nothing else will begin to wait for another.
                self._stop_clock()
                self._keep()

    def on_response_complete(self) -> None:
        """All of the answer is on its way."""
        if not self._is_ending:
            super().on_response_complete()

    def _keep(self) -> None:
        """Waits for another request."""
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def _end(self) -> None:
        """Ends it with the answer to a request. If that has not come whole, what still comes is read for a
        while: a connection that is closed with something unread is reset, which takes back the answer.
        """
        if self._served is None or not self._served.more_body:
            self.transport.close()
            return
        self._is_ending = True
        self.transport.write_eof()
        self.flow.resume_reading()
        self._deadline = self.loop.call_later(LINGER, self._cut_off)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._served = cycle
        if cycle.scope["method"] != "HEAD":  # whose response ends with the head
            way_out = WayOut(self.transport, self._end)
            cycle.transport = way_out  # type: ignore[assignment] # all that it asks of one
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

    def _watch_slow(self) -> None:
        waiting = self.transport.get_write_buffer_size()
        self._slow = self.loop.call_later(SLOW, self._look_at_slow, waiting)

    def _look_at_slow(self, before: int) -> None:
        if before - self.transport.get_write_buffer_size() >= LEAST_TAKEN:
            self._watch_slow()
        else:
            self._cut_off()

    def _cut_off(self) -> None:
        self._deadline = None
        if self.transport is not None:
            self.transport.abort()

    def _start_clock(self) -> None:
        self._deadline = self.loop.call_later(HEADERS_TIME, self._cut_off)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
