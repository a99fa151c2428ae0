"""HTTP connections with limits: on their number, on what comes before a request, and on how long all of it
takes, in both directions.

uvicorn speaks HTTP; this adds what it leaves to whatever stands in front of it.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mcp_workbench.serve.connection_limits import address_group
from mcp_workbench.serve.responses import ResponseWriter
from mcp_workbench.surface.http.exchange import BODY_LIMIT, CONNECTION

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from uvicorn._types import ASGI3Application
    from uvicorn.config import Config
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
    from uvicorn.server import ServerState

    from mcp_workbench.serve.connection_limits import ConnectionLimits
    from mcp_workbench.serve.refusals import Refusals

HEADERS_LIMIT: Final = 64 * 1024
"""Bytes of the request line and the headers, or of the trailers, give or take what is read at once."""
HEADERS_TIME: Final = 20.0
"""Seconds in which they have to come, from the beginning of the connection or of the request."""
CROWDED_HEADERS_SECONDS: Final = 5.0
"""The same while many connections are open."""
LINGER: Final = 2.0
"""Seconds for the rest of a request that was answered without it, if the connection ends with it."""
LINGER_BYTES: Final = 256 * 1024
"""Bytes that may still come in that time after what was no request."""
SLOW: Final = 30.0
LEAST_TAKEN: Final = 32 * 1024
"""Seconds after which a client is cut off that has taken less than so many bytes of what waits for it."""
FIRST_LOOK_SECONDS: Final = 0.02
LAST_LOOK_SECONDS: Final = 1.0
"""The first and the longest wait between two looks at a half-closed connection; each is twice the last."""
OF_UPGRADE: Final = (b"upgrade", b"connection", b"http2-settings")

NO_HTTP: Final = "Invalid HTTP request received."
TOO_LONG: Final = f"The headers are longer than {HEADERS_LIMIT:,} bytes."


class LimitedConnection(HttpToolsProtocol):
    """An HTTP connection that enforces our limits on headers, on slow senders and on slow readers."""

    def __init__(
        self,
        limits: ConnectionLimits,
        refusals: Refusals,
        *,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._refusals = refusals
        self.peer = ""
        """The address of the other side, as connections are counted by it."""
        self.descriptor = 0
        self.idle_since: float | None = None
        """When it began to wait for another request, by the loop's clock; None if it does not."""
        self.is_half_closed = False
        """Whether the client has ended its side, and may still wait for an answer."""
        self.on_half_close: Callable[[], None] | None = None
        """Called when the client ends its side. Sending something then shows whether it is still there."""
        self._is_trusted = False
        self._header_bytes = 0
        self._has_body_come = False
        """Whether some of a body was among what came last."""
        self._deadline: asyncio.TimerHandle | None = None
        """Runs while something should be said, and has not been."""
        self._slow: asyncio.TimerHandle | None = None
        self._look: asyncio.TimerHandle | None = None
        self._served: RequestResponseCycle | None = None
        """The request that is being answered; others may have come behind it."""
        self._in_body = False
        """Whether what comes next belongs to a request whose headers are there."""
        self._problem: str | None = None
        """What is wrong with what came after the requests that are still to be answered."""
        self._is_ending = False
        """Whether nothing is said any more, nor listened to."""
        self._linger_bytes = BODY_LIMIT
        """Bytes that may still come then."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """A client has connected: give it a while to send a request."""
        super().connection_made(transport)
        self.peer = address_group(self.client[0]) if self.client else ""
        self.descriptor = transport.get_extra_info("socket").fileno()
        if self._limits.add(self):
            self._start_clock()
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed: tell whoever serves a request on it, and stop all timers."""
        self._limits.remove(self)
        self._stop_clock()
        if self._look is not None:
            self._look.cancel()
        if (served := self._served) is not None and not served.response_complete:
            served.disconnected = True
            served.message_event.set()
        self.resume_writing()
        self._unset_keepalive_if_required()  # uvicorn does not after a reset, and the timer knows of us
        super().connection_lost(exc)
        self.cycle = self._served = self.scope = None  # type: ignore[assignment] # which know of us
        self.pipeline.clear()

    def data_received(self, data: bytes) -> None:
        """Parse what came, unless nothing is to be answered any more."""
        if self._is_ending:
            self._linger_bytes -= len(data)
            if self._linger_bytes < 0:
                self._cut_off()
        if self._is_ending or self._problem is not None:
            return
        self._unset_keepalive_if_required()
        self.idle_since = None
        self._has_body_come = False
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self._refuse(NO_HTTP)
            return
        if self._in_body or self._deadline is not None:
            # Not all of the headers are there, or of the trailers, and one may be without end.
            self._header_bytes = 0 if self._has_body_come else self._header_bytes + len(data)
            if self._header_bytes > HEADERS_LIMIT:
                self._refuse(TOO_LONG)
                return
        if self._in_body or self._deadline is None:
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

    def eof_received(self) -> bool:  # type: ignore[override] # uvicorn's returns nothing, which closes
        """The client sends no more. Keep the connection open if answers to what it sent are due."""
        if self._is_ending or not self._leave_unfinished():
            return False
        self.is_half_closed = True
        # A client that is gone looks the same, until something is sent to it.
        self._look = self.loop.call_later(FIRST_LOOK_SECONDS, self._look_for_reset, FIRST_LOOK_SECONDS)
        if self.on_half_close is not None:
            self.on_half_close()
        return True

    def _look_for_reset(self, waited: float) -> None:
        """Close a half-closed connection whose other side turns out to be closed too."""
        if self.transport.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._cut_off()
            return
        wait = min(2 * waited, LAST_LOOK_SECONDS)
        self._look = self.loop.call_later(wait, self._look_for_reset, wait)

    def _leave_unfinished(self) -> bool:
        """Drop a request that will not come whole. Returns whether others are still to be answered."""
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
        """Refuse what came, and all that may come after it, once the requests before it are answered."""
        self._refusals.tell("HTTP", self.peer, f"refused with status 400: {why}")
        self._stop_clock()
        self._problem = why
        self._linger_bytes = LINGER_BYTES
        if not self._leave_unfinished():
            self._answer_problem()

    def _answer_problem(self) -> None:
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
        """A request begins."""
        super().on_message_begin()
        self._unset_keepalive_if_required()
        self._header_bytes = 0
        if self._deadline is None:
            self._start_clock()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. What comes after the body is a trailer, and is not one: nobody has checked it."""
        if not self._in_body:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """All that comes before its body is there."""
        if not self.parser.should_upgrade():
            self._stop_clock()
            self._limits.note_request(self)
            super().on_headers_complete()
            self._in_body = True
            # So that whoever serves it is told of it at once, and sets limits only to a body that is late.
            self.cycle.message_event.set()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._has_body_come = True
        super().on_body(body)

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
        """Go on with the next request, or wait for one, or close where none can come."""
        if self._is_ending:
            return
        is_last = not self.pipeline
        super().on_response_complete()
        if self.transport.is_closing() or not is_last:
            return
        if self._problem is not None:
            self._answer_problem()
        elif self.is_half_closed:
            self.transport.close()
        else:
            self.idle_since = self.loop.time()

    def _keep(self) -> None:
        """Waits for another request."""
        self.idle_since = self.loop.time()
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def _end(self) -> None:
        """Ends it with the answer to a request. If that has not come whole, what still comes is read for a
        while: a connection that is closed with something unread is reset, which takes back the answer.
        """
        if self._served is None or not self._served.more_body:
            self.transport.close()
        else:
            self._linger()

    def _linger(self) -> None:
        """Close the connection after what was written, and read what still comes for a while."""
        self._is_ending = True
        self._unset_keepalive_if_required()
        if self.is_half_closed:
            self.transport.close()
            return
        self.transport.write_eof()
        self.flow.resume_reading()
        self._deadline = self.loop.call_later(LINGER, self._cut_off)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._served = cycle
        cycle.scope[CONNECTION] = self  # type: ignore[typeddict-unknown-key] # for our own application
        if cycle.scope["method"] != "HEAD":  # whose response ends with the head
            way_out = ResponseWriter(self.transport, self._end)
            cycle.transport = way_out  # type: ignore[assignment] # all that it asks of one
        super()._start_asgi_task(cycle, app)

    def trust(self) -> None:
        """Note that a request on this connection was authenticated."""
        if not self._is_trusted:
            self._is_trusted = True
            self._limits.trust(self)

    async def drain(self) -> None:
        """Wait until the client has read nearly all that was written, or the connection is closed."""
        if self.flow.write_paused:
            await self.flow.drain()

    def abort(self) -> None:
        """Close the connection at once, and drop what the client has not read."""
        self._cut_off()

    def close_for_another(self) -> None:
        """Close the connection at once, to make room for another."""
        self._cut_off()

    def pause_writing(self) -> None:
        """The client does not take what waits for it: begin to watch how fast it reads."""
        super().pause_writing()
        self._watch_slow()

    def resume_writing(self) -> None:
        """The client has read: stop the timer that would disconnect it."""
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
        self._stop_clock()
        if self.transport is not None:
            self.transport.abort()

    def _start_clock(self) -> None:
        seconds = CROWDED_HEADERS_SECONDS if self._limits.is_crowded else HEADERS_TIME
        self._deadline = self.loop.call_later(seconds, self._cut_off)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
