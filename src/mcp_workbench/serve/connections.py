"""HTTP connections with limits: on their number, on the size of headers, and on slow clients.

uvicorn parses and writes HTTP; this module adds the limits that uvicorn leaves to a reverse proxy.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mcp_workbench.serve.connection_limits import address_group
from mcp_workbench.serve.responses import ResponseWriter
from mcp_workbench.surface.http.exchange import CONNECTION, MAX_BODY_BYTES

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from uvicorn._types import ASGI3Application
    from uvicorn.config import Config
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
    from uvicorn.server import ServerState

    from mcp_workbench.serve.connection_limits import ConnectionLimits
    from mcp_workbench.serve.logs.refusal_log import RefusalLog

HEADERS_BYTES: Final = 64 * 1024
"""Limit for the request line and headers, or for the trailers, plus what one read may add."""
HEADERS_TIMEOUT_SECONDS: Final = 20.0
"""Time in which the headers have to arrive, from the start of the connection or of the request."""
CROWDED_HEADERS_TIMEOUT_SECONDS: Final = 5.0
"""Time in which the headers have to arrive while many connections are open."""
LINGER_SECONDS: Final = 2.0
"""How long we read the rest of a request that was answered early, before the connection is closed."""
LINGER_BYTES: Final = 256 * 1024
"""Bytes that we read in that time after an invalid request."""
SLOW_READER_SECONDS: Final = 30.0
"""Time in which a client has to read `SLOW_READER_BYTES` of a waiting response; else it is disconnected."""
SLOW_READER_BYTES: Final = 32 * 1024
"""Bytes that a client has to read in each `SLOW_READER_SECONDS`."""
FIRST_RESET_CHECK_SECONDS: Final = 0.02
"""Time before the first check of a half-closed connection. Each wait is twice as long as the last."""
MAX_RESET_CHECK_SECONDS: Final = 1.0
"""The longest time between two checks of a half-closed connection."""
UPGRADE_HEADERS: Final = (b"upgrade", b"connection", b"http2-settings")

INVALID_HTTP: Final = "Invalid HTTP request received."
HEADERS_TOO_LONG: Final = f"The headers are longer than {HEADERS_BYTES:,} bytes."


class LimitedConnection(HttpToolsProtocol):
    """An HTTP connection that enforces our limits on headers, on slow senders and on slow readers."""

    def __init__(
        self,
        limits: ConnectionLimits,
        refusal_log: RefusalLog,
        *,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._refusal_log = refusal_log
        self.peer = ""
        """The client's address, as `address_group` returns it."""
        self.descriptor = 0
        self.idle_since: float | None = None
        """When the connection began to wait for another request, by the loop's clock; None while it serves
        one."""
        self.is_half_closed = False
        """Whether the client has closed its sending side; it may still wait for a response."""
        self.on_half_close: Callable[[], None] | None = None
        """Called when the client closes its sending side. Sending something then shows whether it still
        reads."""
        self._is_trusted = False
        self._header_bytes = 0
        self._has_body = False
        """Whether the last data contained a part of a body."""
        self._deadline: asyncio.TimerHandle | None = None
        """Closes the connection if the client does not send a complete request in time."""
        self._reader_timer: asyncio.TimerHandle | None = None
        self._reset_check: asyncio.TimerHandle | None = None
        self._served: RequestResponseCycle | None = None
        """The request that is being answered; more requests may be queued behind it."""
        self._in_body = False
        """Whether the headers of a request have arrived, and its body is not complete."""
        self._problem: str | None = None
        """Why the data after the queued requests is invalid; None while all of it is valid."""
        self._is_ending = False
        """Whether the last response is written: what the client still sends is read and dropped."""
        self._linger_bytes = MAX_BODY_BYTES
        """Bytes that the client may still send after the last response."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """A client has connected: start the timer for its first request."""
        super().connection_made(transport)
        self.peer = address_group(self.client[0]) if self.client else ""
        self.descriptor = transport.get_extra_info("socket").fileno()
        if self._limits.add(self):
            self._start_deadline()
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed: tell the application that serves a request on it, and stop all timers."""
        self._limits.remove(self)
        self._stop_deadline()
        if self._reset_check is not None:
            self._reset_check.cancel()
        if (served := self._served) is not None and not served.response_complete:
            served.disconnected = True
            served.message_event.set()
        self.resume_writing()
        self._unset_keepalive_if_required()  # uvicorn does not after a reset, and its timer refers to us
        super().connection_lost(exc)
        self.cycle = self._served = self.scope = None  # type: ignore[assignment] # they refer to us
        self.pipeline.clear()

    def data_received(self, data: bytes) -> None:
        """Parse the data, unless the connection is ending."""
        if self._is_ending:
            self._linger_bytes -= len(data)
            if self._linger_bytes < 0:
                self._disconnect()
        if self._is_ending or self._problem is not None:
            return
        self._unset_keepalive_if_required()
        self.idle_since = None
        self._has_body = False
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self._refuse(INVALID_HTTP)
            return
        if self._in_body or self._deadline is not None:
            # Headers or trailers are incomplete, and one of them may never end.
            self._header_bytes = 0 if self._has_body else self._header_bytes + len(data)
            if self._header_bytes > HEADERS_BYTES:
                self._refuse(HEADERS_TOO_LONG)
                return
        if self._in_body or self._deadline is None:
            self._limit_unexpected_data()

    def _limit_unexpected_data(self) -> None:
        """Start the timer for blank lines, or for the rest of a request that is already answered."""
        is_idle = self.timeout_keep_alive_task is not None
        is_answered = self._served is not None and self._served.response_complete
        if is_answered and not is_idle and self._deadline is None:
            self._start_deadline()

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._stay_with_http(data[upgrade.args[0] :])

    def _stay_with_http(self, rest: bytes) -> None:
        """Ignore an offered upgrade: the parser would take what follows for the other protocol."""
        method = self.parser.get_method()
        if method == b"CONNECT":
            raise httptools.HttpParserError("CONNECT is for proxies")
        lines = [b"%b %b HTTP/%b" % (method, self.url, self.parser.get_http_version().encode())]
        lines += [b"%b: %b" % (name, value) for name, value in self.headers if name not in UPGRADE_HEADERS]
        self.parser = httptools.HttpRequestParser(self)
        self._feed(b"\r\n".join([*lines, b"", rest]))

    def eof_received(self) -> bool:  # type: ignore[override] # uvicorn's returns nothing, which closes
        """The client sends no more. Keep the connection open if responses are due."""
        if self._is_ending or not self._drop_unfinished():
            return False
        self.is_half_closed = True
        # A client that is gone looks the same until something is sent to it.
        self._reset_check = self.loop.call_later(
            FIRST_RESET_CHECK_SECONDS, self._check_for_reset, FIRST_RESET_CHECK_SECONDS
        )
        if self.on_half_close is not None:
            self.on_half_close()
        return True

    def _check_for_reset(self, waited: float) -> None:
        """Close a half-closed connection if the client has closed its reading side too."""
        if self.transport.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._disconnect()
            return
        wait = min(2 * waited, MAX_RESET_CHECK_SECONDS)
        self._reset_check = self.loop.call_later(wait, self._check_for_reset, wait)

    def _drop_unfinished(self) -> bool:
        """Drop an incomplete request. Returns whether other requests are still to be answered."""
        if self._in_body:
            self._in_body = False
            if self.pipeline and self.pipeline[0][0] is self.cycle:
                self.pipeline.popleft()
            elif not self.cycle.response_complete:
                self.cycle.disconnected = True
                self.cycle.message_event.set()
                return False
        return self._served is not None and not self._served.response_complete

    def _refuse(self, why: str) -> None:
        """Refuse invalid data and all that follows, once the requests before it are answered."""
        self._refusal_log.log("HTTP", self.peer, f"refused with status 400: {why}")
        self._stop_deadline()
        self._problem = why
        self._linger_bytes = LINGER_BYTES
        if not self._drop_unfinished():
            self._send_problem()

    def _send_problem(self) -> None:
        started = self._served is not None and self._served.response_started
        if not started or (self._served is not None and self._served.response_complete):
            content = (self._problem or "").encode("ascii")
            head = (
                b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n"
                b"content-length: %d\r\nconnection: close\r\n\r\n" % len(content)
            )
            self.transport.write(head + content)
        self._linger()

    def on_message_begin(self) -> None:
        """A request begins: start the timer for its headers."""
        super().on_message_begin()
        self._unset_keepalive_if_required()
        self._header_bytes = 0
        if self._deadline is None:
            self._start_deadline()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. Trailers, which come after the body, are ignored: no check has seen them."""
        if not self._in_body:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The headers of a request are complete: start to serve it."""
        if not self.parser.should_upgrade():
            self._stop_deadline()
            self._limits.note_request(self)
            super().on_headers_complete()
            self._in_body = True
            # Wakes the application at once, so that it sets a timeout only for a body that is late.
            self.cycle.message_event.set()

    def on_body(self, body: bytes) -> None:
        """Pass a part of the body to the application."""
        self._has_body = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is complete: wait for the next one if this one is already answered."""
        if not self.parser.should_upgrade():
            super().on_message_complete()
            self._in_body = False
            if self.cycle.response_complete:
                # It was answered before its end, so uvicorn does not start the timer for the next request.
                self._stop_deadline()
                self._wait_for_next()

    def on_response_complete(self) -> None:
        """Serve the next request, wait for one, or close if none can arrive."""
        if self._is_ending:
            return
        is_last = not self.pipeline
        super().on_response_complete()
        if self.transport.is_closing() or not is_last:
            return
        if self._problem is not None:
            self._send_problem()
        elif self.is_half_closed:
            self.transport.close()
        else:
            self.idle_since = self.loop.time()

    def _wait_for_next(self) -> None:
        """Keep the connection open for another request."""
        self.idle_since = self.loop.time()
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def _end(self) -> None:
        """Close the connection after a response, once the rest of its request is read.

        Closing a socket with unread data resets it, and the client may lose the response.
        """
        if self._served is None or not self._served.more_body:
            self.transport.close()
        else:
            self._linger()

    def _linger(self) -> None:
        """Close the sending side, and read what the client still sends for a while."""
        self._is_ending = True
        self._unset_keepalive_if_required()
        if self.is_half_closed:
            self.transport.close()
            return
        self.transport.write_eof()
        self.flow.resume_reading()
        self._deadline = self.loop.call_later(LINGER_SECONDS, self._disconnect)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._served = cycle
        cycle.scope[CONNECTION] = self  # type: ignore[typeddict-unknown-key] # for our own application
        if cycle.scope["method"] != "HEAD":  # a response to HEAD has no body
            writer = ResponseWriter(self.transport, self._end)
            cycle.transport = writer  # type: ignore[assignment] # has all that a cycle uses
        super()._start_asgi_task(cycle, app)

    def trust(self) -> None:
        """Note that a request on this connection was authenticated."""
        if not self._is_trusted:
            self._is_trusted = True
            self._limits.trust(self)

    @property
    def is_lost(self) -> bool:
        """Whether the connection is closed, so that what was written last may not have arrived."""
        return self.transport.is_closing()

    async def drain(self) -> None:
        """Wait until the client has read nearly all that was written, or the connection is closed."""
        if self.flow.write_paused:
            await self.flow.drain()

    def abort(self) -> None:
        """Close the connection at once, and drop what the client has not read."""
        self._disconnect()

    def close_for_another(self) -> None:
        """Close this connection at once, to make space for another."""
        self._disconnect()

    def pause_writing(self) -> None:
        """The client does not read fast enough: start the timer that would disconnect it."""
        super().pause_writing()
        self._start_reader_timer()

    def resume_writing(self) -> None:
        """The client has read: stop the timer that would disconnect it."""
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None
        super().resume_writing()

    def _start_reader_timer(self) -> None:
        waiting = self.transport.get_write_buffer_size()
        self._reader_timer = self.loop.call_later(SLOW_READER_SECONDS, self._check_reader, waiting)

    def _check_reader(self, before: int) -> None:
        if before - self.transport.get_write_buffer_size() >= SLOW_READER_BYTES:
            self._start_reader_timer()
        else:
            self._disconnect()

    def _disconnect(self) -> None:
        self._stop_deadline()
        if self.transport is not None:
            self.transport.abort()

    def _start_deadline(self) -> None:
        seconds = CROWDED_HEADERS_TIMEOUT_SECONDS if self._limits.is_crowded else HEADERS_TIMEOUT_SECONDS
        self._deadline = self.loop.call_later(seconds, self._disconnect)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
