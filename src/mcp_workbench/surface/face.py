"""The server that a client sees: both eras on one connection, chosen request by request.

Owns the client's requests from arrival to answer. What a meta-tool does is the workbench's; how lines
travel is the wire's.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import CallError
from mcp_workbench.protocol import (
    BATCHING_VERSION,
    IMPLEMENTATION,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LEGACY_VERSIONS,
    META_SUBSCRIPTION,
    META_VERSION,
    METHOD_NOT_FOUND,
    MODERN_VERSIONS,
    PARSE_ERROR,
)
from mcp_workbench.surface import metatools, render, results
from mcp_workbench.surface.calls import Use
from mcp_workbench.surface.instructions import instructions
from mcp_workbench.surface.requests import Refusal, is_modern, read_params
from mcp_workbench.wire.message import encode, error_line, result_line, starts_with
from mcp_workbench.wire.peer import Peer

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.downstream.session import Stamps
    from mcp_workbench.surface.metatools import ToolId
    from mcp_workbench.surface.requests import Meta, Params
    from mcp_workbench.wire.message import Body, Id, Outgoing, Undecodable
    from mcp_workbench.workbench.workbench import Workbench

CAPABILITIES: Final = b'{"tools":{}}'

NEITHER_ERA: Final = (
    f"Invalid params: send `initialize` first (protocol versions up to {LEGACY_VERSIONS[0]}), or carry "
    f"_meta['{META_VERSION}'] in every request (from {MODERN_VERSIONS[0]} on)"
)

OUR_FAULT: Final = "Internal error: this is a fault of the workbench; its log has the details"

log = logging.getLogger(__name__)


class _Cancelled(msgspec.Struct):
    request_id: int | str = msgspec.field(name="requestId")
    reason: str = ""


class Face:
    """One client's view of the workbench."""

    def __init__(self, workbench: Workbench, write: Callable[[Outgoing], None]) -> None:
        toolboxes = list(workbench.toolboxes.values())
        self._workbench = workbench
        self._instructions = encode(instructions(toolboxes))
        self._tools = metatools.definitions(toolboxes)
        self._has_handshake = False
        self._calls: dict[Id, Use | asyncio.Task[None]] = {}
        self._quiet: asyncio.Event | None = None
        """Set when no call is in flight, once somebody waits for that."""
        self._subscriptions: list[Id] = []
        self.peer = Peer(write, self)

    async def drain(self, seconds: float) -> None:
        """Lets the calls in flight finish, within limits."""
        if self._calls:
            self._quiet = asyncio.Event()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._quiet.wait()

    async def close(self) -> None:
        """Drops the calls that are still in flight, and ends the subscriptions in good order."""
        for request_id in self._subscriptions:
            ended = b'{"_meta":{%b}}' % _subscription(request_id)
            self.peer.send(result_line(request_id, *results.modern(ended)))
        self._subscriptions.clear()
        calls = list(self._calls.values())
        self._calls.clear()
        for call in calls:
            call.cancel()

    def on_request(self, request_id: Id, method: str, params: msgspec.Raw) -> None:
        """Answers at once what needs no waiting."""
        try:
            self._handle(request_id, method, params)
        except Refusal as refusal:
            self.peer.send(error_line(request_id, refusal.code, refusal.message, refusal.data))
        except Exception:
            log.exception("request %r failed inside the workbench", request_id)
            self.answer_fault(request_id)

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        """Cancels what the client no longer wants; nothing else needs doing."""
        if method != "notifications/cancelled":
            return
        try:
            cancelled = msgspec.json.decode(params, type=_Cancelled)
        except (msgspec.DecodeError, RecursionError):
            return
        if cancelled.request_id in self._subscriptions:
            self._subscriptions.remove(cancelled.request_id)
        if call := self._calls.get(cancelled.request_id):
            log.debug("request %r was cancelled by the client: %s", cancelled.request_id, cancelled.reason)
            self._forget(cancelled.request_id)
            call.cancel()

    def on_garbage(self, problem: Undecodable) -> None:
        """Says what was wrong with a line, under its id if it has one that can be read."""
        if problem.is_json:
            # An error under an id in use would be taken for the answer to what it is in use by.
            request_id = problem.request_id
            if request_id in self._calls or request_id in self._subscriptions:
                request_id = None
            self.peer.send(error_line(request_id, INVALID_REQUEST, f"Invalid Request: {problem}"))
        else:
            self.peer.send(error_line(None, PARSE_ERROR, f"Parse error: {problem}"))

    def answer(self, request_id: Id, result: Body, stamps: Stamps | None, *, modern: bool) -> None:
        """Ends a call with a server's result, whose stamps may have been read already."""
        self._finish(request_id, results.modern(result, stamps) if modern else (result,))

    def refuse(self, request_id: Id, error: CallError, *, modern: bool) -> None:
        """Ends a call with a result that says why it failed."""
        self._finish(request_id, results.own(render.error_result(error), modern=modern))

    def answer_fault(self, request_id: Id) -> None:
        """Ends a request where the workbench itself has failed."""
        self.peer.send(error_line(request_id, INTERNAL_ERROR, OUR_FAULT))
        self._forget(request_id)

    def report(self, progress: bytes) -> None:
        """Passes on the parameters of a progress notification."""
        self.peer.notify("notifications/progress", progress)

    def _handle(self, request_id: Id, method: str, raw: msgspec.Raw) -> None:
        if request_id in self._calls or request_id in self._subscriptions:
            raise Refusal(
                INVALID_REQUEST, f"Invalid Request: id {request_id!r} is in use by a request in flight"
            )
        if method == "tools/call" and (use := metatools.read_plain_use(raw)):
            modern = bool(use.meta or not self._has_handshake) and self._is_modern(use.meta, method)
            self._use(request_id, use.arguments.tool, use.arguments.arguments, use.meta, modern=modern)
            return
        params = read_params(raw)
        if method == "initialize":
            self.peer.send(result_line(request_id, self._initialize(params)))
            return
        modern = self._is_modern(params.meta, method)
        if method == "tools/call":
            self._call(request_id, params, modern=modern)
        elif method == "subscriptions/listen" and modern:
            self._subscribe(request_id)
        else:
            self._send_own(request_id, (self._answer(method, params, modern=modern),), modern=modern)

    def _is_modern(self, meta: Meta, method: str) -> bool:
        modern = is_modern(meta)
        if not (modern or self._has_handshake or method == "ping"):
            raise Refusal(INVALID_PARAMS, NEITHER_ERA)
        return modern

    def _finish(self, request_id: Id, result: tuple[Body, ...]) -> None:
        """Ends a call; one that the client has cancelled gets no answer."""
        if self._calls.pop(request_id, None) is None:
            return
        self.peer.send(result_line(request_id, *result))
        if self._quiet is not None and not self._calls:
            self._quiet.set()

    def _forget(self, request_id: Id) -> None:
        self._calls.pop(request_id, None)
        if self._quiet is not None and not self._calls:
            self._quiet.set()

    def _send_own(self, request_id: Id, result: tuple[bytes, ...], *, modern: bool) -> None:
        self.peer.send(result_line(request_id, *results.own(result, modern=modern)))

    def _initialize(self, params: Params) -> bytes:
        if params.version is None:
            raise Refusal(INVALID_PARAMS, "Invalid params: initialize needs a `protocolVersion`")
        version = params.version if params.version in LEGACY_VERSIONS else LEGACY_VERSIONS[0]
        self._has_handshake = True
        self.peer.takes_batches = version == BATCHING_VERSION
        return b'{"protocolVersion":"%b","capabilities":%b,"serverInfo":%b,"instructions":%b}' % (
            version.encode(),
            CAPABILITIES,
            IMPLEMENTATION,
            self._instructions,
        )

    def _answer(self, method: str, params: Params, *, modern: bool) -> bytes:
        if method == "ping":
            return b"{}"
        if method == "tools/list":
            if params.cursor is not None:
                raise Refusal(INVALID_PARAMS, "Invalid params: unknown cursor; the list has one page")
            caching = b"," + results.CACHEABLE if modern else b""
            return b'{"tools":%b%b}' % (self._tools, caching)
        if method == "server/discover" and modern:
            return b'{"supportedVersions":%b,"capabilities":%b,"instructions":%b,%b}' % (
                encode(MODERN_VERSIONS),
                CAPABILITIES,
                self._instructions,
                results.CACHEABLE,
            )
        raise Refusal(METHOD_NOT_FOUND, f"Method not found: {method}")

    def _subscribe(self, request_id: Id) -> None:
        """Opens a stream of notifications. Our two tools never change, so it promises none."""
        self._subscriptions.append(request_id)
        acknowledged = b'{"_meta":{%b},"notifications":{}}' % _subscription(request_id)
        self.peer.notify("notifications/subscriptions/acknowledged", acknowledged)

    def _call(self, request_id: Id, params: Params, *, modern: bool) -> None:
        """Takes a call of either tool, in whatever form."""
        if params.arguments and not starts_with(params.arguments, b"{"):
            raise Refusal(INVALID_PARAMS, "Invalid params: `arguments` must be an object")
        if params.name == metatools.OPEN_TOOLBOX:
            self._calls[request_id] = asyncio.create_task(self._open(request_id, params, modern=modern))
        elif params.name == metatools.USE_TOOL:
            try:
                tool, arguments = metatools.read_use(params.arguments)
            except CallError as error:
                self._send_own(request_id, render.error_result(error), modern=modern)
            else:
                self._use(request_id, tool, arguments, params.meta, modern=modern)
        else:
            known = f"this server has {metatools.OPEN_TOOLBOX} and {metatools.USE_TOOL}"
            raise Refusal(INVALID_PARAMS, f"Unknown tool: {params.name} ({known})")

    def _use(self, request_id: Id, tool: ToolId, arguments: Body, meta: Meta, *, modern: bool) -> None:
        try:
            shelf = self._workbench.shelf(tool.toolbox, tool.server)
        except CallError as error:
            self._send_own(request_id, render.error_result(error), modern=modern)
        else:
            self._calls[request_id] = use = Use(self, request_id, shelf, tool.tool, meta, modern=modern)
            use.start(arguments)

    async def _open(self, request_id: Id, params: Params, *, modern: bool) -> None:
        try:
            try:
                toolbox = metatools.read_open(params.arguments, list(self._workbench.toolboxes))
                result = render.opening_result(await self._workbench.open(toolbox))
            except CallError as error:
                result = render.error_result(error)
            self._finish(request_id, results.own(result, modern=modern))
        except Exception:
            log.exception("request %r failed inside the workbench", request_id)
            self.answer_fault(request_id)


def _subscription(request_id: Id) -> bytes:
    return b'"%b":%b' % (META_SUBSCRIPTION.encode(), encode(request_id))
