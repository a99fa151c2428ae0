"""The Streamable HTTP transport: each message is a POST, each response is JSON or an event stream.

A modern request is independent. A legacy one belongs to a session, in which the server may also send
messages on a stream of its own, and may close a stream that the client then resumes.
"""

from __future__ import annotations

import asyncio
import logging
from itertools import count
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.downstream.remote.events import EventParser
from mcp_workbench.downstream.remote.headers import VERSION, modern_headers
from mcp_workbench.downstream.remote.http_flow import ACCEPT, ACCEPT_EVENTS, EVENTS, drain, id_of, is_request
from mcp_workbench.downstream.remote.outcomes import URL_HINT
from mcp_workbench.errors import (
    BadAnswer,
    BadStatus,
    BrokenOff,
    NotTaken,
    RemoteError,
    Unreachable,
    WireError,
)
from mcp_workbench.protocol.names import HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_workbench.downstream.remote.client import HttpResponse
    from mcp_workbench.downstream.remote.headers import HeaderParams, Headers
    from mcp_workbench.downstream.remote.http_flow import HttpFlow
    from mcp_workbench.downstream.remote.outcomes import HttpRefusal
    from mcp_workbench.wire.lines import Line
    from mcp_workbench.wire.message import Message

MAX_REPEATS: Final = 3
"""How often a request is sent again because the server asks for that with a 429."""
MAX_RETRY_AFTER_SECONDS: Final = 5.0
"""Maximum `Retry-After` of a 429 after which a request is sent again."""
MIN_RESUME_SECONDS: Final = 0.1
"""Minimum number of seconds before a stream is resumed, whatever the server says."""
RESUME_SECONDS: Final = 1.0
"""Seconds before a stream is resumed, if the server does not say."""
MAX_RESUME_FAILURES: Final = 3
"""How often in a row a stream fails to resume before its request fails."""
MIN_RELISTEN_SECONDS, MAX_RELISTEN_SECONDS = 1.0, 60.0
"""Seconds until the server's own stream is opened again: at first, and at most."""
SESSION_ID: Final = b"Mcp-Session-Id"
MODERN_ERRORS: Final = (HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION)

log = logging.getLogger(__name__)


class NotStreamable(Exception):
    """The server refuses `initialize` over Streamable HTTP. It may support HTTP+SSE only."""

    def __init__(self, error: WireError) -> None:
        self.error = error
        super().__init__(str(error))


class _Agreed(msgspec.Struct, frozen=True):
    version: str = msgspec.field(default="", name="protocolVersion")


class _Handshake(msgspec.Struct):
    result: _Agreed = _Agreed()


