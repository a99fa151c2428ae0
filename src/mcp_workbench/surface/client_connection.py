"""The MCP server that a client connects to. Each request may use a legacy or the modern protocol version.

Reads the client's messages and dispatches them. `workbench` does the work of the meta-tools, and `wire`
transports the lines.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from mcp_workbench.errors import CallError, ToolsNotFound
from mcp_workbench.protocol.binding import bind
from mcp_workbench.protocol.caller import NOBODY
from mcp_workbench.protocol.names import (
    BATCHING_VERSION,
    IMPLEMENTATION,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LEGACY_VERSIONS,
    META_VERSION,
    METHOD_NOT_FOUND,
    MODERN_VERSIONS,
    PARSE_ERROR,
    TOOLS_CALL,
)
from mcp_workbench.surface import metatools, use_request
from mcp_workbench.surface.announcements import Announcements
from mcp_workbench.surface.callers import read_level
from mcp_workbench.surface.questions.asking import Asker
from mcp_workbench.surface.questions.bridge import NO_RETRY, Bridge
from mcp_workbench.surface.relay import stamping
from mcp_workbench.surface.relay.in_flight import RequestsInFlight
from mcp_workbench.surface.relay.relayed import ToolCall
from mcp_workbench.surface.requests import Refusal, StateRefused, read_filter, read_params
from mcp_workbench.surface.resources.subscriptions import Subscriptions
from mcp_workbench.wire.message import encode, error_line, members_of, result_line, starts_with
from mcp_workbench.wire.peer import Peer

if TYPE_CHECKING:
    from mcp_workbench.errors import Undecodable
    from mcp_workbench.protocol.caller import Caller
    from mcp_workbench.surface.client_session import ClientSession
    from mcp_workbench.surface.output import ClientOutput
    from mcp_workbench.surface.questions.bridge import Retry
    from mcp_workbench.surface.requests import Backpressure, Meta, NotificationFilter, RequestParams
    from mcp_workbench.surface.resources.shared_lists import SharedLists
    from mcp_workbench.wire.lines import Line
    from mcp_workbench.wire.message import Body, Id

NO_VERSION: Final = (
    f"Invalid params: send `initialize` first (protocol versions up to {LEGACY_VERSIONS[0]}), or carry "
    f"_meta['{META_VERSION}'] in every request (from {MODERN_VERSIONS[0]} on)"
)

SHARED_METHODS: Final = frozenset(
    {
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "resources/read",
        "prompts/get",
        "completion/complete",
    }
)
"""The methods that `SharedLists` answers, for all clients."""
SUBSCRIPTION_METHODS: Final = frozenset({"resources/subscribe", "resources/unsubscribe"})
"""The methods that `SharedLists` answers for legacy clients only."""

log = logging.getLogger(__name__)


class _Cancelled(msgspec.Struct):
    request_id: int | str = msgspec.field(name="requestId")
    reason: str = ""


class ClientConnection:
    """Handles all messages of one client connection, whatever the transport."""

    def __init__(
        self, client_session: ClientSession, output: ClientOutput, backpressure: Backpressure
    ) -> None:
        self._client_session = client_session
        self._backpressure = backpressure
        view = client_session.view
        self._peer = Peer(output.write, self, is_strict=True)
        self._asker = Asker(self._peer)
        self._bridge = Bridge(self._asker, client_session.parking, client_session.seal)
        self._callers = client_session.callers
        streams: dict[Id, NotificationFilter] = {}
        self._requests = RequestsInFlight(view, output, self._callers, self._bridge, streams)
        subscriptions = Subscriptions(self._peer, view)
        self._announcements = Announcements(
            self._peer,
            self._callers,
            self._requests,
            self._asker,
            subscriptions,
            streams=streams,
            view=view,
        )
        self._subscriptions = subscriptions
        self._shared_lists: SharedLists | None = None
        self.version: str | None = None
        """The protocol version of the `initialize` handshake; None if there was none."""
        view.add_listener(self._announcements)

    def receive(self, line: Line) -> None:
        """Handle one line from the client. Never raises, whatever the line contains."""
        plain = use_request.read_plain_use(line)
        if plain is None or not self._requests.relay(plain):
            self._peer.receive(line)

    def take(self, line: Line, plain: use_request.PlainUse | None) -> None:
        """Handle a line that was read already: it is this plain call, or `plain` is None."""
        if plain is None or not self._requests.relay(plain):
            self._peer.receive(line)

    def receive_overlong(self, edges: bytes, *, is_over: bool) -> None:
        """Handle a line that exceeds the size limit, given its beginning, and its end when it is over."""
        self._peer.receive_overlong(edges, is_over=is_over)

    def tell_tools_changed(self) -> None:
        """Tell the client that the definitions of the meta-tools have changed."""
        self._announcements.tools_changed()

    async def drain(self, seconds: float) -> None:
        """Wait until no request is in flight, but no longer than this."""
        await self._requests.drain(seconds)

    def end_streams(self) -> None:
        """End the client's subscription streams with a result."""
        self._announcements.close()

    def close(self) -> None:
        """Cancel the requests that are still in flight, and end the subscriptions."""
        self._announcements.close()
        self._requests.close()
        self._client_session.view.remove_listener(self._announcements)
        # Refuse open questions outside of calls at once, so that servers do not wait for their timeout.
        self._peer.stop_listening("the client has disconnected")

    def on_request(self, request_id: Id, method: str, params: msgspec.Raw) -> None:
        """Answer a request, or start the work on its answer."""
        try:
            self._handle(request_id, method, params)
        except Refusal as refusal:
            line = error_line(request_id, refusal.code, refusal.message, refusal.data)
            self._requests.respond(request_id, line, refusal.code)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self._requests.fail(request_id)

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        """Handle a notification: a cancellation, progress on a question, or changed roots."""
        if method == "notifications/cancelled":
            self._on_cancelled(params)
        elif method == "notifications/progress":
            self._asker.on_progress(members_of(params))
        elif method == "notifications/roots/list_changed":
            for session in self._client_session.view.sessions:
                session.tell_roots_changed()

    def _on_cancelled(self, params: msgspec.Raw) -> None:
        try:
            cancelled = msgspec.json.decode(params, type=_Cancelled)
        except (msgspec.DecodeError, RecursionError):
            return
        self._announcements.close_stream(cancelled.request_id)
        if self._requests.cancel(cancelled.request_id):
            log.debug("request %r was cancelled by the client: %s", cancelled.request_id, cancelled.reason)

    def on_garbage(self, problem: Undecodable) -> None:
        """Answer an invalid line with an error, under the line's id if it has a readable one."""
        if problem.is_json:
            # The client would take an error under an id in use for the answer to the request in flight.
            request_id = problem.request_id
            if request_id in self._requests or request_id in self._announcements.streams:
                request_id = None
            line = error_line(request_id, INVALID_REQUEST, f"Invalid Request: {problem}")
            self._requests.respond(request_id, line, INVALID_REQUEST)
        else:
            self._peer.send(error_line(None, PARSE_ERROR, f"Parse error: {problem}"))

    def _handle(self, request_id: Id, method: str, raw: msgspec.Raw) -> None:
        if request_id in self._requests or request_id in self._announcements.streams:
            raise Refusal(
                INVALID_REQUEST, f"Invalid Request: id {request_id!r} is in use by a request in flight"
            )
        params = read_params(raw)
        if method == "initialize" and META_VERSION not in params.meta:
            self._requests.respond(request_id, result_line(request_id, self._initialize(params)))
            return
        if (caller := self._caller(params.meta, method)).is_modern and method == "subscriptions/listen":
            self._announcements.open_stream(request_id, read_filter(params.notifications))
        elif method == "tools/call":
            use_request.refuse_misplaced(members_of(raw))
            self._call_meta_tool(request_id, params, caller)
        elif method in SHARED_METHODS or (method in SUBSCRIPTION_METHODS and not caller.is_modern):
            self._lists().handle(request_id, method, params, raw, caller)
        else:
            self._send_own(request_id, (self._answer(method, params, caller),), caller)

    def _lists(self) -> SharedLists:
        """Return what answers requests for resources, prompts and completions. Few clients send them."""
        from mcp_workbench.surface.resources.shared_lists import SharedLists  # noqa: PLC0415 - see above

        if self._shared_lists is None:
            self._shared_lists = SharedLists(
                self._client_session.view,
                self._requests,
                self._bridge,
                self._subscriptions,
                self._backpressure,
            )
        return self._shared_lists

    def _caller(self, meta: Meta, method: str) -> Caller:
        caller = self._callers.of(meta)
        if caller is None and method != "ping":
            raise Refusal(INVALID_PARAMS, NO_VERSION)
        return caller or NOBODY

    def _send_own(self, request_id: Id, result: tuple[Body, ...], caller: Caller) -> None:
        line = result_line(request_id, *stamping.own_result(result, caller))
        self._requests.respond(request_id, line)

    def _initialize(self, params: RequestParams) -> bytes:
        if params.version is None:
            raise Refusal(INVALID_PARAMS, "Invalid params: initialize needs a `protocolVersion`")
        version = params.version if params.version in LEGACY_VERSIONS else LEGACY_VERSIONS[0]
        self._callers.greet(params.capabilities, params.client_info)
        self._peer.takes_batches = version == BATCHING_VERSION
        self.version = version
        return b'{"protocolVersion":"%b","capabilities":%b,"serverInfo":%b,"instructions":%b}' % (
            version.encode(),
            self._client_session.capabilities,
            IMPLEMENTATION,
            self._client_session.instructions,
        )

    def _answer(self, method: str, params: RequestParams, caller: Caller) -> bytes:
        if method == "ping" and not caller.is_modern:
            return b"{}"
        if method == "tools/list":
            if params.cursor is not None:
                raise Refusal(INVALID_PARAMS, "Invalid params: unknown cursor; the list has one page")
            caching = b"," + stamping.CACHEABLE if caller.is_modern else b""
            return b'{"tools":%b%b}' % (self._client_session.tools, caching)
        if method == "server/discover" and caller.is_modern:
            return b'{"supportedVersions":%b,"capabilities":%b,"instructions":%b,%b}' % (
                encode(MODERN_VERSIONS),
                self._client_session.capabilities,
                self._client_session.instructions,
                stamping.CACHEABLE,
            )
        if method == "logging/setLevel" and not caller.is_modern:
            return self._set_log_level(read_level(params.level, "`level`"))
        raise Refusal(METHOD_NOT_FOUND, f"Method not found: {method}")

    def _set_log_level(self, level: int) -> bytes:
        self._callers.set_log_level(level)
        for session in self._client_session.view.sessions:
            session.review_log_level()
        return b"{}"

    def _call_meta_tool(self, request_id: Id, params: RequestParams, caller: Caller) -> None:
        """Handle a call of a meta-tool. Raises Refusal."""
        if params.arguments and not starts_with(params.arguments, b"{"):
            raise Refusal(INVALID_PARAMS, "Invalid params: `arguments` must be an object")
        try:
            self._requests.check_limit()
            if (unusable := self._client_session.view.unusable) is not None:
                # The same error every time: it would keep the frames of every call that it has answered.
                raise unusable.with_traceback(None)
            if params.name == metatools.OPEN_TOOLBOX:
                self._requests.answer_later(
                    request_id, partial(self._open_toolbox, params.arguments, caller), caller
                )
            elif params.name == metatools.USE_TOOL:
                self._use_tool(request_id, params, caller)
            elif params.name == metatools.USE_TOOL_READ_ONLY and self._client_session.view.has_read_only_tool:
                from mcp_workbench.surface.relay.read_only_call import ReadOnlyCall  # noqa: PLC0415 - few have it

                self._use_tool(request_id, params, caller, ReadOnlyCall)
            else:
                self._refuse_unknown(params)
        except CallError as error:
            if caller.is_program:
                failure = stamping.program_error(error)
                raise Refusal(failure.code, failure.message, msgspec.Raw(failure.data or b"null")) from None
            self._send_own(request_id, stamping.error_result(error), caller)

    def _refuse_unknown(self, params: RequestParams) -> NoReturn:
        """Refuse a call of a tool that is none of ours. Raises CallError or Refusal.

        If a server has it, the model can be put right, and models rarely read a JSON-RPC error. So that is
        a result with `isError`.
        """
        from mcp_workbench.surface.tool_texts import refuse_direct_call  # noqa: PLC0415 - rare

        known = f"this server has {metatools.OPEN_TOOLBOX} and {metatools.USE_TOOL}"
        if self._client_session.view.has_read_only_tool:
            known += f", and {metatools.USE_TOOL_READ_ONLY}"
        if params.name is None:
            raise Refusal(INVALID_PARAMS, f"Invalid params: name is missing ({known})")
        refuse_direct_call(params.name, params.arguments, self._client_session.view.all_servers())
        raise Refusal(INVALID_PARAMS, f"Unknown tool: {params.name} ({known})")

    def _use_tool(
        self, request_id: Id, params: RequestParams, caller: Caller, form: type[ToolCall] = ToolCall
    ) -> None:
        view = self._client_session.view
        tool, arguments = use_request.read_use(params.arguments, view, params.name or "")
        retry: Retry | None = NO_RETRY
        if caller.is_modern and (params.state or params.responses):
            bound = bind(form.binding, tool.toolbox, tool.server, tool.tool, arguments=arguments)
            try:
                retry = self._bridge.retry(self._requests, request_id, caller, params, bound)
            except StateRefused:
                target = (tool.toolbox, tool.server, tool.tool)
                self._requests.refuse_retry(TOOLS_CALL, target, arguments, params.meta)
                raise
        if retry is not None:
            self._requests.call_tool(
                request_id, tool, arguments, params.meta, caller=caller, retry=retry, form=form
            )

    async def _open_toolbox(self, arguments: Body, caller: Caller) -> tuple[Body, ...]:
        from mcp_workbench.surface.listing import found, opened  # noqa: PLC0415 - not needed at startup
        from mcp_workbench.surface.listing.open_request import read_open  # noqa: PLC0415 - not needed at startup
        from mcp_workbench.surface.listing.rendering import rendered  # noqa: PLC0415 - not needed at startup

        view = self._client_session.view
        wanted = read_open(arguments, [summary.name for summary in view.summaries()])
        if wanted.queries:
            findings = await view.find(wanted.queries, wanted.limit, wanted.toolbox)
            budget = view.listing_budget(wanted.toolbox)
            hits = sum(map(len, findings.found))
            return await rendered(
                view, self._backpressure, hits, partial(found.findings_result, findings, wanted, budget)
            )
        if wanted.toolbox is None:
            known = view.known_tools()
            return await rendered(
                view, self._backpressure, len(known), partial(found.named_result, known, wanted)
            )
        opening = await view.open(wanted.toolbox, modern=caller.is_modern, names=wanted.names)
        # A list may have megabytes, and a client that does not read may keep asking.
        await self._backpressure.wait()
        if (written := opened.remembered(opening, wanted)) is not None:
            return written
        tools = sum(len(index) for _, index in opening.tools)
        try:
            return await rendered(
                view, self._backpressure, tools, partial(opened.opening_result, opening, wanted)
            )
        except ToolsNotFound as error:
            raise error.known_at(view.tools_outside(wanted.toolbox, wanted.names)) from None
