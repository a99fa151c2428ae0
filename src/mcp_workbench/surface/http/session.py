"""A legacy client over HTTP, between its handshake and its end.

Owns which HTTP response each message to it goes to: what belongs to a request of its goes to the response to
that request, and all else to the stream that it opens for that. Of both it can have again what it missed.
"""

from __future__ import annotations

import asyncio
from itertools import accumulate, count
from typing import TYPE_CHECKING, Final

from mcp_workbench.protocol.names import INVALID_REQUEST, LEGACY_VERSIONS
from mcp_workbench.surface.client_connection import ClientConnection
from mcp_workbench.surface.http.exchange import Rejected
from mcp_workbench.surface.http.stream import MOST_BYTES_KEPT, ResponseStream
from mcp_workbench.wire.message import answered_id, encode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from mcp_workbench.surface.client_session import ClientSession
    from mcp_workbench.surface.http.backlog import PrincipalBacklog
    from mcp_workbench.surface.http.exchange import HttpExchange
    from mcp_workbench.surface.http.limits import PrincipalRequests
    from mcp_workbench.surface.metatools import PlainUse
    from mcp_workbench.surface.output import Write
    from mcp_workbench.surface.requests import Backpressure
    from mcp_workbench.wire.lines import Line
    from mcp_workbench.wire.message import Id, Outgoing

SOON: Final = 2.0
"""Seconds after which an answer is not waited for any longer, and comes as an event: the client can come back
for that."""
MOST_STREAMS: Final = 20
"""Streams that have ended and can still be come back to."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""That such streams may have together, but for the latest."""
COME_BACK: Final = 300.0
"""Seconds in which that can be."""
MOST_DIGITS: Final = 18
"""Of the number of an event."""
GONE: Final = "Bad Request: what came after the event that Last-Event-ID names is not here, or not any more"
FIRST_TO_POLL: Final = LEGACY_VERSIONS[0]
"""Clients of earlier versions take an event without data for a broken message."""


