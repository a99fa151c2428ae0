"""A raw MCP server for the benchmark: fast to start, and as little work per call as Python allows.

Any tool called with {"kind", "size", "delay"} answers a result of that kind and about that size, after that
many seconds; a delayed answer holds up no other.
"""

from __future__ import annotations

import heapq
import json
import os
import select
import sys
import time

from bench import bodies
from bench.tool_definitions import tool_definition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CHUNK = 64 * 1024
"""What a pipe holds. With more, each read would map memory and fault it in until the first large message has
taught malloc otherwise, and whatever is measured before that would look slower than what comes after."""
MOST_BUFFERS = 1000
"""As many as one `writev` takes, with something to spare."""

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
METHOD_NOT_FOUND = -32601


class EchoServer:
    """Answers lines; keeps bodies ready as bytes, by what was asked for."""

    def __init__(self, name: str, tools: int, *, modern: bool) -> None:
        self._name = name
        self._tools = tools
        self._modern = modern
        self._bodies: dict[object, bytes] = {}
        self._delayed: list[tuple[float, int, bytes, bytes]] = []
        self._counter = 0

    def serve(self) -> None:
        """Answers until stdin ends."""
        rest = b""
        while True:
            if self._delayed:
                answers = self._due_answers()
                if not answers and not _readable(self._delayed[0][0] - time.monotonic()):
                    continue
                if answers:
                    _write_all(answers)
                    continue
            data = os.read(0, CHUNK)
            if not data:
                return
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            _write_all([part for line in lines if line for part in self.answer(json.loads(line))])

    def _due_answers(self) -> list[bytes]:
        due: list[bytes] = []
        now = time.monotonic()
        while self._delayed and self._delayed[0][0] <= now:
            _, _, head, body = heapq.heappop(self._delayed)
            due += (head, body, b"}\n")
        return due

    def answer(self, message: dict[str, Any]) -> tuple[bytes, ...]:
        """The parts of the answer, if there is one to give now."""
        if "id" not in message or "method" not in message:
            return ()
        method, params = message["method"], message.get("params") or {}
        identifier = json.dumps(message["id"]).encode()
        head = b'{"jsonrpc":"2.0","id":%b,"result":' % identifier
        if method == "tools/call":
            arguments = params.get("arguments") or {}
            body = self._call_body(arguments.get("kind", bodies.TEXT), arguments.get("size", 100))
            if delay := arguments.get("delay"):
                self._counter += 1
                heapq.heappush(self._delayed, (time.monotonic() + delay, self._counter, head, body))
                return ()
            return (head, body, b"}\n")
        known = self._method_body(method)
        if known is None:
            error = {"code": METHOD_NOT_FOUND, "message": f"Method not found: {method}"}
            return (b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (identifier, _encode(error)),)
        return (head, known, b"}\n")

    def _call_body(self, kind: str, size: int) -> bytes:
        body = self._bodies.get((kind, size))
        if body is None:
            body = self._bodies[kind, size] = _encode(self._stamped(bodies.result(kind, size)))
        return body

    def _method_body(self, method: str) -> bytes | None:
        if method == "tools/list":
            if method not in self._bodies:
                tools = [tool_definition(self._name, index) for index in range(self._tools)]
                caching = {"ttlMs": 3_600_000, "cacheScope": "public"} if self._modern else {}
                self._bodies[method] = _encode(self._stamped({"tools": tools, **caching}))
            return self._bodies[method]
        if method == "ping":
            return _encode(self._stamped({}))
        if method == "initialize" and not self._modern:
            info = {"name": self._name, "version": "1.0"}
            return _encode({"protocolVersion": LEGACY, "capabilities": {"tools": {}}, "serverInfo": info})
        if method == "server/discover" and self._modern:
            found = {"supportedVersions": [MODERN], "capabilities": {"tools": {}}}
            return _encode(self._stamped({**found, "ttlMs": 3_600_000, "cacheScope": "public"}))
        return None

    def _stamped(self, result: dict[str, Any]) -> dict[str, Any]:
        if not self._modern:
            return result
        info = {"name": self._name, "version": "1.0"}
        return {
            "resultType": "complete",
            **result,
            "_meta": {"io.modelcontextprotocol/serverInfo": info},
        }


def _readable(seconds: float) -> bool:
    return bool(select.select([0], [], [], max(0.0, seconds))[0])


def _write_all(parts: list[bytes]) -> None:
    """Writes without joining: a large body is not copied once more."""
    for start in range(0, len(parts), MOST_BUFFERS):
        batch = parts[start : start + MOST_BUFFERS]
        written = os.writev(1, batch)
        missing = sum(map(len, batch)) - written
        if missing:
            # A pipe takes all of it unless a signal came in between, as from a stop and a continue.
            rest = memoryview(b"".join(batch))[-missing:]
            while rest:
                rest = rest[os.write(1, rest) :]


def _encode(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def main(arguments: list[str]) -> None:
    """Serves as the command line says."""
    # Not argparse: importing it would take longer than all the rest of the start.
    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    name, tools = given.pop("--name", "s0"), int(given.pop("--tools", "30"))
    era, start_delay = given.pop("--era", "legacy"), float(given.pop("--start-delay", "0"))
    if given or era not in {"legacy", "modern"}:
        raise SystemExit(
            "echo_server [--name NAME] [--tools N] [--era legacy|modern] [--start-delay SECONDS]"
        )
    time.sleep(start_delay)
    EchoServer(name, tools, modern=era == "modern").serve()


if __name__ == "__main__":
    main(sys.argv[1:])
