"""The server that a client sees: both eras on one connection, chosen request by request.

Owns the client's requests from arrival to answer. What a meta-tool does is the workbench's; how lines
travel is the wire's.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from mcp_workbench.errors import CallError
from mcp_workbench.protocol import (
    BATCHING_VERSION,
    IMPLEMENTATION,
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
from mcp_workbench.surface.calls import Calls
from mcp_workbench.surface.instructions import instructions
from mcp_workbench.surface.requests import Refusal, is_modern, read_filter, read_params
from mcp_workbench.wire.message import encode, error_line, result_line, starts_with
from mcp_workbench.wire.peer import Peer

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.surface.requests import Filter, Meta, Params
    from mcp_workbench.wire.lines import Line
    from mcp_workbench.wire.message import Body, Id, Outgoing, Undecodable
    from mcp_workbench.workbench.workbench import Workbench

CAPABILITIES: Final = b'{"tools":{"listChanged":true}}'
MOST_SUBSCRIPTIONS: Final = 1000
TOOLS_CHANGED: Final = "notifications/tools/list_changed"

NEITHER_ERA: Final = (
    f"Invalid params: send `initialize` first (protocol versions up to {LEGACY_VERSIONS[0]}), or carry "
    f"_meta['{META_VERSION}'] in every request (from {MODERN_VERSIONS[0]} on)"
)

log = logging.getLogger(__name__)


class _Cancelled(msgspec.Struct):
    request_id: int | str = msgspec.field(name="requestId")
    reason: str = ""


class Room(Protocol):
    """Whether the client takes what it is sent."""

    async def wait(self) -> object:
        """Returns when it does."""


class Face:
    """One client's view of the workbench."""

    def __init__(self, workbench: Workbench, write: Callable[[Outgoing], None], room: Room) -> None:
        self._workbench = workbench
        self._room = room
        self._instructions, self._tools = _introduction(workbench)
        self._subscriptions: dict[Id, Filter] = {}
        self._calls = Calls(workbench, write, self._subscriptions)
        self._peer = Peer(write, self)
        self.receive_overlong = self._peer.receive_overlong

    def receive(self, line: Line) -> None:
        """Takes one line off the wire. Never raises for what the client sent."""
        if not self._calls.relay(line):
            self._peer.receive(line)

    def refresh(self) -> None:
        """Looks at the workbench anew, and tells the client if the tools are no longer what they were."""
        before = self._tools
        self._instructions, self._tools = _introduction(self._workbench)
        if self._tools == before:
            return
        if self._calls.has_handshake:
            self._peer.notify(TOOLS_CHANGED)
        for request_id, wanted in self._subscriptions.items():
            if wanted.tools_list_changed:
                self._peer.notify(TOOLS_CHANGED, b'{"_meta":{%b}}' % _subscription(request_id))

    async def drain(self, seconds: float) -> None:
        """Lets the calls in flight finish, within limits."""
        await self._calls.drain(seconds)

    def close(self) -> None:
        """Drops the calls that are still in flight, and ends the subscriptions in good order."""
        for request_id in self._subscriptions:
            ended = b'{"_meta":{%b}}' % _subscription(request_id)
            self._peer.send(result_line(request_id, *results.modern(ended)))
        self._subscriptions.clear()
        self._calls.close()

    def on_request(self, request_id: Id, method: str, params: msgspec.Raw) -> None:
        """Answers at once what needs no waiting."""
        try:
            self._handle(request_id, method, params)
        except Refusal as refusal:
            self._peer.send(error_line(request_id, refusal.code, refusal.message, refusal.data))
        except Exception:  # noqa: BLE001 - the client must get an answer
            self._calls.fail(request_id)

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        """Cancels what the client no longer wants; nothing else needs doing."""
        if method != "notifications/cancelled":
            return
        try:
            cancelled = msgspec.json.decode(params, type=_Cancelled)
        except (msgspec.DecodeError, RecursionError):
            return
        self._subscriptions.pop(cancelled.request_id, None)
        if self._calls.cancel(cancelled.request_id):
            log.debug("request %r was cancelled by the client: %s", cancelled.request_id, cancelled.reason)

    def on_garbage(self, problem: Undecodable) -> None:
        """Says what was wrong with a line, under its id if it has one that can be read."""
        if problem.is_json:
            # An error under an id in use would be taken for the answer to what it is in use by.
            request_id = problem.request_id
            if request_id in self._calls or request_id in self._subscriptions:
                request_id = None
            self._peer.send(error_line(request_id, INVALID_REQUEST, f"Invalid Request: {problem}"))
        else:
            self._peer.send(error_line(None, PARSE_ERROR, f"Parse error: {problem}"))

    def _handle(self, request_id: Id, method: str, raw: msgspec.Raw) -> None:
        if request_id in self._calls or request_id in self._subscriptions:
            raise Refusal(
                INVALID_REQUEST, f"Invalid Request: id {request_id!r} is in use by a request in flight"
            )
        params = read_params(raw)
        if method == "initialize":
            self._peer.send(result_line(request_id, self._initialize(params)))
            return
        modern = self._is_modern(params.meta, method)
        if method == "tools/call":
            self._call(request_id, params, modern=modern)
        elif method == "subscriptions/listen" and modern:
            self._subscribe(request_id, read_filter(params.notifications))
        else:
            self._send_own(request_id, (self._answer(method, params, modern=modern),), modern=modern)

    def _is_modern(self, meta: Meta, method: str) -> bool:
        modern = is_modern(meta)
        if not (modern or self._calls.has_handshake or method == "ping"):
            raise Refusal(INVALID_PARAMS, NEITHER_ERA)
        return modern

    def _send_own(self, request_id: Id, result: tuple[Body, ...], *, modern: bool) -> None:
        self._peer.send(result_line(request_id, *results.own(result, modern=modern)))

    def _initialize(self, params: Params) -> bytes:
        if params.version is None:
            raise Refusal(INVALID_PARAMS, "Invalid params: initialize needs a `protocolVersion`")
        version = params.version if params.version in LEGACY_VERSIONS else LEGACY_VERSIONS[0]
        self._calls.has_handshake = True
        self._peer.takes_batches = version == BATCHING_VERSION
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

    def _subscribe(self, request_id: Id, wanted: Filter) -> None:
        """Opens a stream of notifications, and promises those of what is wanted that there are."""
        if len(self._subscriptions) >= MOST_SUBSCRIPTIONS:
            open_ = f"{MOST_SUBSCRIPTIONS} subscriptions are open already, and one is enough"
            raise Refusal(INVALID_REQUEST, f"Invalid Request: {open_}")
        self._subscriptions[request_id] = wanted
        promised = b'"toolsListChanged":true' if wanted.tools_list_changed else b""
        acknowledged = b'{"_meta":{%b},"notifications":{%b}}' % (_subscription(request_id), promised)
        self._peer.notify("notifications/subscriptions/acknowledged", acknowledged)

    def _call(self, request_id: Id, params: Params, *, modern: bool) -> None:
        """Takes a call of either tool, in whatever form."""
        if params.arguments and not starts_with(params.arguments, b"{"):
            raise Refusal(INVALID_PARAMS, "Invalid params: `arguments` must be an object")
        try:
            self._calls.require_room()
            if params.name == metatools.OPEN_TOOLBOX:
                self._calls.work(request_id, partial(self._open, params.arguments), modern=modern)
            elif params.name == metatools.USE_TOOL:
                tool, arguments = metatools.read_use(params.arguments)
                self._calls.use(request_id, tool, arguments, params.meta, modern=modern)
            else:
                known = f"this server has {metatools.OPEN_TOOLBOX} and {metatools.USE_TOOL}"
                raise Refusal(INVALID_PARAMS, f"Unknown tool: {params.name} ({known})")
        except CallError as error:
            self._send_own(request_id, render.error_result(error), modern=modern)

    async def _open(self, arguments: Body) -> tuple[Body, ...]:
        toolbox = metatools.read_open(arguments, list(self._workbench.toolboxes))
        opening = await self._workbench.open(toolbox)
        # It may have megabytes, and a client that does not read may ask again and again.
        await self._room.wait()
        return render.opening_result(opening)


def _introduction(workbench: Workbench) -> tuple[bytes, bytes]:
    """The instructions and the definitions of the tools, as JSON."""
    toolboxes = list(workbench.toolboxes.values())
    return encode(instructions(toolboxes)), metatools.definitions(toolboxes)


def _subscription(request_id: Id) -> bytes:
    return b'"%b":%b' % (META_SUBSCRIPTION.encode(), encode(request_id))
