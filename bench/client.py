"""A raw MCP client that measures: no SDK, and no parsing of JSON while the clock runs.

Every answer is verified: its id, that it is a result, its size; the first of each call is parsed and compared
in full.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from bench import bodies
from bench.pipes import PipedProcess

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FIRST_ID = 1_000_000
"""All ids have the same number of digits, so that answers to the same call have the same size."""
LEGACY = "2025-11-25"
MODERN = "2026-07-28"
CLIENT = {"name": "mcp-workbench-bench", "version": "1.0"}
HELLO = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": CLIENT}
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
BEFORE_ID = b'{"jsonrpc":"2.0","id":'

Json = dict[str, Any]


class Call(NamedTuple):
    """A request that is sent many times, all but its id made beforehand."""

    before_id: bytes
    after_id: bytes

    def line(self, identifier: int) -> bytes:
        """The request as it is sent."""
        return b"%b%d%b" % (self.before_id, identifier, self.after_id)


class Answer(NamedTuple):
    """A message, and the seconds from sending the request to holding the last byte of it."""

    message: Json
    seconds: float


class Client(PipedProcess):
    """A target, and the conversation with it."""

    def __init__(
        self, name: str, command: Sequence[str], env: Mapping[str, str], *, modern: bool = False
    ) -> None:
        super().__init__(name, command, env)
        self._modern = modern
        self._last_id = FIRST_ID
        self._lengths: dict[Call, int] = {}
        """Of the answers to the calls that were verified in full."""
        self._in_flight: dict[int, Call] = {}

    def handshake(self) -> None:
        """Opens the conversation, as an ordinary client of the target's era does."""
        if self._modern:
            self.request("server/discover", {})
        else:
            self.request("initialize", HELLO)
            self.confirm_greeting()

    def greet(self) -> int:
        """Begins a legacy handshake without waiting; the id of its request."""
        return self.send("initialize", HELLO)

    def confirm_greeting(self) -> None:
        """Ends a legacy handshake."""
        self.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def request(self, method: str, params: Json) -> Json:
        """The result of one request; nothing else may be in flight."""
        return self.timed_request(method, params).message

    def timed_request(self, method: str, params: Json) -> Answer:
        """The same, with the time it took."""
        answer = self.ask(method, params)
        result = answer.message.get("result")
        if not isinstance(result, dict) or result.get("isError"):
            raise self.failure(f"answered {method} with {json.dumps(answer.message)[:500]}")
        return Answer(result, answer.seconds)

    def ask(self, method: str, params: Json) -> Answer:
        """The whole answer to one request, be it an error; nothing else may be in flight."""
        line = self._phrase(method, params).line(self._next_id())
        started = time.perf_counter()
        self.write(line)
        return self.receive(self._last_id, started)

    def send(self, method: str, params: Json) -> int:
        """Sends one request; its id."""
        self.write(self._phrase(method, params).line(self._next_id()))
        return self._last_id

    def receive(self, identifier: int, started: float) -> Answer:
        """The answer to a request; other lines, such as logs, are passed over."""
        while True:
            length = self.read_to_line_end()
            seconds = time.perf_counter() - started
            for message in map(json.loads, self.read(length).splitlines()):
                if message.get("id") == identifier:
                    return Answer(message, seconds)

    def prepare(self, params: Json, kind: str, size: int) -> Call:
        """A tool call to be timed: made once, and its answer compared in full."""
        call = self._phrase("tools/call", params)
        self.write(call.line(self._next_id()))
        line = self.read(self.read_to_line_end()).splitlines()[-1]
        answer = json.loads(line)
        result = answer.get("result")
        if answer.get("id") != self._last_id or not isinstance(result, dict):
            raise self.failure(f"answered a call with {line[:500]!r}")
        expected = bodies.result(kind, size)
        if {key: result.get(key) for key in expected} != expected:
            raise self.failure(f"changed a result: {line[:500]!r}")
        self._lengths[call] = len(line)
        return call

    def time_call(self, call: Call) -> float:
        """Seconds from sending one call to holding the last byte of its answer."""
        identifier = self._next_id()
        self._in_flight[identifier] = call
        line = call.line(identifier)
        started = time.perf_counter()
        self.write(line)
        length = self.read_to_line_end()
        seconds = time.perf_counter() - started
        self._verify(self.read(min(length, 100)), length - 1)
        return seconds

    def time_pipelined(self, call: Call, count: int, window: int, limit: float) -> tuple[int, float]:
        """Makes up to `count` calls with `window` in flight; how many it were, and the seconds in all."""
        sent = received = 0
        self.forget_output()
        started = time.perf_counter()
        deadline = started + limit
        while True:
            room = min(window - (sent - received), count - sent)
            if room and time.perf_counter() < deadline:
                self.start_calls(call, room)
                sent += room
            if received == sent:
                return received, time.perf_counter() - started
            for head, length in self.read_lines():
                self._verify(head, length)
                received += 1

    def start_calls(self, call: Call, count: int = 1) -> None:
        """Sends calls, all at once, without waiting."""
        identifiers = range(self._last_id + 1, self._last_id + 1 + count)
        self._last_id += count
        self._in_flight.update(dict.fromkeys(identifiers, call))
        self.write(b"".join(map(call.line, identifiers)))

    def answered_calls(self) -> list[Call]:
        """Waits for output, and returns the calls that it answers."""
        return [self._verify(head, length) for head, length in self.read_lines()]

    def await_all(self) -> None:
        """Waits until nothing is in flight."""
        while self._in_flight:
            self.answered_calls()

    def _verify(self, head: bytes, length: int) -> Call:
        """Checks what can be checked of an answer without parsing it; the call that it answers."""
        digits, comma, rest = head[len(BEFORE_ID) :].partition(b",")
        if not (head.startswith(BEFORE_ID) and comma and digits.isdigit()):
            raise self.failure(f"wrote what is no answer: {head!r}")
        call = self._in_flight.pop(int(digits), None)
        if call is None:
            raise self.failure(f"answered {digits.decode()}, which was not asked or was answered before")
        if not rest.startswith(b'"result":'):
            raise self.failure(f"answered with an error: {head!r}")
        if length != self._lengths[call]:
            raise self.failure(f"answered {length} bytes in place of {self._lengths[call]}")
        return call

    def _phrase(self, method: str, params: Json) -> Call:
        stamped = {**params, "_meta": MODERN_META} if self._modern else params
        encoded = json.dumps(stamped, separators=(",", ":")).encode()
        return Call(BEFORE_ID, b',"method":"%b","params":%b}\n' % (method.encode(), encoded))

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id
