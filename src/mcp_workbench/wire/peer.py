"""One end of a JSON-RPC connection: requests and answers correlated, many in flight, all bounded in time.

Owns the requests that we sent and their clock. It does not own the pipes: lines go out through a
callable and come in through `receive`, which makes that pair the seam for tests.
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
"""Seconds by which a timer may be late before that is more than a busy machine."""

ENDED_BEFORE = "the server had ended before it could be sent the call"

ID_DIGITS = 18
"""More than any id of ours has; a number without end must not be read."""


class Handler(Protocol):
    """What a peer does with that which is not an answer to one of its requests."""

    def on_request(self, request_id: Id, method: str, params: msgspec.Raw) -> None:
        """The other side wants an answer."""

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        """The other side tells us something."""

    def on_garbage(self, problem: Undecodable) -> None:
        """A line that is no message, and no answer to anything we asked."""


class Peer:
    """Sends, receives and correlates."""

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
        """Whether what is no right message is refused in whatever state. If not, answers that are awaited are
        taken even if they are no UTF-8, or come in an array."""
        self.next_id = 1
        """The id that the next request will have, for those who must name it in its parameters."""
        self._in_flight: dict[int, Request] = {}
        self._held = 0
        """How many of them are held."""
        self._streams: dict[int, Request] = {}
        """Requests that bring notifications for as long as they are open."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_end = inf
        self._paused_at: float | None = None
        self._closed: str | None = None
        self.capacity = sys.maxsize
        """How many requests may be in flight at once. It is for whoever sends to keep to it."""
        self.on_capacity: Callable[[], None] | None = None
        """Called whenever the number of requests in flight reaches the capacity, or falls below it."""
        self.is_full = False
        """Whether it is reached."""
        self.on_stray: Callable[[Id], None] | None = None
        """Told of answers to what is no longer in flight."""
        self.takes_batches = False
        """Whether the other side may send several messages in an array."""

    @property
    def room(self) -> int:
        """How many more requests may be in flight."""
        return max(self.capacity - len(self._in_flight) + self._held, 0)

    @property
    def requests(self) -> Collection[Request]:
        """Those whose answers are awaited."""
        return self._in_flight.values()

    @property
    def is_busy(self) -> bool:
        """Whether an answer is awaited."""
        return bool(self._in_flight)

    def ask(self, method: str, params: bytes, *, limit: float) -> AwaitedRequest:
        """Sends a request. Whoever awaits its `answer` calls `forget` afterwards, however it ended."""
        question = AwaitedRequest(self._loop.create_future(), idle=limit, total=limit)
        self.start(question, rpc.request_line(self.next_id, method, params))
        return question

    def start(
        self, request: Request, line: Outgoing, write: Callable[[Outgoing], None] | None = None
    ) -> None:
        """Sends a request, which is in `line` under the id that is next, and begins to count its time. It may
        have a way of its own to the other side.
        """
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
            self._look_at_capacity()
        (write or self._write)(line)

    def limit_to(self, capacity: int) -> None:
        """From now on so many requests may be in flight."""
        self.capacity = capacity
        self._look_at_capacity()

    def find(self, request_id: Id | None) -> Request | None:
        """The request in flight that has this id."""
        if isinstance(request_id, str):
            # Some servers send ids back as text. Ours are all numbers, so this mistakes none for another.
            request_id = int(request_id) if len(request_id) <= ID_DIGITS and request_id.isdecimal() else None
        if request_id is None:
            return None
        return self._in_flight.get(request_id) or self._streams.get(request_id)

    def open_stream(self, stream: Request, method: str, params: bytes) -> None:
        """Sends a request that stays open, takes no time and no room, and is for the other side to end."""
        stream.id = self.next_id
        self.next_id += 1
        if self._closed is None:
            self._streams[stream.id] = stream
            self._write(rpc.request_line(stream.id, method, params))

    def hold(self, request: Request) -> None:
        """Stops the clock of a request, which takes no room meanwhile: the other side waits for us."""
        if request.held_at is None and request.id in self._in_flight:
            request.held_at = self._loop.time()
            self._held += 1
            if request.tally is not None:
                request.tally.leave()
            self._look_at_capacity()

    def release(self, request: Request) -> None:
        """Time goes on for it where it was."""
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
        self._look_at_capacity()
        if request.end < self._timer_end:
            self._wake_at(request.end)

    def forget(self, request: Request) -> None:
        """An answer that comes after this is ignored."""
        self._take_out(request.id)
        if isinstance(request, AwaitedRequest):
            request.drop()

    def pause(self) -> None:
        """Nothing is read for now, so nothing that is in flight can be late."""
        if self._paused_at is None:
            self._paused_at = self._loop.time()

    def resume(self) -> None:
        """Time goes on where it was."""
        paused_at, self._paused_at = self._paused_at, None
        if paused_at is not None:
            self._leave_out(paused_at)
            self._set_timer()

    def _leave_out(self, since: float) -> None:
        """The time since then does not count, for we did not listen."""
        now = self._loop.time()
        for request in self._in_flight.values():
            if request.held_at is None:
                request.started += now - max(since, request.started)
                request.heard += now - max(since, request.heard)

    def notify(self, method: str, params: bytes = b"") -> None:
        """Sends a notification."""
        self.send(rpc.notification_line(method, params))

    def send(self, line: Outgoing) -> None:
        """Sends a finished line, if there is still somebody to send it to."""
        if self._closed is None:
            self._write(line)

    def fail(self, request_id: Id | None, error: WireError) -> None:
        """Ends a request of ours, if it is still in flight, of which is known that no answer will come."""
        if (request := self.find(request_id)) is not None:
            self._fail(request, error)

    def take_back(self, lines: bytes) -> None:
        """The other side had ended before it could be sent these. Whatever was asked in them for others can
        be asked of whoever comes in its place; of it itself, nothing more is to be known than that it ended.
        """
        for line in lines.split(b"\n"):
            with suppress(Undecodable):
                sent = rpc.decode(line)
                is_ours = isinstance(sent.id, int) and sent.method is not None
                request = self._in_flight.get(cast("int", sent.id)) if is_ours else None
                if request is not None and not isinstance(request, AwaitedRequest):
                    self._take_out(request.id)
                    # Later: by then all know that it has ended.
                    self._loop.call_soon(request.fail, NotTaken(ENDED_BEFORE, sent.params))

    def close(self, reason: str) -> None:
        """Fails everything in flight with `reason`, and whatever is asked after."""
        self._closed = reason
        if self._timer is not None:
            self._timer.cancel()
        ended = [*self._in_flight.values(), *self._streams.values()]
        self._in_flight, self._streams, self._held = {}, {}, 0
        for request in ended:
            request.fail(ConnectionClosed(reason))

    def stop_listening(self, reason: str) -> None:
        """Close, and receive nothing any more. Until then it and its handler keep each other, and would keep
        what both of them have until the garbage collector finds them.
        """
        if self._in_flight or self._streams or self._timer is not None:
            self.close(reason)
        self._closed = reason
        del self._handler

    def receive(self, line: Line) -> None:
        """Takes one line off the wire. Never raises for what the other side sent."""
        try:
            message = rpc.decode(line)
        except Undecodable as problem:
            if problem.is_hopeless:
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
                # Nearly all answers; the others take the longer way.
                self._held -= request.held_at is not None
                if request.tally is not None and request.held_at is None:
                    request.tally.leave()
                request.lacks_watched = line.__class__ is memoryview and lacks_watched(line)
                request.succeed(message.result)
                if self.is_full:
                    self._look_at_capacity()
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
        """Takes what came after the last line, when nothing more will: a message, or the beginning of one."""
        try:
            rpc.decode(line)
        except Undecodable:
            return  # what was to follow it will be missed, and told with the reason why it did not
        self.receive(line)

    def receive_overlong(self, edges: bytes, *, is_over: bool) -> None:
        """Takes the beginning of a line that is too long to keep, and when it is over also its end."""
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
            # An answer to nothing: cancelled, timed out, or sent twice.
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
        """Takes what can be understood all the same of a line that is no message."""
        expects_answers = bool(self._in_flight) and not self._is_strict
        if (expects_answers or self.takes_batches) and (batch := rpc.decode_batch(line)):
            for part in batch:
                self.receive(part)
        elif expects_answers and (repaired := rpc.repair_text(line)):
            # A byte that is no UTF-8 costs a character of the answer, not the answer.
            self.receive(repaired)
        else:
            self._receive_garbage(line, problem)

    def _receive_garbage(self, line: Line, problem: Undecodable) -> None:
        # A broken answer must still end the wait of whoever asked, so look for its id before giving it up.
        if request := self._broken_answer(line):
            unread = BadAnswer(f"its answer could not be read: {problem}")
            self._fail(request, TooDeep(bytes(line)) if problem.is_deep else unread)
        else:
            self._handler.on_garbage(problem)

    def _broken_answer(self, line: Line) -> Request | None:
        """The request of ours that a line answers which cannot be read, as far as that can be seen."""
        if not self._in_flight or (self._is_strict and re.search(rb'"method"\s*+:', line)):
            return None
        return self.find(find_answered_id(line))

    def _fail(self, request: Request, error: WireError) -> None:
        self._take_out(request.id)
        request.fail(error)

    def _take_out(self, request_id: int) -> bool:
        """Ends a request, if it is in flight."""
        found = self._in_flight.pop(request_id, None)
        self._held -= found is not None and found.held_at is not None
        if self.is_full:
            self._look_at_capacity()
        if found is not None and found.tally is not None and found.held_at is None:
            found.tally.leave()
        return found is not None or self._streams.pop(request_id, None) is not None

    def _look_at_capacity(self) -> None:
        is_full = len(self._in_flight) - self._held >= self.capacity
        if is_full != self.is_full:
            self.is_full = is_full
            if self.on_capacity is not None:
                self.on_capacity()

    def _wake_at(self, end: float) -> None:
        """One timer for all requests: it is set to the earliest end, and most end before theirs."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer_end = end
        self._timer = self._loop.call_at(end, self._end_the_overdue)

    def _end_the_overdue(self) -> None:
        now = self._loop.time()
        due, self._timer_end = self._timer_end, inf
        self._timer = None
        if self._paused_at is not None:
            return  # the timer is set again when time goes on
        if now - due > LATE_TIMER_SECONDS:
            # It was us who were stopped, or the whole machine: what came meanwhile is still to be read.
            self._leave_out(due)
            self._wake_at(now + LATE_TIMER_SECONDS)
            return
        overdue = [request for request in self._in_flight.values() if request.end <= now]
        self._set_timer(after=now)
        for request in overdue:
            # Whoever is told may forget another.
            if self._take_out(request.id):
                request.fail(request.timeout())

    def _set_timer(self, after: float = -inf) -> None:
        ends = [request.end for request in self._in_flight.values()]
        if later := [end for end in ends if after < end < inf]:
            self._wake_at(min(later))