class StreamableHttp:
    """The conversation with one server over Streamable HTTP."""

    def __init__(
        self, flow: HttpFlow, header_params: Mapping[str, HeaderParams], on_session_over: Callable[[], None]
    ) -> None:
        self._flow = flow
        self._session = flow.connection.session
        self._log = logging.LoggerAdapter(log, {"server": self._session.label})
        self._header_params = header_params
        self._on_session_over = on_session_over
        self._session_id = b""
        self._is_over = False
        """Whether the server no longer knows the session."""
        self._version = b""
        """The protocol version that was agreed with a legacy server."""

    async def send(self, message: Message, body: bytes) -> None:
        """Send a message, and deliver everything on its response. Raises WireError or NotStreamable."""
        for repeats in count():
            headers = self._headers(message)
            async with self._flow.post([ACCEPT, *headers], body) as response:
                if 200 <= response.status < 300:
                    await self._deliver(message, response)
                    return
                has_session = any(name == SESSION_ID for name, _ in headers)
                refusal = await self._flow.refusal(message, response, has_session=has_session)
            wait = refusal.retry_after if refusal.status == 429 else None
            if wait is None or wait > MAX_RETRY_AFTER_SECONDS or repeats == MAX_REPEATS:
                raise self._error_for(message, refusal)
            if not self._flow.has_time(message, wait):
                raise self._error_for(message, refusal)
            await asyncio.sleep(wait)

    def _error_for(self, message: Message, refusal: HttpRefusal) -> Exception:
        error = refusal.error()
        if refusal.ends_session:
            self._end_session()
        elif isinstance(error, RemoteError):
            if error.code == HEADER_MISMATCH and message.method == "tools/call":
                # The header parameters of the tool may have changed.
                self._flow.connection.expect_changes()
                return NotTaken(str(error))
            if message.method == "initialize" and error.code in MODERN_ERRORS:
                return error
        if message.method == "initialize" and refusal.status in (400, 404, 405):
            return NotStreamable(error)
        return error

    def _end_session(self) -> None:
        self._is_over = True
        self._on_session_over()

    def _headers(self, message: Message) -> Headers:
        method = message.method
        if method == "server/discover" or (self._session.is_modern and method is not None):
            return modern_headers(method, message.params, self._header_params)
        return [] if method == "initialize" else self._session_headers()

    def _session_headers(self) -> Headers:
        headers = [(VERSION, self._version)] if self._version else []
        return [*headers, (SESSION_ID, self._session_id)] if self._session_id else headers

    async def _deliver(self, message: Message, response: HttpResponse) -> None:
        """Deliver the response to a message. Raises WireError."""
        if message.method == "initialize":
            given = response.headers.get("mcp-session-id", "")
            self._session_id = given.encode() if given.isascii() and given.isprintable() else b""
            # Without a session an answer has no address, and without events there can be no question.
            self._session.can_push = bool(self._session_id) and response.content_type == EVENTS
        if not is_request(message):
            await drain(response)
            return
        kind = response.content_type
        if kind == EVENTS:
            await self._deliver_events(message, response)
            return
        line = await self._flow.read(response)
        if not line:
            raise BadAnswer(
                f"it accepted the request and sent no response (HTTP {response.status}, and no body)"
            )
        if "json" not in kind:
            what = f"it answered with {kind or 'an unknown content type'}, which is not MCP"
            raise BadStatus(response.status, what, URL_HINT)
        self._hand_over(message, line)
        if self._flow.is_awaited(message):
            raise BadAnswer("its answer could not be read, or belongs to another request")

    def _hand_over(self, message: Message, line: Line) -> None:
        if message.method == "initialize" and not self._version:
            try:
                self._version = msgspec.json.decode(line, type=_Handshake).result.version.encode()
            except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
                self._version = b""
        self._flow.receive(line, id_of(message))

    async def _deliver_events(self, message: Message, response: HttpResponse) -> None:
        """Deliver the events on the stream of a request, until it has its response. Raises WireError."""
        parser = EventParser(self._flow.limit)
        try:
            if await self._is_answered_by(message, response, parser):
                return
        except BrokenOff as broken:
            reason = str(broken)
        else:
            reason = "the stream of the answer ended before the answer came"
        if not parser.last_id or self._session.is_modern:
            raise BrokenOff(reason)
        await self._resume(message, parser, reason)

    async def _is_answered_by(self, message: Message, response: HttpResponse, parser: EventParser) -> bool:
        while (events := await self._flow.events(response, parser)) is not None:
            for event in events:
                if event.name == "message" and event.data:
                    self._hand_over(message, event.data)
            if not self._flow.is_awaited(message):
                await drain(response)
                return True
        return False

    async def _resume(self, message: Message, parser: EventParser, reason: str) -> None:
        """Resume a stream that the server has closed, after the last event with an id. Raises BrokenOff."""
        failures = 0
        while failures < MAX_RESUME_FAILURES:
            await asyncio.sleep(
                RESUME_SECONDS if parser.retry is None else max(parser.retry, MIN_RESUME_SECONDS)
            )
            parser = self._following(parser)
            try:
                headers = self._listening_headers(parser.last_id)
                async with self._flow.client.stream("GET", headers) as response:
                    if response.status != 200 or response.content_type != EVENTS:
                        reason = f"{reason}, and it cannot be resumed (HTTP {response.status})"
                        break
                    if await self._is_answered_by(message, response, parser):
                        return
                    failures = 0
            except (BrokenOff, Unreachable) as error:
                failures += 1
                reason = str(error)
        raise BrokenOff(reason)

    def _following(self, parser: EventParser) -> EventParser:
        following = EventParser(self._flow.limit)
        following.last_id, following.retry = parser.last_id, parser.retry
        return following

    def _listening_headers(self, last_id: str) -> Headers:
        at = [(b"Last-Event-ID", last_id.encode())] if last_id else []
        return [ACCEPT_EVENTS, *self._session_headers(), *at]

    async def listen(self) -> None:
        """Deliver what a legacy server sends on its own stream, for as long as the session lasts."""
        parser = EventParser(self._flow.limit)
        loop = asyncio.get_running_loop()
        delay, was_open = MIN_RELISTEN_SECONDS, False
        while self._session_id and not self._is_over:
            began = loop.time()
            try:
                async with self._flow.client.stream(
                    "GET", self._listening_headers(parser.last_id)
                ) as response:
                    if response.status == 404 and was_open:
                        self._end_session()
                        return
                    if response.status < 500 and (response.status != 200 or response.content_type != EVENTS):
                        return  # the server has no stream of its own
                    if response.status == 200:
                        if was_open and not parser.last_id:
                            self._session.suspect_changes()
                        was_open = True
                        parser = self._following(parser)
                        await self._deliver_stream(response, parser)
            except WireError as error:
                self._log.debug("its stream broke off: %s", error)
            if loop.time() - began > 2 * delay:
                delay = MIN_RELISTEN_SECONDS
            # Not sooner than the server asks for; later, if it keeps closing new streams.
            await asyncio.sleep(
                delay
                if parser.retry is None
                else max(parser.retry, delay - MIN_RELISTEN_SECONDS, MIN_RESUME_SECONDS)
            )
            delay = min(delay * 2, MAX_RELISTEN_SECONDS)

    async def _deliver_stream(self, response: HttpResponse, parser: EventParser) -> None:
        while (events := await self._flow.events(response, parser)) is not None:
            for event in events:
                if event.name == "message" and event.data:
                    self._flow.receive(event.data)

    async def end(self) -> None:
        """End the session on the server, if there is one. Raises WireError."""
        if self._session_id and not self._is_over:
            async with self._flow.client.stream("DELETE", self._session_headers()):
                pass
