"""The link to a remote server: each line that is written becomes an HTTP request, in a task of its own.

Owns these tasks and their end. `streamable` and `old_sse` implement the two transports.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.downstream.remote.headers import BadHeaderParam, read_header_params
from mcp_workbench.downstream.remote.http_flow import HttpFlow, id_of, is_request
from mcp_workbench.downstream.remote.loading import load
from mcp_workbench.downstream.remote.old_sse import HttpSse
from mcp_workbench.downstream.remote.outcomes import SESSION_OVER
from mcp_workbench.downstream.remote.streamable import NotStreamable, StreamableHttp
from mcp_workbench.errors import BadAnswer, StartError, Undecodable, WireError
from mcp_workbench.wire.cancellation import run_to_completion
from mcp_workbench.wire.message import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import Any, Self

    import httpx2

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.downstream.connection import Connection, Tools
    from mcp_workbench.downstream.remote.client import HttpClient
    from mcp_workbench.downstream.remote.headers import HeaderParams
    from mcp_workbench.wire.message import Id, Message, Outgoing

END_SESSION_SECONDS: Final = 1.0
"""Seconds to tell the server that its session has ended."""
CLOSING_SECONDS: Final = 0.25
"""Seconds for the requests in flight when the session has ended: they may still be answered."""
ORDER_TIMEOUT_SECONDS: Final = 5.0
"""Maximum number of seconds that requests wait for a message that has to be delivered first."""
IN_ORDER: Final = frozenset(("notifications/initialized", "logging/setLevel"))
"""Methods that have to be delivered before anything that is sent after them."""
CANCELLED: Final = "notifications/cancelled"

log = logging.getLogger(__name__)


class _Cancelled(msgspec.Struct):
    request_id: int = msgspec.field(name="requestId")


class RemoteLink:
    """A link over HTTP, from its start to its end. The context manager closes it."""

    def __init__(
        self,
        name: str,
        config: ServerConfig,
        authorize: Callable[[], httpx2.Auth | None],
        mask: Callable[[str], str],
    ) -> None:
        self._name = name
        self._config = config
        self._authorize = authorize
        self._mask = mask
        self._client: HttpClient | None = None
        self._flow: HttpFlow | None = None
        self._transport: StreamableHttp | HttpSse | None = None
        self._header_params: dict[str, HeaderParams] = {}
        """The header parameters of the tools that have some, by name."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._requests: dict[Id, asyncio.Task[None]] = {}
        self._first: asyncio.Task[None] | None = None
        """The task that sends a message that has to be delivered first."""
        self._is_given_up = False
        self._closing_timer: asyncio.TimerHandle | None = None
        self.exit_code: int | None = None
        """Always None: a remote server has no process here."""
        self.last_stderr_lines: Sequence[str] = ()
        """Always empty: a remote server has no stderr here."""
        self.closing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when nothing new should be sent, because the session has ended."""
        self.closed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done when the link can no longer be used. The result says what happened."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await run_to_completion(self._take_down())

    async def open(self, connection: Connection) -> None:
        """Prepare the HTTP client; for HTTP+SSE, also open the stream. Raises StartError."""
        try:
            client = (await load())(self._config.url or "", self._config.headers, self._authorize())
            self._client = client
            self._flow = flow = HttpFlow(client, connection, self._config)
            connection.session.may_repeat = True
            connection.screen = self._screen
            if self._config.transport == "sse":
                self._transport = await self._open_old(flow)
            else:
                self._transport = StreamableHttp(flow, self._header_params, self._on_session_over)
        except WireError as error:
            reason = self._mask(str(error))
            raise StartError(self._name, reason, hint=error.hint, cause=error.cause) from None

    async def _open_old(self, flow: HttpFlow) -> HttpSse:
        transport = HttpSse(flow, self.give_up)
        self._spawn(transport.listen())
        await transport.opened()
        return transport

    @property
    def waiting(self) -> int:
        """Number of bytes that are not sent yet."""
        return 0 if self._flow is None else self._flow.waiting

    def pause(self) -> None:
        """Stop reading responses, so that the server has to wait."""
        if self._flow is not None:
            self._flow.pause()

    def resume(self) -> None:
        """Read responses again after a pause."""
        if self._flow is not None:
            self._flow.resume()

    def write(self, line: Outgoing) -> None:
        """Send a line as an HTTP request, in a task."""
        if self.closed.done() or self._flow is None:
            return
        body = (line if isinstance(line, bytes) else b"".join(line)).rstrip(b"\n")
        try:
            message = decode(body)
        except Undecodable as problem:
            # A request nested as deeply as a client may send can be too deep with the envelope around it.
            self._fail(problem.request_id, BadAnswer(f"the request could not be decoded: {problem}"))
            return
        if message.method == CANCELLED:
            self._cancel(message, body, self._flow.connection.session.is_modern)
            return
        task = self._spawn(self._send(message, body, self._first))
        if message.method in IN_ORDER:
            self._first = task
        if is_request(message) and (request_id := id_of(message)) is not None:
            self._requests[request_id] = task
            task.add_done_callback(lambda _: self._requests.pop(request_id, None))

    def _cancel(self, message: Message, body: bytes, is_modern: bool) -> None:
        """Cancel a request. A modern one is cancelled by closing its stream, without a notification."""
        request = self._requests.get(msgspec.json.decode(message.params, type=_Cancelled).request_id)
        if is_modern:
            if request is not None:
                request.cancel()
            return
        notification = self._spawn(self._send(message, body, self._first))
        if request is not None:
            notification.add_done_callback(lambda _: request.cancel())

    async def _send(self, message: Message, body: bytes, first: asyncio.Task[None] | None) -> None:
        if first is not None and not first.done():
            await asyncio.wait([first], timeout=ORDER_TIMEOUT_SECONDS)
        try:
            await self._send_by_transport(message, body)
        except WireError as error:
            self._fail_message(message, error)
        except Exception:
            log.exception("a request over HTTP failed inside the workbench", extra={"server": self._name})
            self._fail_message(message, BadAnswer("a bug in the workbench; its log has the details"))
        if message.method == "notifications/initialized" and isinstance(self._transport, StreamableHttp):
            self._spawn(self._transport.listen())

    async def _send_by_transport(self, message: Message, body: bytes) -> None:
        if self._transport is None or self._flow is None:
            return
        try:
            await self._transport.send(message, body)
        except NotStreamable as unsuited:
            try:
                self._transport = await self._open_old(self._flow)
            except WireError:
                raise unsuited.error from None
            await self._transport.send(message, body)

    def _fail_message(self, message: Message, error: WireError) -> None:
        if is_request(message):
            self._fail(id_of(message), error)
        else:
            what = message.method or "an answer"
            log.debug("%s was not accepted: %s", what, error, extra={"server": self._name})

    def _fail(self, request_id: Id | None, error: WireError) -> None:
        if self._flow is not None:
            # Later: first it has to be known that the session is over, because the request may be sent again.
            peer = self._flow.connection.session.peer
            asyncio.get_running_loop().call_soon(peer.fail, request_id, error)

    def _on_session_over(self) -> None:
        if not self.closing.done():
            self.closing.set_result(None)
            loop = asyncio.get_running_loop()
            self._closing_timer = loop.call_later(CLOSING_SECONDS, self._close, SESSION_OVER)

    def give_up(self, reason: str) -> None:
        """Declare the link unusable, and why."""
        self._is_given_up = True
        if not self.closing.done():
            self.closing.set_result(None)
        self._close(reason)

    def _close(self, reason: str) -> None:
        if not self.closed.done():
            self.closed.set_result(reason)

    def kill(self) -> None:
        """Cancel all requests, without notification the server."""
        self._is_given_up = True
        for task in self._tasks:
            task.cancel()

    async def _take_down(self) -> None:
        if self._closing_timer is not None:
            self._closing_timer.cancel()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self._client is None:
            return
        if self._transport is not None and not self._is_given_up:
            with suppress(TimeoutError, WireError):
                async with asyncio.timeout(END_SESSION_SECONDS):
                    await self._transport.end()
        await self._client.close()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return task

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            log.error("a bug in the workbench", exc_info=fault, extra={"server": self._name})

    def _screen(self, tools: Tools) -> tuple[Tools, list[str]]:
        """Return the tools that can be called over HTTP, and why others cannot."""
        self._header_params.clear()
        if self._flow is None or not self._flow.connection.session.is_modern:
            return tools, []
        kept, notes = [], []
        for tool in tools:
            try:
                name, marks = read_header_params(tool)
            except BadHeaderParam as problem:
                notes.append(f"left out {problem}")
                continue
            kept.append(tool)
            if marks is not None:
                self._header_params.setdefault(name, marks)
        return (tuple(kept), notes) if notes else (tools, [])
