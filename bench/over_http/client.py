"""A raw MCP client over HTTP that measures: one connection, or many at once, each with one call at a time.

Like the one over stdio it verifies every answer, and parses no JSON while the clock runs.
"""

from __future__ import annotations

import json
import select
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from bench import bodies, process
from bench.client import BEFORE_ID, FIRST_ID, HELLO, LEGACY, MODERN, MODERN_META, Call
from bench.over_http.connection import END_OF_HEAD, HOST, Connection
from bench.process import TargetProcess

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.over_http.connection import Response

PATH = "/mcp"
LOOK_EVERY = 0.001
"""Seconds between two looks whether the target listens by now: nothing tells of it."""
OK = b"HTTP/1.1 200 "

Json = dict[str, Any]


class _Usual(NamedTuple):
    """The response to a call, as it was when it was verified in full."""

    length: int
    body_at: int


class HttpClient(TargetProcess):
    """A target that listens on a port, and the conversation with it."""

    def __init__(
        self, name: str, command: Sequence[str], env: Mapping[str, str], port: int, *, modern: bool = False
    ) -> None:
        super().__init__(name, command, env)
        self._port = port
        self._modern = modern
        self._last_id = FIRST_ID
        self._session: str | None = None
        self._connections: list[Connection] = []
        self._usual: dict[Call, _Usual] = {}

    def close(self) -> None:
        """Hangs up, and ends the target."""
        self._hang_up()
        super().close()

    def handshake(self) -> None:
        """Opens the conversation, as an ordinary client of its era does, as soon as the target listens."""
        self._connections = [self._first_connection()]
        if self._modern:
            self.request("server/discover", {})
            return
        greeted = self._exchange("initialize", HELLO)
        self._session = greeted.headers.get("mcp-session-id")
        head = self._head(self._headers("notifications/initialized", {}))
        body = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
        confirmed = self._connections[0].exchange(b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body))
        if confirmed.status != 202:
            raise self.failure(f"answered a notification with {confirmed}")

    def request(self, method: str, params: Json) -> Json:
        """The result of one request."""
        result = self._result(method, self._exchange(method, params))
        if result.get("isError"):
            raise self.failure(f"answered {method} with {json.dumps(result)[:500]}")
        return result

    def prepare(self, params: Json, kind: str, size: int) -> Call:
        """A tool call to be timed: made once, and its answer compared in full. On a new connection, for the
        one before may have been left alone for longer than the target keeps it.
        """
        self._hang_up()
        self._connections = [self._connect()]
        call = self._phrase("tools/call", params)
        response = self._connections[0].exchange(call.line(self._next_id()))
        result = self._result("tools/call", response)
        expected = bodies.result(kind, size)
        if {key: result.get(key) for key in expected} != expected:
            raise self.failure(f"changed a result: {response.body[:500]!r}")
        length = self._connections[0].length
        self._usual[call] = _Usual(length, length - len(response.body))
        return call

    def time_call(self, call: Call) -> float:
        """Seconds from sending one call to holding the last byte of its answer."""
        connection = self._connections[0]
        usual = self._usual[call]
        connection.latest_id = self._next_id()
        request = call.line(connection.latest_id)
        started = time.perf_counter()
        connection.send(request)
        while not connection.receive(usual.length):
            pass
        seconds = time.perf_counter() - started
        self._verify(connection, usual)
        return seconds

    def time_parallel(self, call: Call, count: int, connections: int, limit: float) -> tuple[int, float]:
        """Makes up to `count` calls on so many connections; how many it were, and the seconds in all."""
        while len(self._connections) < connections:
            self._connections.append(self._connect())
        used = {connection.fileno(): connection for connection in self._connections[:connections]}
        usual = self._usual[call]
        sent = received = 0
        with select.epoll(connections) as events:
            for number in used:
                events.register(number, select.EPOLLIN)
            started = time.perf_counter()
            deadline = started + limit
            for connection in used.values():
                self._start_call(connection, call)
                sent += 1
            while received < sent:
                ready = events.poll(process.PATIENCE)
                if not ready:
                    raise self.failure(f"did not answer within {process.PATIENCE:g} s")
                goes_on = time.perf_counter() < deadline
                for number, _ in ready:
                    connection = used[number]
                    if connection.receive(usual.length):
                        self._verify(connection, usual)
                        received += 1
                        if goes_on and sent < count:
                            self._start_call(connection, call)
                            sent += 1
            return received, time.perf_counter() - started

    def _start_call(self, connection: Connection, call: Call) -> None:
        connection.latest_id = self._next_id()
        connection.send(call.line(connection.latest_id))

    def _verify(self, connection: Connection, usual: _Usual) -> None:
        """Checks what can be checked of an answer without parsing it."""
        if connection.length != usual.length:
            raise self.failure(
                f"answered {connection.length} bytes in place of {usual.length}: {connection.part(0, 500)!r}"
            )
        expected = b'%b%d,"result":' % (BEFORE_ID, connection.latest_id)
        answered = connection.part(usual.body_at, len(expected))
        if answered != expected or connection.part(0, len(OK)) != OK:
            raise self.failure(f"wrote what is no answer to {connection.latest_id}: {answered!r}")

    def _exchange(self, method: str, params: Json) -> Response:
        return self._connections[0].exchange(self._phrase(method, params).line(self._next_id()))

    def _result(self, method: str, response: Response) -> Json:
        answer = json.loads(response.body) if response.status == 200 else {}
        result = answer.get("result")
        if answer.get("id") != self._last_id or not isinstance(result, dict):
            shown = response._replace(body=response.body[:500])
            raise self.failure(f"answered {method} with {shown}")
        return result

    def _phrase(self, method: str, params: Json) -> Call:
        stamped = {**params, "_meta": MODERN_META} if self._modern else params
        encoded = json.dumps(stamped, separators=(",", ":")).encode()
        after_id = b',"method":"%b","params":%b}' % (method.encode(), encoded)
        length = len(BEFORE_ID) + len(str(FIRST_ID)) + len(after_id)
        head = self._head(self._headers(method, params))
        return Call(b"%bContent-Length: %d%b%b" % (head, length, END_OF_HEAD, BEFORE_ID), after_id)

    def _headers(self, method: str, params: Json) -> dict[str, str]:
        if self._modern:
            named = {"Mcp-Name": params["name"]} if "name" in params else {}
            return {"MCP-Protocol-Version": MODERN, "Mcp-Method": method, **named}
        if method == "initialize":
            return {}
        session = {} if self._session is None else {"Mcp-Session-Id": self._session}
        return {"MCP-Protocol-Version": LEGACY, **session}

    def _head(self, headers: dict[str, str]) -> bytes:
        usual = {
            "Host": f"{HOST}:{self._port}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        lines = [f"{name}: {value}\r\n" for name, value in (usual | headers).items()]
        return f"POST {PATH} HTTP/1.1\r\n{''.join(lines)}".encode("ascii")

    def _first_connection(self) -> Connection:
        deadline = time.perf_counter() + process.PATIENCE
        while time.perf_counter() < deadline and self.is_alive:
            try:
                return self._connect()
            except ConnectionRefusedError:
                time.sleep(LOOK_EVERY)
        raise self.failure("did not begin to listen")

    def _connect(self) -> Connection:
        return Connection(self._port, self.failure)

    def _hang_up(self) -> None:
        for connection in self._connections:
            connection.close()
        self._connections = []

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id
