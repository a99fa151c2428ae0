"""A client's requests, from their arrival to their answers.

This is the hot path: where the server is up and has the tool, as nearly always, a call is a callback when it
comes and a callback when it is answered, without a task between them. What a step of it costs is mostly that
its code and data are no longer in the caches, so the steps are few rather than small.
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
from mcp_workbench.protocol.names import INTERNAL_ERROR
from mcp_workbench.surface.relay import results
from mcp_workbench.surface.relay.relayed import MAX_KEPT_BYTES, MAX_KEPT_CALLS, RelayedRequest, ToolCall
from mcp_workbench.surface.requests import Refusal
from mcp_workbench.wire.message import error_line, notification_line, result_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from mcp_workbench.errors import RemoteError
    from mcp_workbench.protocol.caller import Caller
    from mcp_workbench.surface.callers import Callers
    from mcp_workbench.surface.metatools import PlainUse, ToolId
    from mcp_workbench.surface.output import ClientOutput
    from mcp_workbench.surface.questions.bridge import Bridge, Retry
    from mcp_workbench.surface.questions.parking import ParkedCall
    from mcp_workbench.surface.requests import Meta
    from mcp_workbench.wire.message import Body, Id, Outgoing
    from mcp_workbench.workbench.client_view import ClientView
    from mcp_workbench.workbench.emitted_uris import EmittedUris
    from mcp_workbench.workbench.kept.client_results import ClientResults

    Parts = tuple[Body, ...]

MOST_IN_FLIGHT = 50_000
"""Requests of one client that are kept at once, whatever they wait for."""

CLIENT_LEFT = "the client has left"
OUR_FAULT = "Internal error: this is a fault of the workbench; its log has the details"

log = logging.getLogger(__name__)


def refer(arguments: Body) -> bool:
    """Whether there may be references to kept results in them."""
    return re.search(rb'"\$result"', arguments) is not None


class Calls:
    """The calls of one client that are in flight."""

    def __init__(
        self,
        view: ClientView,
        outlet: ClientOutput,
        callers: Callers,
        bridge: Bridge,
        taken: Collection[Id],
    ) -> None:
        self._view = view
        self.principal = view.principal.name
        """The name of the principal that the client belongs to."""
        self.outlet = outlet
        self._write = outlet.write
        self._callers = callers
        self._taken = taken
        """Ids that are in use by something else."""
        self._in_flight: dict[Id, RelayedRequest | asyncio.Task[None]] = {}
        self.in_flight: Collection[Id] = self._in_flight
        """The ids of these, to be counted."""
        self._finishing: set[asyncio.Task[None]] = set()
        """Work on results that has to be done before they are passed on."""
        self._quiet: asyncio.Event | None = None
        """Set when no call is in flight, once somebody waits for that."""
        self.bridge = bridge
        """Takes what servers ask in the middle of calls to the client."""
        self.parked: dict[Id, ParkedCall] = {}
        """Calls that have been answered with a question, by what they are called until they go on."""

    @property
    def client_results(self) -> ClientResults | None:
        """What is kept for the client, if anything is."""
        return self._view.client_results

    @property
    def emitted(self) -> EmittedUris:
        """Which server has sent the client which resource URIs."""
        return self._view.emitted

    def client_name(self, meta: Meta) -> str:
        """The name that the client gives itself, in the metadata of a request or in its handshake."""
        return self._callers.client_name(meta)

    def __contains__(self, request_id: Id | None) -> bool:
        return request_id in self._in_flight

    def require_room(self) -> None:
        """Raises TooManyRequests if the client has too many in flight to take one more."""
        if len(self._in_flight) >= MOST_IN_FLIGHT:
            raise TooManyRequests(len(self._in_flight))

    def relay(self, plain: PlainUse) -> bool:
        """Passes a call on that has nothing about it to be looked into, if that can be done at once; most
        can. If not, nothing has happened.
        """
        request_id, params = plain.id, plain.params
        meta = params.meta
        arguments = params.arguments
        tool = arguments.tool
        if request_id in self._in_flight or request_id in self._taken:
            return False
        try:
            caller = self._callers.of(meta) if meta else self._callers.legacy
            if caller is None or (self._view.client_results is not None and refer(arguments.arguments)):
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
                or len(self._in_flight) >= MAX_KEPT_CALLS,
            )
            self._in_flight[request_id] = call
            call.send(connection)
        except Refusal:
            return False
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fail(request_id)
        return True

    def use(
        self,
        request_id: Id,
        tool: ToolId,
        arguments: Body,
        meta: Meta,
        *,
        caller: Caller,
        retry: Retry,
    ) -> None:
        """Call a tool. Raises CallError."""
        toolbox_server = self._view.toolbox_server(tool.toolbox, tool.server)
        call = ToolCall(
            *(caller, self._view, toolbox_server, tool.tool, arguments, meta, self, request_id),
            may_forget_arguments=len(arguments) > MAX_KEPT_BYTES or len(self._in_flight) >= MAX_KEPT_CALLS,
            extra=retry.extra,
            parent=retry.parent,
        )
        if (client_results := self._view.client_results) is not None and refer(arguments):
            call.preparation = partial(_fill_in, call, client_results)
        self.begin(call)

    def begin(self, call: RelayedRequest) -> None:
        """Begin a call whose target is known, under the id of the client's request."""
        self._in_flight[call.request_id] = call
        call.begin()

    def replace(self, call: RelayedRequest) -> None:
        """Let another object stand for a call that is made again."""
        self._in_flight[call.request_id] = call

    def start_after(self, request_id: Id, prepare: Callable[[], Awaitable[None]]) -> None:
        """Run `prepare`, which starts a request under this id or raises Refusal."""
        self._in_flight[request_id] = asyncio.create_task(self._start_after(request_id, prepare))

    def work(self, request_id: Id, make: Callable[[], Awaitable[Parts]], caller: Caller) -> None:
        """Answers with a result of ours that takes its time."""
        self._in_flight[request_id] = asyncio.create_task(self._work(request_id, make, caller))

    def finish_after(self, call: RelayedRequest, work: Callable[[], Awaitable[None]]) -> None:
        """Do some work before a call is answered. The client can cancel it meanwhile."""
        call.task = task = asyncio.create_task(self._finish_after(call, work))
        # The call may be parked, and then only the task itself refers to it.
        self._finishing.add(task)
        task.add_done_callback(self._finishing.discard)

    def resume(self, request: RelayedRequest, request_id: Id, caller: Caller, meta: Meta) -> None:
        """Goes on with a request that was parked, as the answer to this one."""
        request.calls = self
        request.view = self._view
        request.request_id = request_id
        request.caller = caller
        request.meta = meta
        request.progress = None
        self._in_flight[request_id] = request

    def cancel(self, request_id: Id) -> bool:
        """Drops a call, which gets no answer. Whether there was one."""
        if (call := self._in_flight.get(request_id)) is not None:
            self._forget(request_id)
            call.cancel()
            self.outlet.drop(request_id)
            return True
        asked = [parked for parked in self.parked.values() if parked.asked_by == request_id]
        for latest in asked[-1:]:
            latest.end("no longer needed")
        return bool(asked)

    async def drain(self, seconds: float) -> None:
        """Lets the calls in flight finish, within limits."""
        if self._in_flight:
            self._quiet = asyncio.Event()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._quiet.wait()

    def close(self) -> None:
        """Drops the calls that are still in flight."""
        calls = list(self._in_flight.values())
        self._in_flight.clear()
        for call in calls:
            if isinstance(call, RelayedRequest):
                call.cancel(CLIENT_LEFT, "client_gone")
            else:
                call.cancel()
        if self._quiet is not None:
            self._quiet.set()

    def answer(self, request_id: Id, *result: Body) -> None:
        """Ends a request; one that the client has cancelled gets no answer."""
        if self._in_flight.pop(request_id, None) is None:
            self._keep(request_id, lambda later_id: result_line(later_id, *result))
            return
        self._write(result_line(request_id, *result))
        if self._quiet is not None and not self._in_flight:
            self._quiet.set()

    def finish(self, request_id: Id, make_line: Callable[[Id], Outgoing]) -> None:
        """Ends a request with a line that was kept for it, or with an error."""
        if self._in_flight.pop(request_id, None) is None:
            self._keep(request_id, make_line)
            return
        self._write(make_line(request_id))
        if self._quiet is not None and not self._in_flight:
            self._quiet.set()

    def _keep(self, request_id: Id, make_line: Callable[[Id], Outgoing]) -> None:
        """Keeps what ends a call whose client has yet to come back."""
        if (parked := self.parked.get(request_id)) is not None:
            parked.answer = make_line

    def refuse(self, request_id: Id, error: CallError, caller: Caller, advice: str = "") -> None:
        """Ends a call with a result that says why it failed."""
        self.answer(request_id, *results.own(results.error_result(error, advice), caller))

    def fail_with(self, request_id: Id, error: RemoteError) -> None:
        """Ends a request with the error that its server gave."""
        data = msgspec.UNSET if error.data is None else msgspec.Raw(error.data)
        self.finish(request_id, lambda any_id: error_line(any_id, error.code, error.message, data))

    def _fail_with_refusal(self, request_id: Id, refusal: Refusal) -> None:
        line = error_line(request_id, refusal.code, refusal.message, refusal.data)
        self.finish(request_id, lambda _: line)

    def fail(self, request_id: Id) -> None:
        """Ends a request where the workbench itself has failed, with the exception that is being handled."""
        log.exception("request %r failed inside the workbench", request_id)  # noqa: LOG004 - of the caller's
        if isinstance(call := self._in_flight.get(request_id), RelayedRequest):
            call.end_with_fault()
        self._write(error_line(request_id, INTERNAL_ERROR, OUR_FAULT))
        self._forget(request_id)

    def report(self, request_id: Id, progress: bytes) -> None:
        """Passes on the parameters of a progress notification about a request."""
        self.outlet.about(request_id)(notification_line("notifications/progress", progress))

    def _forget(self, request_id: Id) -> None:
        self._in_flight.pop(request_id, None)
        if self._quiet is not None and not self._in_flight:
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

    async def _work(self, request_id: Id, make: Callable[[], Awaitable[Parts]], caller: Caller) -> None:
        try:
            try:
                self.answer(request_id, *results.own(await make(), caller))
            except CallError as error:
                self.refuse(request_id, error, caller)
            except Refusal as refusal:
                self._fail_with_refusal(request_id, refusal)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fail(request_id)


async def _fill_in(call: ToolCall, client_results: ClientResults) -> None:
    """Replace the references in a call's arguments by the results that they stand for. Raises CallError."""
    from mcp_workbench.surface.kept.arguments import fill_in  # noqa: PLC0415 - few calls do

    filled = await fill_in(call.arguments, client_results)
    call.given, call.arguments = call.arguments, filled
