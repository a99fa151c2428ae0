"""The server that a client sees: both eras on one connection, chosen request by request.

Owns the client's requests from arrival to answer. What a meta-tool does is the workbench's; how lines
travel is the wire's.
"""

from __future__ import annotations

import asyncio
import logging
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
    META_PROGRESS,
    META_SUBSCRIPTION,
    META_VERSION,
    METHOD_NOT_FOUND,
    MODERN_VERSIONS,
    PARSE_ERROR,
)
from mcp_workbench.surface import metatools, render, results
from mcp_workbench.surface.instructions import instructions
from mcp_workbench.surface.requests import Params, Refusal, is_modern, read_params
from mcp_workbench.wire.message import encode, error_line, result_line, starts_with
from mcp_workbench.wire.peer import Peer
from mcp_workbench.workbench.workbench import ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.wire.message import Id, Undecodable
    from mcp_workbench.workbench.workbench import OnProgress, Workbench

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

    def __init__(self, workbench: Workbench, write: Callable[[bytes], None]) -> None:
        toolboxes = list(workbench.toolboxes.values())
        self._workbench = workbench
        self._instructions = encode(instructions(toolboxes))
        self._tools = metatools.definitions(toolboxes)
        self._has_handshake = False
        self._calls: dict[Id, asyncio.Task[None]] = {}
        self._subscriptions: list[Id] = []
        self.peer = Peer(write, self)

    async def drain(self, seconds: float) -> None:
        """Lets the calls in flight finish, within limits."""
        if self._calls:
            await asyncio.wait(self._calls.values(), timeout=seconds)

    async def close(self) -> None:
        """Drops the calls that are still in flight, and ends the subscriptions in good order."""
        for request_id in self._subscriptions:
            result = b'{"_meta":{%b}}' % _subscription(request_id)
            self.peer.send(result_line(request_id, results.modern(result)))
        self._subscriptions.clear()
        calls = list(self._calls.values())
        for call in calls:
            call.cancel()
        if calls:
            await asyncio.wait(calls)

    def on_request(self, request_id: Id, method: str, params: msgspec.Raw) -> None:
        """Answers at once what needs no waiting; calls get a task each."""
        try:
            self._handle(request_id, method, params)
        except Refusal as refusal:
            self.peer.send(error_line(request_id, refusal.code, refusal.message, refusal.data))
        except Exception:
            log.exception("request %r failed inside the workbench", request_id)
            self.peer.send(error_line(request_id, INTERNAL_ERROR, OUR_FAULT))

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
            call.cancel()

    def on_garbage(self, problem: Undecodable) -> None:
        """Says what was wrong with a line, under its id if it has one that can be read."""
        if problem.is_json:
            # An error under an id in use would be taken for the answer to what it is in use by.
            request_id = None if self._is_in_use(problem.request_id) else problem.request_id
            self.peer.send(error_line(request_id, INVALID_REQUEST, f"Invalid Request: {problem}"))
        else:
            self.peer.send(error_line(None, PARSE_ERROR, f"Parse error: {problem}"))

    def _handle(self, request_id: Id, method: str, raw: msgspec.Raw) -> None:
        if self._is_in_use(request_id):
            raise Refusal(
                INVALID_REQUEST, f"Invalid Request: id {request_id!r} is in use by a request in flight"
            )
        params = read_params(raw)
        if method == "initialize":
            self.peer.send(result_line(request_id, self._initialize(params)))
            return
        modern = is_modern(params)
        if not (modern or self._has_handshake or method == "ping"):
            raise Refusal(INVALID_PARAMS, NEITHER_ERA)
        if method == "tools/call":
            self._start_call(request_id, params, modern=modern)
        elif method == "subscriptions/listen" and modern:
            self._subscribe(request_id)
        else:
            result = self._answer(method, params, modern=modern)
            self.peer.send(result_line(request_id, results.modern(result) if modern else result))

    def _is_in_use(self, request_id: Id | None) -> bool:
        return request_id in self._calls or request_id in self._subscriptions

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

    def _start_call(self, request_id: Id, params: Params, *, modern: bool) -> None:
        if params.arguments and not starts_with(params.arguments, b"{"):
            raise Refusal(INVALID_PARAMS, "Invalid params: `arguments` must be an object")
        if params.name not in (metatools.OPEN_TOOLBOX, metatools.USE_TOOL):
            known = f"this server has {metatools.OPEN_TOOLBOX} and {metatools.USE_TOOL}"
            raise Refusal(INVALID_PARAMS, f"Unknown tool: {params.name} ({known})")
        call = asyncio.create_task(self._call(request_id, params, modern=modern))
        self._calls[request_id] = call
        call.add_done_callback(lambda _: self._calls.pop(request_id))

    async def _call(self, request_id: Id, params: Params, *, modern: bool) -> None:
        try:
            try:
                result = await self._run(params)
            except CallError as error:
                result = render.error_result(error)
            self.peer.send(result_line(request_id, results.modern(result) if modern else result))
        except Exception:
            log.exception("request %r failed inside the workbench", request_id)
            self.peer.send(error_line(request_id, INTERNAL_ERROR, OUR_FAULT))

    async def _run(self, params: Params) -> bytes | msgspec.Raw:
        workbench = self._workbench
        if params.name == metatools.OPEN_TOOLBOX:
            toolbox = metatools.read_open(params.arguments, list(workbench.toolboxes))
            return render.opening_result(await workbench.open(toolbox))
        tool, arguments = metatools.read_use(params.arguments)
        on_progress = self._forward_progress(params.progress_token)
        return await workbench.call(tool, ToolCall(arguments, params.meta, on_progress))

    def _forward_progress(self, token: msgspec.Raw | None) -> OnProgress:
        """Progress under the caller's own token, or nowhere if the caller gave none."""

        def forward(members: dict[str, msgspec.Raw]) -> None:
            if token is not None:
                members[META_PROGRESS] = token
                fields = b",".join(b"%b:%b" % (encode(key), value) for key, value in members.items())
                self.peer.notify("notifications/progress", b"{%b}" % fields)

        return forward


def _subscription(request_id: Id) -> bytes:
    return b'"%b":%b' % (META_SUBSCRIPTION.encode(), encode(request_id))
