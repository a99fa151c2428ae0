"""One end of a JSON-RPC connection: requests and answers correlated, many in flight, all bounded in time.

Owns the requests that we sent and their clocks. It does not own the pipes: bytes go out through a
callable and lines come in through `receive`, which makes that pair the seam for tests.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

import msgspec

from mcp_workbench.errors import BadAnswer, ConnectionClosed, RequestTimeout
from mcp_workbench.wire import message as rpc
from mcp_workbench.wire.lines import LINE_LIMIT
from mcp_workbench.wire.salvage import find_answered_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.errors import WireError
    from mcp_workbench.wire.message import Id

TOO_LONG = f"the line is longer than {LINE_LIMIT // 2**20} MiB"

ID_DIGITS = 18
"""More than any id of ours has; a number without end must not be read."""


class Handler(Protocol):
    """What a peer does with that which is not an answer to one of its requests."""

    def on_request(self, request_id: Id, method: str, params: msgspec.Raw) -> None:
        """The other side wants an answer."""

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        """The other side tells us something."""

    def on_garbage(self, problem: rpc.Undecodable) -> None:
        """A line that is no message, and no answer to anything we asked."""


class Request:
    """A request of ours in flight: its future answer and its clock.

    The clock runs from before the write, so that a peer which has stopped reading is noticed too.
    """

    __slots__ = ("_idle", "_idle_end", "_loop", "_started", "_timer", "_total_end", "answer", "id")

    def __init__(self, request_id: int, idle: float, total: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._idle = idle
        self._idle_end = self._started + idle
        self._total_end = self._started + total
        self._timer = self._loop.call_at(min(self._idle_end, self._total_end), self._on_timer)
        self.id = request_id
        self.answer: asyncio.Future[msgspec.Raw] = self._loop.create_future()

    def touch(self) -> None:
        """Something was heard about this request: its idle time starts anew."""
        # The timer is left where it is and looks at the new end when it fires: progress may come in floods.
        self._idle_end = self._loop.time() + self._idle

    def settle(self, result: msgspec.Raw | WireError) -> None:
        """Ends the wait, unless it has ended already."""
        self._timer.cancel()
        if self.answer.done():
            return
        if isinstance(result, Exception):
            self.answer.set_exception(result)
        else:
            self.answer.set_result(result)

    def drop(self) -> None:
        """Nobody waits for the answer any more."""
        self._timer.cancel()
        if not self.answer.cancel() and not self.answer.cancelled():
            self.answer.exception()  # seen, or asyncio would complain that it never was

    def _on_timer(self) -> None:
        end = min(self._idle_end, self._total_end)
        if end > self._loop.time():
            self._timer = self._loop.call_at(end, self._on_timer)
        elif self._idle_end <= self._total_end:
            self.settle(RequestTimeout(self._idle, capped=False))
        else:
            self.settle(RequestTimeout(self._total_end - self._started, capped=True))


class Peer:
    """Sends, receives and correlates."""

    def __init__(self, write: Callable[[bytes], None], handler: Handler) -> None:
        self._write = write
        self._handler = handler
        self._last_id = 0
        self._in_flight: dict[int, Request] = {}
        self._closed: str | None = None
        self.takes_batches = False
        """Whether the other side may send several requests in an array. Answers may always come so."""

    @property
    def next_id(self) -> int:
        """The id that the next request will have, for those who must name it in its parameters."""
        return self._last_id + 1

    def request(self, method: str, params: bytes, *, idle: float, total: float | None = None) -> Request:
        """Sends a request. Whoever awaits its `answer` calls `forget` afterwards, however it ended."""
        self._last_id += 1
        request = Request(self._last_id, idle, idle if total is None else total)
        if self._closed is not None:
            request.settle(ConnectionClosed(self._closed))
            return request
        self._in_flight[request.id] = request
        self._write(rpc.request_line(request.id, method, params))
        return request

    def subscribe(self, method: str, params: bytes) -> None:
        """Sends a request that nobody awaits: what it brings are notifications, for as long as it is open."""
        self._last_id += 1
        self.send(rpc.request_line(self._last_id, method, params))

    def forget(self, request: Request) -> None:
        """An answer that comes after this is ignored."""
        self._in_flight.pop(request.id, None)
        request.drop()

    def notify(self, method: str, params: bytes = b"") -> None:
        """Sends a notification."""
        self.send(rpc.notification_line(method, params))

    def send(self, line: bytes) -> None:
        """Sends a finished line, if there is still somebody to send it to."""
        if self._closed is None:
            self._write(line)

    def close(self, reason: str) -> None:
        """Fails everything in flight with `reason`, and whatever is asked after."""
        self._closed = reason
        in_flight, self._in_flight = self._in_flight, {}
        for request in in_flight.values():
            request.settle(ConnectionClosed(reason))

    def receive(self, line: bytes) -> None:
        """Takes one line off the wire. Never raises for what the other side sent."""
        try:
            message = rpc.decode(line)
        except rpc.Undecodable as problem:
            self._receive_again(line, problem)
            return
        request_id = message.id
        if message.method is None:
            self._receive_answer(line, message)
        elif message.jsonrpc != "2.0":
            self._handler.on_garbage(rpc.Undecodable('`jsonrpc` must be "2.0"', line, is_json=True))
        elif request_id is msgspec.UNSET:
            self._handler.on_notification(message.method, message.params)
        elif request_id is None:
            self._handler.on_garbage(rpc.Undecodable("`id` must not be null", line, is_json=True))
        else:
            self._handler.on_request(request_id, message.method, message.params)

    def _receive_again(self, line: bytes, problem: rpc.Undecodable) -> None:
        """Takes what can be understood all the same of a line that is no message."""
        expects_answers = bool(self._in_flight)
        if (expects_answers or self.takes_batches) and (batch := rpc.decode_batch(line)):
            for part in batch:
                self.receive(part)
        elif expects_answers and (repaired := rpc.repair_text(line)):
            # A byte that is no UTF-8 costs a character of the answer, not the answer.
            self.receive(repaired)
        else:
            self._receive_garbage(line, problem)

    def receive_overlong(self, edges: bytes) -> None:
        """Takes the beginning and the end of a line that was too long to keep."""
        self._receive_garbage(edges, rpc.Undecodable(TOO_LONG, edges, is_json=True))

    def _receive_answer(self, line: bytes, message: rpc.Message) -> None:
        request = None if message.id is msgspec.UNSET else self._find(message.id)
        has_body = bool(message.result or message.error)
        if not has_body and (request is None or message.jsonrpc != "2.0"):
            self._handler.on_garbage(rpc.Undecodable("`method` is missing", line, is_json=True))
            return
        if request is None:
            return  # an answer to nothing: cancelled, timed out, or sent twice
        if message.error and message.error != rpc.NULL:
            request.settle(rpc.decode_error(bytes(message.error)))
        elif message.result:
            request.settle(message.result)
        else:
            request.settle(BadAnswer("its answer has neither a result nor an error"))

    def _receive_garbage(self, line: bytes, problem: rpc.Undecodable) -> None:
        # A broken answer must still end the wait of whoever asked, so look for its id before giving it up.
        if self._in_flight and (request := self._find(find_answered_id(line))):
            request.settle(BadAnswer(f"its answer could not be read: {problem}"))
        else:
            self._handler.on_garbage(problem)

    def _find(self, request_id: Id | None) -> Request | None:
        if isinstance(request_id, str):
            # Some servers send ids back as text. Ours are all numbers, so this mistakes none for another.
            number = request_id if len(request_id) <= ID_DIGITS and request_id.isdecimal() else "0"
            return self._in_flight.get(int(number))
        return None if request_id is None else self._in_flight.get(request_id)
