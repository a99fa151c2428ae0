"""One end of a JSON-RPC connection: sends requests, matches responses to them, and enforces timeouts.

Owns the requests in flight. Does not own the pipes: lines are sent through a callable and received through
`receive`, so that tests can connect it to anything.
"""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Protocol, cast

import msgspec

from mcp_workbench.errors import BadAnswer, ConnectionClosed, NotTaken, TooDeep, TooLong, Undecodable, size_of
from mcp_workbench.wire import message as rpc
from mcp_workbench.wire.lines import MAX_LINE_BYTES, lacks_watched
from mcp_workbench.wire.request import AwaitedRequest
from mcp_workbench.wire.salvage import find_answered_id

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from mcp_workbench.errors import WireError
    from mcp_workbench.wire.lines import Line
    from mcp_workbench.wire.message import Id, Outgoing
    from mcp_workbench.wire.request import Request

LATE_TIMER_SECONDS = 1.0
"""Seconds by which a timer may be late before the process counts as having been suspended."""

ENDED_BEFORE = "the server had ended before the call could be sent"

ID_DIGITS = 18
"""Maximum number of digits of an id that is read as a number: more than any id that is sent has."""

SKIPPED_BYTES = 4096
"""Bytes of a skipped line that its error keeps: far more than are shown, because secrets in it are masked."""


class Handler(Protocol):
    """Handles the messages that a peer receives, except responses to its own requests."""

    def on_request(self, request_id: Id, method: str, params: msgspec.Raw) -> None:
        """Handle a request, which has to be responded to."""

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        """Handle a notification of the remote end."""

    def on_garbage(self, problem: Undecodable) -> None:
        """Handle a line that is not a message, and not a broken response to a request in flight."""


