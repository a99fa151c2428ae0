"""The soak's MCP server: an honest echo in either era, that misbehaves when it is asked to.

It keeps two files in the soak's directory: its lives, a line with the process id for each start, and its
calls, a line with the token of each call that it has taken. So the soak knows what has run, and how often.
"""

from __future__ import annotations

import heapq
import json
import os
import select
import signal
import sys
import time

from soak import asking, bodies, misdeeds
from soak.library import CAPABILITIES, Library
from soak.pipes import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Json = dict[str, Any]

CHUNK = 64 * 1024
LEGACY = "2025-11-25"
MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
METHOD_NOT_FOUND = -32601
REFUSED = -32050
"""The error of the tool that answers with an error."""
TOOLS = (
    *("echo", "make", "refuse", "misbehave", "ask", "waiting", "touch", "log"),
    *("erase", "publish", "scarce"),
)
"""The last ones are subject to a policy, and do what `make` does."""


class SoakServer:
    """Answers lines from stdin on stdout; what is due later waits in a heap."""

    def __init__(self, name: str, *, modern: bool, calls: int) -> None:
        self.name = name
        self.modern = modern
        self._calls = calls
        """The descriptor of the file with the tokens."""
        self._later: list[tuple[float, int, object, Callable[[], None]]] = []
        self._counter = 0
        self._library = Library(self)
        self._extra = 0
        self._waiting: dict[object, tuple[object, Callable[[Json], None]]] = {}
        """What it has asked: the call that it was asked for, and what to do with the answer."""

    def serve(self) -> None:
        """Answers until stdin ends."""
        rest = b""
        while True:
            wait = self._later[0][0] - time.monotonic() if self._later else None
            if wait is not None and (wait <= 0 or not _readable(wait)):
                _, _, _, act = heapq.heappop(self._later)
                act()
                continue
            data = os.read(0, CHUNK)
            if not data:
                return
            lines = (rest + data).split(b"\n") if b"\n" in data else [rest + data]
            rest = lines.pop()
            for line in lines:
                self._receive(json.loads(line))

    def _receive(self, message: Json) -> None:
        method, request = message.get("method"), message.get("id")
        if method is None:
            if request in self._waiting:
                _, take = self._waiting.pop(request)
                take(message)
        elif method == "notifications/cancelled":
            cancelled = message["params"]["requestId"]
            self._later = [event for event in self._later if event[2] != cancelled]
            heapq.heapify(self._later)
            self._waiting = {key: one for key, one in self._waiting.items() if one[0] != cancelled}
            self._library.leave(cancelled)
        elif request is not None:
            self._answer(request, method, message.get("params", {}))

    def _answer(self, request: object, method: str, params: Json) -> None:
        if method == "tools/call":
            self._call(request, params)
        elif method == "subscriptions/listen" and self.modern:
            self._library.listen(request, params.get("notifications", {}))
        elif (result := self._known(method, params)) is not None:
            self.respond(request, result)
        else:
            self.send({"id": request, "error": {"code": METHOD_NOT_FOUND, "message": f"no {method}"}})

    @property
    def caching(self) -> Json:
        """What a result that can be kept has to say of that."""
        return {"ttlMs": 1000, "cacheScope": "public"} if self.modern else {}

    def _known(self, method: str, params: Json) -> Json | None:
        capabilities = {"tools": {"listChanged": True}, **CAPABILITIES}
        if method == "tools/list":
            names = (*TOOLS, *(f"extra_{self._extra}" for _ in range(self._extra and 1)))
            return {"tools": [_definition(self.name, name) for name in names], **self.caching}
        if method == "ping":
            return {}
        if method == "initialize" and not self.modern:
            info = {"name": self.name, "version": "1.0"}
            return {"protocolVersion": LEGACY, "capabilities": capabilities, "serverInfo": info}
        if method == "server/discover" and self.modern:
            return {"supportedVersions": [MODERN], "capabilities": capabilities, **self.caching}
        return self._library.result_of(method, params)

    def _call(self, request: object, params: Json) -> None:
        arguments = params["arguments"]
        token = arguments["token"]
        self.note(asking.call_name(params))
        name = params["name"]
        if name == "refuse":
            self.send({"id": request, "error": {"code": REFUSED, "message": token, "data": {"token": token}}})
        elif name == "misbehave":
            misdeeds.DEEDS[arguments["how"]](self, request, params)
        elif name == "ask" and self.modern:
            asking.ask_by_results(self, request, params)
        elif name == "ask":
            asking.ask_by_requests(self, request, params, [])
        elif name == "waiting":
            self.respond_text(request, str(len(self._waiting)))
        else:
            if name == "touch":
                self._library.touch(arguments["uri"])
            elif name == "log":
                self._library.log(params)
            body = arguments["text"] if name == "echo" else bodies.text(token, arguments["size"])
            self._answer_in_time(request, params, body)

    def _answer_in_time(self, request: object, params: Json, body: str) -> None:
        arguments = params["arguments"]
        delay, steps = arguments.get("delay", 0.0), arguments.get("progress", 0)
        for step in range(steps):
            self.later(delay * step / steps, request, self.progress_of(params, step))
        if delay:
            self.later(delay, request, lambda: self.respond_text(request, body))
        else:
            self.respond_text(request, body)

    def later(self, seconds: float, request: object, act: Callable[[], None]) -> None:
        """Does something after a while, unless the request is cancelled by then."""
        self._counter += 1
        heapq.heappush(self._later, (time.monotonic() + seconds, self._counter, request, act))

    def progress_of(self, params: Json, step: int) -> Callable[[], None]:
        """What reports progress of a call."""
        token = params["_meta"]["progressToken"]
        return lambda: self.notify("notifications/progress", {"progressToken": token, "progress": step})

    def change_tools(self) -> None:
        """Lists another tool from now on, and says so."""
        self._extra += 1
        self._library.change_tools()

    def ask(self, method: str, params: Json, take: Callable[[Json], None], request: object) -> None:
        """Sends a request to the client in the middle of one of its own."""
        self._counter += 1
        identifier = f"q{self._counter}"
        self._waiting[identifier] = (request, take)
        self.send({"id": identifier, "method": method, "params": params})

    def note(self, call: str) -> None:
        """Writes down that this was taken."""
        os.write(self._calls, call.encode() + b"\n")

    def respond_text(self, request: object, body: str) -> None:
        """Answers a call with a text."""
        self.respond(request, {"content": [{"type": "text", "text": body}]})

    def respond(self, request: object, result: Json) -> None:
        """Answers a request."""
        if self.modern:
            meta = {PREFIX + "serverInfo": {"name": self.name, "version": "1.0"}}
            result = {"resultType": "complete", **result, "_meta": meta}
        self.send({"id": request, "result": result})

    def notify(self, method: str, params: Json) -> None:
        """Sends a notification."""
        self.send({"method": method, "params": params})

    def send(self, message: Json) -> None:
        """Writes a message as a line."""
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
        write_all(1, line.encode() + b"\n")


