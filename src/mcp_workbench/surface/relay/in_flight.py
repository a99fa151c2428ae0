"""A client's requests in flight: calls, openings and lists, from their arrival to their answers.

This is the hot path. If the server is up and has the tool, as nearly always, a call takes one callback when
it arrives and one when it is answered, without a task between them. Most of the cost of a step is that its
code and data have left the CPU caches, so there are few steps rather than small ones.
"""

from __future__ import annotations

import asyncio
import logging
import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.errors import CallError, TooManyRequests
from mcp_workbench.protocol.names import INTERNAL_ERROR, TOOLS_CALL
from mcp_workbench.surface.relay import stamping
from mcp_workbench.surface.relay.relayed import MAX_KEPT_BYTES, MAX_KEPT_CALLS, RelayedRequest, ToolCall
from mcp_workbench.surface.requests import Refusal
from mcp_workbench.wire.message import error_line, notification_line, result_line
from mcp_workbench.workbench.door import LostCall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from mcp_workbench.errors import RemoteError
    from mcp_workbench.protocol.caller import Caller
    from mcp_workbench.surface.callers import Callers
    from mcp_workbench.surface.output import ClientOutput
    from mcp_workbench.surface.questions.bridge import Bridge, Retry
    from mcp_workbench.surface.questions.parking import ParkedCall
    from mcp_workbench.surface.requests import Meta
    from mcp_workbench.surface.use_request import PlainUse, ToolId
    from mcp_workbench.wire.message import Body, Id, Outgoing
    from mcp_workbench.workbench.client_view import ClientView
    from mcp_workbench.workbench.emitted_uris import EmittedUris
    from mcp_workbench.workbench.kept.client_results import ClientResults

    Parts = tuple[Body, ...]

MAX_IN_FLIGHT = 50_000
"""Requests of one client that may be in flight at once."""

CLIENT_LEFT = "the client has disconnected"
OUR_FAULT = "Internal error: a bug in the workbench; its log has the details"

find_reference = re.compile(rb'"\$result"').search
"""Finds what may be a reference to a kept result in the arguments of a call. Not a step of our own."""

log = logging.getLogger(__name__)


