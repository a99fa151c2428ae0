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
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.errors import CallError, TooManyRequests
from mcp_workbench.protocol.names import INTERNAL_ERROR
from mcp_workbench.surface.relay import results
from mcp_workbench.surface.relay.relayed import ToolCall
from mcp_workbench.surface.requests import Refusal
from mcp_workbench.wire.message import error_line, notification_line, result_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from mcp_workbench.errors import RemoteError
    from mcp_workbench.protocol.caller import Caller
    from mcp_workbench.surface.callers import Callers
    from mcp_workbench.surface.metatools import PlainUse, ToolId
    from mcp_workbench.surface.output import ClientOutput
    from mcp_workbench.surface.questions.bridge import Bridge
    from mcp_workbench.surface.questions.parking import ParkedCall
    from mcp_workbench.surface.relay.relayed import RelayedRequest
    from mcp_workbench.surface.requests import Meta
    from mcp_workbench.wire.message import Body, Id, Outgoing
    from mcp_workbench.workbench.client_view import ClientView
    from mcp_workbench.workbench.emitted_uris import EmittedUris
    from mcp_workbench.workbench.kept.client_results import ClientResults

    Parts = tuple[Body, ...]

MOST_IN_FLIGHT = 50_000
"""Requests of one client that are kept at once, whatever they wait for."""

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
        self._unheard: set[asyncio.Task[None]] = set()
        """Work for requests whose client has yet to come back."""
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
            use = ToolCall(caller, self, request_id, toolbox_server, tool.tool, arguments.arguments, meta)
            self._in_flight[request_id] = use
            use.send(connection)
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
        extra: tuple[bytes, ...],
    ) -> None:
        """Calls a tool. Raises CallError."""
        toolbox_server = self._view.toolbox_server(tool.toolbox, tool.server)
        request = ToolCall(caller, self, request_id, toolbox_server, tool.tool, arguments, meta, extra)
        if (client_results := self._view.client_results) is not None and refer(arguments):
            self._in_flight[request_id] = asyncio.create_task(self._fill_in(request, client_results))
        else:
            self.start(request)

    def start(self, request: RelayedRequest) -> None:
        """Makes a request, at once if it can be; else when its server is ready."""
        if connection := request.toolbox_server.ready(request.tool, request.caller.is_modern, self.principal):
            self._in_flight[request.request_id] = request
            request.send(connection)
        else:
            self._in_flight[request.request_id] = asyncio.create_task(self._start_later(request))

    def start_again(self, request: RelayedRequest) -> None:
        """Makes a request once more, of the server that is configured by now: nobody would end another."""
        try:
            request.toolbox_server = self._view.toolbox_server(*request.toolbox_server.origin)
        except CallError as error:
            request.refuse(error)
        else:
            self.start(request)

    def start_after(self, request_id: Id, prepare: Callable[[], Awaitable[None]]) -> None:
        """Run `prepare`, which starts a request under this id or raises Refusal."""
        self._in_flight[request_id] = asyncio.create_task(self._start_after(request_id, prepare))

    def work(self, request_id: Id, make: Callable[[], Awaitable[Parts]], caller: Caller) -> None:
        """Answers with a result of ours that takes its time."""
        self._in_flight[request_id] = asyncio.create_task(self._work(request_id, make, caller))

    def finish_after(self, request: RelayedRequest, work: Callable[[], Awaitable[None]]) -> None:
        """Lets work be done before a request is answered, which the client can cancel meanwhile."""
        task = asyncio.create_task(self._finish_after(request, work))
        if request.request_id in self._in_flight:
            self._in_flight[request.request_id] = task
        else:
            self._unheard.add(task)
            task.add_done_callback(self._unheard.discard)

    def resume(self, request: RelayedRequest, request_id: Id, caller: Caller, meta: Meta) -> None:
        """Goes on with a request that was parked, as the answer to this one."""
        request.calls = self
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
        self._write(error_line(request_id, INTERNAL_ERROR, OUR_FAULT))
        self._forget(request_id)

    def report(self, request_id: Id, progress: bytes) -> None:
        """Passes on the parameters of a progress notification about a request."""
        self.outlet.about(request_id)(notification_line("notifications/progress", progress))

    def _forget(self, request_id: Id) -> None:
        self._in_flight.pop(request_id, None)
        if self._quiet is not None and not self._in_flight:
            self._quiet.set()

    async def _start_later(self, request: RelayedRequest) -> None:
        try:
            connection = await request.toolbox_server.connect(
                request.tool, len(request.arguments), self.principal, modern=request.caller.is_modern
            )
            self._in_flight[request.request_id] = request
            request.send(connection)
        except CallError as error:
            request.refuse(error)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fail(request.request_id)

    async def _start_after(self, request_id: Id, prepare: Callable[[], Awaitable[None]]) -> None:
        try:
            await prepare()
        except Refusal as refusal:
            self._fail_with_refusal(request_id, refusal)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fail(request_id)

    async def _fill_in(self, request: ToolCall, client_results: ClientResults) -> None:
        """Makes a call whose arguments refer to what is kept."""
        from mcp_workbench.surface.kept.arguments import fill_in  # noqa: PLC0415 - few calls do

        try:
            filled = await fill_in(request.arguments, client_results)
            request.given, request.arguments = request.arguments, filled
            self.start(request)
        except CallError as error:
            request.refuse(error)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fail(request.request_id)

    async def _finish_after(self, request: RelayedRequest, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception:  # noqa: BLE001 - the client must get an answer
            request.calls.fail(request.request_id)

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