class HttpSession:
    """One such client, and the ways to it."""

    def __init__(
        self,
        session_id: str,
        client_session: ClientSession,
        backpressure: Backpressure,
        account: PrincipalBacklog,
        in_flight: PrincipalRequests,
    ) -> None:
        self.id = session_id
        self._in_flight = in_flight
        self.client_session = client_session
        self._account = account
        self._is_closed = False
        self.used_at = asyncio.get_running_loop().time()
        self._numbers = count(1)
        self._open: dict[bytes, ResponseStream] = {}
        """Where the requests in flight are to be answered, by their ids."""
        self._at_large = ResponseStream(account, "0")
        """What belongs to no request."""
        self._streams: dict[str, tuple[ResponseStream, float]] = {}
        """What can be come back to, by name, and since when it is left alone."""
        self._followed = 0
        self.client_connection = ClientConnection(client_session, self, backpressure)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is going on."""
        return not (self._open or self._followed)

    def write(self, line: Outgoing) -> None:
        """Takes an answer, or what belongs to no request."""
        request_id = answered_id(line)
        if request_id is None:
            self._at_large.write(line)
        elif (stream := self._open.pop(request_id, None)) is not None:
            self._in_flight.remove(1)
            stream.answer(request_id, line)
            if stream.follower is None:
                # It waits for a client that is away, perhaps as one of many.
                self.forget_old(asyncio.get_running_loop().time())

    def about(self, request_id: Id) -> Write:
        """Takes what belongs to a request in flight."""
        return self._open.get(encode(request_id), self._at_large).write

    def drop(self, request_id: Id) -> None:
        """A request gets no answer."""
        key = encode(request_id)
        if (stream := self._open.pop(key, None)) is not None:
            self._in_flight.remove(1)
            stream.settle(key)

    async def take(
        self, exchange: HttpExchange, line: Line, request_ids: Sequence[Id], plain: PlainUse | None = None
    ) -> None:
        """Takes what the client sends, with these requests in it, or this plain call. Raises Rejected."""
        self.used_at = self.client_session.view.used_at = asyncio.get_running_loop().time()
        if not request_ids:
            self.client_connection.receive(line)
            await exchange.answer(202)
            return
        stream = self._open_stream(request_ids)
        self.client_connection.take(line, plain)
        primes = (self.client_connection.version or "") >= FIRST_TO_POLL
        await self._attend(
            exchange.answer_from(stream, patience=SOON, is_modern=False, primes=primes), stream
        )

    async def greet(self, exchange: HttpExchange, line: Line, request_id: Id) -> bool:
        """Takes the handshake. Whether it has come about."""
        stream = self._open_stream([request_id])
        self.client_connection.receive(line)
        is_greeted = self.client_connection.version is not None
        headers = [(b"mcp-session-id", self.id.encode())] if is_greeted else []
        response = exchange.answer_from(stream, *headers, patience=SOON, is_modern=False)
        await self._attend(response, stream)
        return is_greeted

    def _open_stream(self, request_ids: Sequence[Id]) -> ResponseStream:
        keys = [encode(request_id) for request_id in request_ids]
        for request_id, key in zip(request_ids, keys, strict=True):
            if key in self._open:
                taken = f"Invalid Request: id {request_id!r} is in use by a request in flight"
                raise Rejected(400, INVALID_REQUEST, taken)
        self._in_flight.add(len(set(keys)), request_ids[0])
        stream = ResponseStream(self._account, str(next(self._numbers)), keys)
        self._open.update(dict.fromkeys(keys, stream))
        self._streams[stream.name] = stream, self.used_at
        return stream

    async def listen(self, exchange: HttpExchange, last_event: str | None) -> None:
        """The client wants to be told things, or what it has missed. Raises Rejected."""
        stream = self._at_large if last_event is None else self._come_back(last_event)
        await self._attend(exchange.follow(stream), stream)

    def _come_back(self, last_event: str) -> ResponseStream:
        name, _, number = last_event.rpartition("-")
        stream = self._at_large if name == self._at_large.name else self._streams.get(name, (None,))[0]
        if stream is None or not (number.isascii() and number.isdecimal() and len(number) <= MOST_DIGITS):
            # On another stream it would wait for ever for what it has missed.
            raise Rejected(400, INVALID_REQUEST, GONE)
        if stream.has_lost(int(number)):
            raise Rejected(400, INVALID_REQUEST, GONE)
        stream.rewind(int(number))
        return stream

    async def _attend(self, response: Awaitable[None], stream: ResponseStream) -> None:
        self._followed += 1
        try:
            await response
        finally:
            self._followed -= 1
            self.used_at = self.client_session.view.used_at = asyncio.get_running_loop().time()
            self._keep(stream)

    def _keep(self, stream: ResponseStream) -> None:
        """Keep what the client may come back for: a stream that it knows of, and may not have read whole."""
        if stream.follower is not None:
            return  # the client has come back to it already
        self._streams.pop(stream.name, None)
        if self._is_closed:
            stream.close()
        elif stream is self._at_large:
            return  # it goes on for as long as the session
        elif not stream.has_begun:
            stream.close()
        else:
            self._streams[stream.name] = stream, self.used_at
            self.forget_old(self.used_at)

    def forget_old(self, now: float) -> None:
        """Nobody has come back to some of what was kept."""
        over = [
            name
            for name, (stream, left_at) in self._streams.items()
            if stream.is_over and (now - left_at > COME_BACK or stream.bytes_kept > MOST_BYTES_KEPT)
        ]
        ended = [name for name, (stream, _) in self._streams.items() if stream.is_over]
        sizes = accumulate(self._streams[name][0].held_bytes for name in reversed(ended))
        kept = max(1, sum(size <= MOST_BYTES for size in sizes))
        for name in {*over, *ended[: -min(kept, MOST_STREAMS)]}:
            stream, _ = self._streams.pop(name)
            if stream.follower is None:
                stream.close()

    def release(self) -> None:
        """Lets those go who wait for what may never come. They can come back for it."""
        self._at_large.leave()

    def close(self) -> None:
        """End the session. Whoever still reads a stream gets what is on it, and nothing else is kept."""
        self._is_closed = True
        self.client_connection.close()
        # It knows of us, and both would stay until the garbage collector finds them.
        del self.client_connection
        streams = {id(it): it for it in [*self._open.values(), self._at_large]}
        for stream in streams.values():
            stream.end()
        self._in_flight.remove(len(self._open))
        streams |= {id(it): it for it, _ in self._streams.values()}
        self._open.clear()
        self._streams.clear()
        for stream in streams.values():
            if stream.follower is None:
                stream.close()
        self.client_session.view.close()