def _definition(server: str, name: str) -> Json:
    schema = {"type": "object", "properties": {"token": {"type": "string"}}, "required": ["token"]}
    return {"name": name, "description": f"{name} of {server}", "inputSchema": schema}


def _readable(seconds: float) -> bool:
    return bool(select.select([0], [], [], seconds)[0])


def _obey_orders(path: str) -> None:
    """Does what was left here for the next start, as often as it says."""
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123 - pathlib would double the time of a start
            orders = json.load(file)
    except FileNotFoundError:
        return
    left = orders["times"] - 1
    if left:
        with open(path, "w", encoding="ascii") as file:  # noqa: PTH123 - as above
            json.dump({**orders, "times": left}, file)
    else:
        os.unlink(path)  # noqa: PTH108 - as above
    time.sleep(orders["delay"])
    if orders["exit"]:
        sys.stderr.write("told not to start\n")
        raise SystemExit(orders["exit"])


def main(directory: str, label: str, era: str, manner: str) -> None:
    """Serves as the command line says."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    lives = os.open(f"{directory}/{label}.lives", flags, 0o600)
    os.write(lives, b"%d\n" % os.getpid())
    os.close(lives)
    _obey_orders(f"{directory}/{label}.orders")
    calls = os.open(f"{directory}/{label}.calls", flags, 0o600)
    if manner == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    SoakServer(label, modern=era == "modern", calls=calls).serve()
    if manner == "stubborn":
        time.sleep(100_000)


if __name__ == "__main__":
    main(*sys.argv[1:])
