"""A client's calls, from their arrival to their answers.

This is the hot path: where the server is up and has the tool, as nearly always, a call is a callback when it
comes and a callback when it is answered, without a task between them. What a step of it costs is mostly that
its code and data are no longer in the caches, so the steps are few rather than small.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from mcp_workbench.downstream.session import Call
from mcp_workbench.errors import BadAnswer, CallError, TooManyRequests
from mcp_workbench.protocol import INTERNAL_ERROR, META_PROGRESS
from mcp_workbench.surface import metatools, render, results
from mcp_workbench.surface.requests import Refusal, is_modern, progress_token
from mcp_workbench.wire.message import encode, error_line, notification_line, result_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    import msgspec

    from mcp_workbench.downstream.session import Stamps
    from mcp_workbench.errors import WireError
    from mcp_workbench.surface.metatools import ToolId
    from mcp_workbench.surface.requests import Meta
    from mcp_workbench.wire.lines import Line
    from mcp_workbench.wire.message import Body, Id, Outgoing
    from mcp_workbench.workbench.shelf import Shelf
    from mcp_workbench.workbench.workbench import Workbench

    Parts = tuple[Body, ...]

MOST_IN_FLIGHT = 50_000
"""Requests of one client that are kept at once, whatever they wait for."""

OUR_FAULT = "Internal error: this is a fault of the workbench; its log has the details"

log = logging.getLogger(__name__)


class Calls:
    """The calls of one client that are in flight."""

    def __init__(
        self, workbench: Workbench, write: Callable[[Outgoing], None], taken: Collection[Id]
    ) -> None:
        self._workbench = workbench
        self._write = write
        self._taken = taken
        """Ids that are in use by something else."""
        self._in_flight: dict[Id, Use | asyncio.Task[None]] = {}
        self._quiet: asyncio.Event | None = None
        """Set when no call is in flight, once somebody waits for that."""
        self.has_handshake = False
        """Whether requests may come without the metadata of the modern era."""

    def __contains__(self, request_id: Id | None) -> bool:
        return request_id in self._in_flight

    def require_room(self) -> None:
        """Raises TooManyRequests if the client has too many in flight to take one more."""
        if len(self._in_flight) >= MOST_IN_FLIGHT:
            raise TooManyRequests(len(self._in_flight))

    def relay(self, line: Line) -> bool:
        """Passes a line on, if it is a call with nothing about it to be looked into, and can be passed on at
        once; most are, and can. If not, nothing has happened.
        """
        if (plain := metatools.read_plain_use(line)) is None:
            return False
        request_id, params = plain.id, plain.params
        meta = params.meta
        arguments = params.arguments
        tool = arguments.tool
        if request_id in self._in_flight or request_id in self._taken:
            return False
        try:
            if not meta and self.has_handshake:
                modern = False
            elif not ((modern := is_modern(meta)) or self.has_handshake):
                return False
            shelf = self._workbench.shelves.get((tool.toolbox, tool.server))
            if shelf is None or (connection := shelf.ready(tool.tool)) is None:
                return False
            use = Use(connection.session, self, request_id, shelf, tool.tool, meta, modern)
            self._send(use, arguments.arguments, connection.timeout)
        except Refusal:
            return False
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fail(request_id)
        return True

    def use(self, request_id: Id, tool: ToolId, arguments: Body, meta: Meta, *, modern: bool) -> None:
        """Calls a tool, at once if it can be; else when its server is ready. Raises CallError."""
        shelf = self._workbench.shelf(tool.toolbox, tool.server)
        if connection := shelf.ready(tool.tool):
            use = Use(connection.session, self, request_id, shelf, tool.tool, meta, modern)
            self._send(use, arguments, connection.timeout)
        else:
            later = self._use_later(request_id, shelf, tool.tool, arguments, meta, modern=modern)
            self._in_flight[request_id] = asyncio.create_task(later)

    def work(self, request_id: Id, make: Callable[[], Awaitable[Parts]], *, modern: bool) -> None:
        """Answers with a result of ours that takes its time."""
        self._in_flight[request_id] = asyncio.create_task(self._work(request_id, make, modern=modern))

    def cancel(self, request_id: Id) -> bool:
        """Drops a call, which gets no answer. Whether there was one."""
        if (call := self._in_flight.get(request_id)) is None:
            return False
        self._forget(request_id)
        call.cancel()
        return True

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

    def answer(self, request_id: Id, *result: Body) -> None:
        """Ends a call; one that the client has cancelled gets no answer."""
        if self._in_flight.pop(request_id, None) is None:
            return
        self._write(result_line(request_id, *result))
        if self._quiet is not None and not self._in_flight:
            self._quiet.set()

    def refuse(self, request_id: Id, error: CallError, *, modern: bool) -> None:
        """Ends a call with a result that says why it failed."""
        self.answer(request_id, *results.own(render.error_result(error), modern=modern))

    def fail(self, request_id: Id) -> None:
        """Ends a request where the workbench itself has failed, with the exception that is being handled."""
        log.exception("request %r failed inside the workbench", request_id)  # noqa: LOG004 - of the caller's
        self._write(error_line(request_id, INTERNAL_ERROR, OUR_FAULT))
        self._forget(request_id)

    def report(self, progress: bytes) -> None:
        """Passes on the parameters of a progress notification."""
        self._write(notification_line("notifications/progress", progress))

    def _forget(self, request_id: Id) -> None:
        self._in_flight.pop(request_id, None)
        if self._quiet is not None and not self._in_flight:
            self._quiet.set()

    def _send(self, use: Use, arguments: Body, limit: float) -> None:
        self._in_flight[use.request_id] = use
        use.session.call_tool(use, use.tool, arguments, use.meta, limit)

    async def _use_later(
        self, request_id: Id, shelf: Shelf, tool: str, arguments: Body, meta: Meta, *, modern: bool
    ) -> None:
        try:
            connection = await shelf.connect(tool, len(arguments))
            use = Use(connection.session, self, request_id, shelf, tool, meta, modern)
            self._send(use, arguments, connection.timeout)
        except CallError as error:
            self.refuse(request_id, error, modern=modern)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fail(request_id)

    async def _work(self, request_id: Id, make: Callable[[], Awaitable[Parts]], *, modern: bool) -> None:
        try:
            try:
                self.answer(request_id, *results.own(await make(), modern=modern))
            except CallError as error:
                self.refuse(request_id, error, modern=modern)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.fail(request_id)


class Use(Call):
    """One call of a server's tool."""

    calls: Calls
    request_id: Id
    shelf: Shelf
    tool: str
    meta: Meta
    modern: bool

    def on_result(self, result: msgspec.Raw, stamps: Stamps | None) -> None:
        """Passes the result on as it came."""
        try:
            if self.modern:
                self.calls.answer(self.request_id, *results.modern(result, stamps))
            else:
                self.calls.answer(self.request_id, result)
        except BadAnswer as error:
            self.on_failure(error)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.calls.fail(self.request_id)

    def on_failure(self, error: WireError) -> None:
        """Says what went wrong."""
        try:
            self.calls.refuse(self.request_id, self.shelf.explain(self.tool, error), modern=self.modern)
        except Exception:  # noqa: BLE001 - the client must get an answer
            self.calls.fail(self.request_id)

    def on_progress(self, members: dict[str, msgspec.Raw]) -> None:
        """Passes progress on under the caller's own token, or nowhere if the caller gave none."""
        if (token := progress_token(self.meta)) is not None:
            members[META_PROGRESS] = token
            fields = b",".join(b"%b:%b" % (encode(key), value) for key, value in members.items())
            self.calls.report(b"{%b}" % fields)