class Peer:
    """Sends requests, receives messages, and matches responses to requests."""

    def __init__(
        self,
        write: Callable[[Outgoing], None],
        handler: Handler,
        line_limit: int = MAX_LINE_BYTES,
        *,
        is_strict: bool = False,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._write = write
        self._handler = handler
        self._line_limit = line_limit
        self._is_strict = is_strict
        """Whether malformed messages are always refused. If not, an awaited response may be repaired."""
        self.next_id = 1
        """The id of the next request, for callers that have to put it into the parameters."""
        self._in_flight: dict[int, Request] = {}
        self._held = 0
        """Number of requests in flight that are on hold."""
        self._streams: dict[int, Request] = {}
        """Open requests that bring notifications, by id."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_end = inf
        self._paused_at: float | None = None
        self._closed: str | None = None
        self.capacity = sys.maxsize
        """How many requests may be in flight at once. Callers of `start` have to observe it."""
        self.on_capacity: Callable[[], None] | None = None
        """Called whenever the number of requests in flight reaches the capacity, or falls below it."""
        self.is_full = False
        """Whether as many requests are in flight as the capacity allows."""
        self.on_stray: Callable[[Id], None] | None = None
        """Called with the id of a response to a request that is not in flight any more."""
        self.takes_batches = False
        """Whether the remote end may send several messages in an array."""

    @property
    def free_slots(self) -> int:
        """How many more requests may be in flight."""
        return max(self.capacity - len(self._in_flight) + self._held, 0)

    @property
    def requests(self) -> Collection[Request]:
        """The requests that wait for a response."""
        return self._in_flight.values()

    @property
    def is_busy(self) -> bool:
        """Whether any request waits for a response."""
        return bool(self._in_flight)

    def ask(self, method: str, params: bytes, *, limit: float) -> AwaitedRequest:
        """Send a request. The caller awaits its `answer`, and calls `forget` afterwards in any case."""
        request = AwaitedRequest(self._loop.create_future(), idle=limit, total=limit)
        self.start(request, rpc.request_line(self.next_id, method, params))
        return request

    def start(
        self, request: Request, line: Outgoing, write: Callable[[Outgoing], None] | None = None
    ) -> None:
        """Send a request whose line has the next id, with `write` if given, and start its timeout."""
        now = self._loop.time()
        request.id = request_id = self.next_id
        request.started = request.heard = now
        self.next_id = request_id + 1
        if self._closed is not None:
            request.fail(ConnectionClosed(self._closed))
            return
        self._in_flight[request_id] = request
        if request.tally is not None:
            request.tally.enter()
        if now + request.idle < self._timer_end:
            self._wake_at(request.end)
        if len(self._in_flight) >= self.capacity:
            self._update_is_full()
        (write or self._write)(line)

    def limit_to(self, capacity: int) -> None:
        """Set how many requests may be in flight at once."""
        self.capacity = capacity
        self._update_is_full()

    def find(self, request_id: Id | None) -> Request | None:
        """Return the request in flight or the open stream with this id, if any."""
        if isinstance(request_id, str):
            # Some servers return ids as text. All ids of this peer are numbers, so this is unambiguous.
            request_id = int(request_id) if len(request_id) <= ID_DIGITS and request_id.isdecimal() else None
        if request_id is None:
            return None
        return self._in_flight.get(request_id) or self._streams.get(request_id)

    def open_stream(self, stream: Request, method: str, params: bytes) -> None:
        """Send a request that stays open until the remote end responds, without a timeout."""
        stream.id = self.next_id
        self.next_id += 1
        if self._closed is None:
            self._streams[stream.id] = stream
            self._write(rpc.request_line(stream.id, method, params))

    def hold(self, request: Request) -> None:
        """Stop the timeout of a request while the remote end waits for an answer. It uses no capacity."""
        if request.held_at is None and request.id in self._in_flight:
            request.held_at = self._loop.time()
            self._held += 1
            if request.tally is not None:
                request.tally.leave()
            self._update_is_full()

    def release(self, request: Request) -> None:
        """Continue the timeout of a request that was on hold."""
        held_at, request.held_at = request.held_at, None
        if held_at is None or request.id not in self._in_flight:
            return
        now = self._loop.time()
        request.held_for += now - held_at
        request.started += now - held_at
        request.heard += now - held_at
        self._held -= 1
        if request.tally is not None:
            request.tally.enter()
        self._update_is_full()
        if request.end < self._timer_end:
            self._wake_at(request.end)

    def forget(self, request: Request) -> None:
        """Forget a request: a later response to it is ignored."""
        self._take_out(request.id)
        if isinstance(request, AwaitedRequest):
            request.drop()

    def pause(self) -> None:
        """Stop all timeouts, because nothing is read for now."""
        if self._paused_at is None:
            self._paused_at = self._loop.time()

    def resume(self) -> None:
        """Continue all timeouts after a pause."""
        paused_at, self._paused_at = self._paused_at, None
        if paused_at is not None:
            self._exclude_time_since(paused_at)
            self._set_timer()

    def _exclude_time_since(self, since: float) -> None:
        """Do not count the time since then, because nothing was read."""
        now = self._loop.time()
        for request in self._in_flight.values():
            if request.held_at is None:
                request.started += now - max(since, request.started)
                request.heard += now - max(since, request.heard)

    def notify(self, method: str, params: bytes = b"") -> None:
        """Send a notification, unless the connection is closed."""
        self.send(rpc.notification_line(method, params))

    def send(self, line: Outgoing) -> None:
        """Send a complete line, unless the connection is closed."""
        if self._closed is None:
            self._write(line)

    def fail(self, request_id: Id | None, error: WireError) -> None:
        """Fail a request, if it is still in flight."""
        if (request := self.find(request_id)) is not None:
            self._fail(request, error)

    def take_back(self, lines: bytes) -> None:
        """Fail the calls in undelivered lines with NotTaken: they can be sent to the next process."""
        for line in lines.split(b"\n"):
            with suppress(Undecodable):
                sent = rpc.decode(line)
                is_ours = isinstance(sent.id, int) and sent.method is not None
                request = self._in_flight.get(cast("int", sent.id)) if is_ours else None
                if request is not None and not isinstance(request, AwaitedRequest):
                    self._take_out(request.id)
                    # Later: by then the end of the connection is known everywhere.
                    self._loop.call_soon(request.fail, NotTaken(ENDED_BEFORE, sent.params))

    def close(self, reason: str) -> None:
        """Fail everything in flight with `reason`, and every later request too."""
        self._closed = reason
        if self._timer is not None:
            self._timer.cancel()
        ended = [*self._in_flight.values(), *self._streams.values()]
        self._in_flight, self._streams, self._held = {}, {}, 0
        for request in ended:
            request.fail(ConnectionClosed(reason))

    def stop_listening(self, reason: str) -> None:
        """Close, and drop the handler. Otherwise the two would keep each other in memory for a while."""
        if self._in_flight or self._streams or self._timer is not None:
            self.close(reason)
        self._closed = reason
        del self._handler

    def receive(self, line: Line) -> None:
        """Receive one line. Never raises for what the remote end sent."""
        try:
            message = rpc.decode(line)
        except Undecodable as problem:
            if problem.is_hopeless:
                problem.beginning = bytes(line[:SKIPPED_BYTES])
                self._handler.on_garbage(problem)
            elif not problem.is_blank:
                self._receive_again(line, problem)
            return
        request_id = message.id
        if message.method is None:
            if (
                message.result
                and not message.error
                and isinstance(request_id, int)
                and (request := self._in_flight.pop(request_id, None)) is not None
            ):
                # The fast path for nearly all responses.
                self._held -= request.held_at is not None
                if request.tally is not None and request.held_at is None:
                    request.tally.leave()
                request.lacks_watched = line.__class__ is memoryview and lacks_watched(line)
                request.succeed(message.result)
                if self.is_full:
                    self._update_is_full()
            else:
                self._receive_answer(line, message)
        elif message.jsonrpc != "2.0":
            self._handler.on_garbage(rpc.not_a_message('`jsonrpc` must be "2.0"', line))
        elif request_id is msgspec.UNSET:
            self._handler.on_notification(message.method, message.params)
        elif request_id is None:
            self._handler.on_garbage(rpc.not_a_message("`id` must not be null", line))
        else:
            self._handler.on_request(request_id, message.method, message.params)

    def receive_rest(self, line: Line) -> None:
        """Receive the bytes after the last newline of a stream that has ended."""
        try:
            rpc.decode(line)
        except Undecodable:
            return  # an incomplete message: the request fails when the connection is closed
        self.receive(line)

    def receive_overlong(self, edges: bytes, *, is_over: bool) -> None:
        """Receive the beginning of a line that is too long, and with `is_over` also its end."""
        if request := self._broken_answer(edges):
            self._fail(request, TooLong(self._line_limit))
        elif is_over:
            reason = f"the line is longer than {size_of(self._line_limit)}"
            self._handler.on_garbage(rpc.not_a_message(reason, edges))

    def _receive_answer(self, line: Line, message: rpc.Message) -> None:
        request = None if message.id is msgspec.UNSET else self.find(message.id)
        has_body = bool(message.result or message.error)
        if not has_body and (request is None or message.jsonrpc != "2.0"):
            self._handler.on_garbage(rpc.not_a_message("`method` is missing", line))
        elif request is None:
            # A response to no request: cancelled, timed out, or sent twice.
            if self.on_stray is not None and isinstance(message.id, (int, str)):
                self.on_stray(message.id)
        elif message.error and message.error != rpc.NULL:
            self._fail(request, rpc.decode_error(bytes(message.error)))
        elif message.result:
            self._take_out(request.id)
            request.lacks_watched = lacks_watched(line)
            request.succeed(message.result)
        else:
            self._fail(request, BadAnswer("its answer has neither a result nor an error"))

    def _receive_again(self, line: Line, problem: Undecodable) -> None:
        """Receive what can be understood of a line that is not a message: an array, or invalid UTF-8."""
        expects_answers = bool(self._in_flight) and not self._is_strict
        if (expects_answers or self.takes_batches) and (batch := rpc.decode_batch(line)):
            for part in batch:
                self.receive(part)
        elif expects_answers and (repaired := rpc.repair_text(line)):
            # Invalid UTF-8 costs a character of the response, not the response.
            self.receive(repaired)
        else:
            self._receive_garbage(line, problem)

    def _receive_garbage(self, line: Line, problem: Undecodable) -> None:
        # A broken response must still fail its request, so look for an id in it.
        if request := self._broken_answer(line):
            unread = BadAnswer(f"its answer could not be read: {problem}")
            self._fail(request, TooDeep(bytes(line)) if problem.is_deep else unread)
        else:
            problem.beginning = bytes(line[:SKIPPED_BYTES])
            self._handler.on_garbage(problem)

    def _broken_answer(self, line: Line) -> Request | None:
        """Return the request in flight that an unreadable line seems to respond to, if any."""
        if not self._in_flight or (self._is_strict and re.search(rb'"method"\s*+:', line)):
            return None
        return self.find(find_answered_id(line))

    def _fail(self, request: Request, error: WireError) -> None:
        self._take_out(request.id)
        request.fail(error)

    def _take_out(self, request_id: int) -> bool:
        """Remove a request or a stream, and return whether it was there."""
        found = self._in_flight.pop(request_id, None)
        self._held -= found is not None and found.held_at is not None
        if self.is_full:
            self._update_is_full()
        if found is not None and found.tally is not None and found.held_at is None:
            found.tally.leave()
        return found is not None or self._streams.pop(request_id, None) is not None

    def _update_is_full(self) -> None:
        is_full = len(self._in_flight) - self._held >= self.capacity
        if is_full != self.is_full:
            self.is_full = is_full
            if self.on_capacity is not None:
                self.on_capacity()

    def _wake_at(self, end: float) -> None:
        """Set the timer. One timer serves all requests: it is set to the earliest timeout."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer_end = end
        self._timer = self._loop.call_at(end, self._fail_overdue)

    def _fail_overdue(self) -> None:
        now = self._loop.time()
        due, self._timer_end = self._timer_end, inf
        self._timer = None
        if self._paused_at is not None:
            return  # `resume` sets the timer again
        if now - due > LATE_TIMER_SECONDS:
            # The process or the whole machine was suspended: responses may wait to be read.
            self._exclude_time_since(due)
            self._wake_at(now + LATE_TIMER_SECONDS)
            return
        overdue = [request for request in self._in_flight.values() if request.end <= now]
        self._set_timer(after=now)
        for request in overdue:
            # A failed request may have made its caller forget another one.
            if self._take_out(request.id):
                request.fail(request.timeout())

    def _set_timer(self, after: float = -inf) -> None:
        ends = [request.end for request in self._in_flight.values()]
        if later := [end for end in ends if after < end < inf]:
            self._wake_at(min(later))