class RequestsInFlight:
    """The requests of one client that are in flight, by id. Each is answered once, or cancelled."""

    def __init__(
        self,
        view: ClientView,
        output: ClientOutput,
        callers: Callers,
        bridge: Bridge,
        taken: Collection[Id],
    ) -> None:
        self._view = view
        self.principal = view.principal.name
        """The name of the principal that the client belongs to."""
        self.output = output
        self._write = output.write
        self._respond = output.respond
        self.callers = callers
        self._taken = taken
        """Ids of the client's subscription streams, which no request may have."""
        self._requests: dict[Id, RelayedRequest | asyncio.Task[None]] = {}
        self.ids: Collection[Id] = self._requests
        """The ids of the requests in flight."""
        self._finishing: set[asyncio.Task[None]] = set()
        """Tasks that work on results before the client gets them."""
        self._quiet: asyncio.Event | None = None
        """Set when no request is in flight. Created when `drain` begins to wait for that."""
        self.bridge = bridge
        """Puts the questions of servers to the client."""
        self.parked: dict[Id, ParkedCall] = {}
        """Calls that were answered with a question, by the ids that they have until the client retries."""

    @property
    def client_results(self) -> ClientResults | None:
        """The results that are kept for the client; None if results are not kept."""
        return self._view.client_results

    @property
    def emitted(self) -> EmittedUris:
        """Which server has sent the client which resource URIs."""
        return self._view.emitted

    def __contains__(self, request_id: Id | None) -> bool:
        return request_id in self._requests

    def check_limit(self) -> None:
        """Raise TooManyRequests if the client may not have one more request in flight."""
        if len(self._requests) >= MAX_IN_FLIGHT:
            raise TooManyRequests(len(self._requests))

    def relay(self, plain: PlainUse) -> bool:
        """Send a plain tool call to its server if that is possible at once, as for most calls.

        Return False if it is not. Nothing has happened then.
        """
        request_id, params = plain.id, plain.params
        meta = params.meta
        arguments = params.arguments
        tool = arguments.tool
        if request_id in self._requests or request_id in self._taken:
            return False
        try:
            caller = self.callers.of(meta) if meta else self.callers.legacy
            if caller is None or (self._view.keeps_results and find_reference(arguments.arguments)):
                return False
            toolbox_server = self._view.toolbox_servers.get((tool.toolbox, tool.server))
            if toolbox_server is None or (
                (connection := toolbox_server.ready(tool.tool, caller.is_modern, self.principal)) is None
            ):
                return False
            call = ToolCall(
                *(caller, self._view, toolbox_server, tool.tool, arguments.arguments, meta),
                *(self, request_id),
                may_forget_arguments=len(arguments.arguments) > MAX_KEPT_BYTES
                or len(self._requests) >= MAX_KEPT_CALLS,
            )
            self._requests[request_id] = call
            call.send(connection)
        except Refusal:
            return False
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fail(request_id)
        return True

    def call_tool(
        self,
        request_id: Id,
        tool: ToolId,
        arguments: Body,
        meta: Meta,
        *,
        caller: Caller,
        retry: Retry,
        form: type[ToolCall] = ToolCall,
    ) -> None:
        """Call a tool, in one of the forms of such calls. Raises CallError."""
        try:
            toolbox_server = self._view.toolbox_server(tool.toolbox, tool.server)
        except CallError as error:
            target = (tool.toolbox, tool.server, tool.tool)
            self.turn_away(error, TOOLS_CALL, target, arguments, meta, parent=retry.parent)
            raise
        call = form(
            *(caller, self._view, toolbox_server, tool.tool, arguments, meta, self, request_id),
            may_forget_arguments=len(arguments) > MAX_KEPT_BYTES or len(self._requests) >= MAX_KEPT_CALLS,
            extra=retry.extra,
            parent=retry.parent,
            approval=retry.approval,
        )
        if find_reference(arguments) and (client_results := self._view.client_results) is not None:
            from mcp_workbench.surface.kept.arguments import sources_of  # noqa: PLC0415 - few calls need it

            call.sources = sources_of(arguments, client_results)
            call.preparation = partial(_fill_in, call, client_results)
        self.begin(call)

    def turn_away(
        self,
        error: CallError,
        method: str,
        target: tuple[str, str, str],
        arguments: Body,
        meta: Meta,
        *,
        parent: int | None = None,
    ) -> None:
        """Take note of a call that is refused because there is no such toolbox or server.

        `target` is the toolbox, the server and the tool, and `parent` the number of the call that this one
        continues. Whoever calls this answers the request.
        """
        toolbox, server, name = target
        client_name = self.callers.name_of(meta)
        call = LostCall(method, (toolbox, server), name, self.principal, client_name, arguments, parent)
        self._view.door.turn_away(call, error)

    def refuse_retry(self, method: str, target: tuple[str, str, str], arguments: Body, meta: Meta) -> None:
        """Take note of a retry that is refused because of its state. Whoever calls this answers it."""
        toolbox, server, name = target
        client_name = self.callers.name_of(meta)
        call = LostCall(method, (toolbox, server), name, self.principal, client_name, arguments)
        self._view.door.refuse_retry(call, has_server=(toolbox, server) in self._view.toolbox_servers)

    def begin(self, call: RelayedRequest) -> None:
        """Begin a call whose target is known, under the id of the client's request."""
        self._requests[call.request_id] = call
        call.begin()

    def replace(self, call: RelayedRequest) -> None:
        """Put another object in the place of a call that is sent again."""
        self._requests[call.request_id] = call

    def start_after(self, request_id: Id, prepare: Callable[[], Awaitable[None]]) -> None:
        """Run `prepare`, which starts a request under this id or raises Refusal."""
        self._requests[request_id] = asyncio.create_task(self._start_after(request_id, prepare))

    def answer_later(self, request_id: Id, make: Callable[[], Awaitable[Parts]], caller: Caller) -> None:
        """Answer with a result that the workbench makes in a task."""
        self._requests[request_id] = asyncio.create_task(self._answer_later(request_id, make, caller))

    def finish_after(self, call: RelayedRequest, work: Callable[[], Awaitable[None]]) -> None:
        """Do some work before a call is answered. The client can cancel it meanwhile."""
        call.task = task = asyncio.create_task(self._finish_after(call, work))
        # Nothing else refers to the task if the call is parked.
        self._finishing.add(task)
        task.add_done_callback(self._finishing.discard)

    def resume(self, request: RelayedRequest, request_id: Id, caller: Caller, meta: Meta) -> None:
        """Continue a parked call under the id of the request that retries it."""
        request.requests = self
        request.view = self._view
        request.request_id = request_id
        request.caller = caller
        request.meta = meta
        request.progress = None
        self._requests[request_id] = request

    def cancel(self, request_id: Id) -> bool:
        """Cancel a request, in flight or parked, which gets no answer. Return whether there was one."""
        if (call := self._requests.get(request_id)) is not None:
            self._forget(request_id)
            call.cancel()
            self.output.drop(request_id)
            return True
        waiting = [parked for parked in self.parked.values() if parked.asked_in == request_id]
        for latest in waiting[-1:]:
            latest.end("no longer needed")
        return bool(waiting)

    async def drain(self, seconds: float) -> None:
        """Wait until no request is in flight, but no longer than this."""
        if self._requests:
            self._quiet = asyncio.Event()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._quiet.wait()

    def close(self) -> None:
        """Cancel the requests that are still in flight: the client has disconnected."""
        requests = list(self._requests.values())
        self._requests.clear()
        for request in requests:
            if isinstance(request, RelayedRequest):
                request.cancel(CLIENT_LEFT, "client_gone")
            else:
                request.cancel()
        if self._quiet is not None:
            self._quiet.set()

    def answer(self, request_id: Id, *result: Body) -> None:
        """Answer a request with a result. A request that the client has cancelled gets no answer."""
        if self._requests.pop(request_id, None) is None:
            self._keep(request_id, lambda later_id: result_line(later_id, *result))
            return
        # Not by `respond`: a step less for every call.
        line = result_line(request_id, *result)
        if self._respond is None:
            self._write(line)
        else:
            self._respond(request_id, line, None)
        if self._quiet is not None and not self._requests:
            self._quiet.set()

    def respond(self, request_id: Id | None, line: Outgoing, code: int | None = None) -> None:
        """Write the response to a request that is not in flight, with the code if it is an error."""
        if self._respond is None or request_id is None:
            self._write(line)
        else:
            self._respond(request_id, line, code)

    def finish(self, request_id: Id, make_line: Callable[[Id], Outgoing], code: int | None = None) -> None:
        """Answer a request with the line that `make_line` returns for its id. `code` is that of an error."""
        if self._requests.pop(request_id, None) is None:
            self._keep(request_id, make_line, code)
            return
        self.respond(request_id, make_line(request_id), code)
        if self._quiet is not None and not self._requests:
            self._quiet.set()

    def _keep(self, request_id: Id, make_line: Callable[[Id], Outgoing], code: int | None = None) -> None:
        """Keep the answer to a parked call until its client retries."""
        if (parked := self.parked.get(request_id)) is not None:
            parked.answer = make_line, code

    def refuse(self, request_id: Id, error: CallError, caller: Caller, advice: str = "") -> None:
        """Answer a call with a result with `isError` that says why it failed; a program gets an error."""
        if caller.is_program:
            self.fail_with(request_id, stamping.program_error(error))
            return
        self.answer(request_id, *stamping.own_result(stamping.error_result(error, advice), caller))

    def fail_with(self, request_id: Id, error: RemoteError) -> None:
        """Answer a request with a JSON-RPC error."""
        data = msgspec.UNSET if error.data is None else msgspec.Raw(error.data)
        code = error.code
        self.finish(request_id, lambda any_id: error_line(any_id, code, error.message, data), code)

    def _fail_with_refusal(self, request_id: Id, refusal: Refusal) -> None:
        line = error_line(request_id, refusal.code, refusal.message, refusal.data)
        self.finish(request_id, lambda _: line, refusal.code)

    def fail(self, request_id: Id) -> None:
        """Answer a request with an internal error, and log the exception that is being handled."""
        log.exception("request %r failed inside the workbench", request_id)  # noqa: LOG004 - of the caller's
        if isinstance(call := self._requests.get(request_id), RelayedRequest):
            call.end_with_fault()
        self.respond(request_id, error_line(request_id, INTERNAL_ERROR, OUR_FAULT), INTERNAL_ERROR)
        self._forget(request_id)

    def report(self, request_id: Id, progress: bytes) -> None:
        """Send the client a progress notification about a request, with these parameters."""
        self.output.about(request_id)(notification_line("notifications/progress", progress))

    def _forget(self, request_id: Id) -> None:
        self._requests.pop(request_id, None)
        if self._quiet is not None and not self._requests:
            self._quiet.set()

    async def _start_after(self, request_id: Id, prepare: Callable[[], Awaitable[None]]) -> None:
        try:
            await prepare()
        except Refusal as refusal:
            self._fail_with_refusal(request_id, refusal)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fail(request_id)

    async def _finish_after(self, call: RelayedRequest, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception:  # noqa: BLE001 - the client must get an answer
            call.fault()
        finally:
            call.task = None

    async def _answer_later(
        self, request_id: Id, make: Callable[[], Awaitable[Parts]], caller: Caller
    ) -> None:
        try:
            try:
                self.answer(request_id, *stamping.own_result(await make(), caller))
            except CallError as error:
                self.refuse(request_id, error, caller)
            except Refusal as refusal:
                self._fail_with_refusal(request_id, refusal)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fail(request_id)


async def _fill_in(call: ToolCall, client_results: ClientResults) -> None:
    """Replace the references in a call's arguments by the results that they stand for. Raises CallError."""
    from mcp_workbench.surface.kept.arguments import fill_in  # noqa: PLC0415 - few calls need it

    filled = await fill_in(call.arguments, client_results)
    call.given, call.arguments = call.arguments, filled
