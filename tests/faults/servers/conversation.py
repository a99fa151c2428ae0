"""What the misbehaving servers have in common: MCP of either era on stdin and stdout, as little as will do.

Standard library only, one thread, no buffering: a fault decides byte by byte what is written and when. It
journals its processes, so that a test can tell whether one was left behind.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Handler = Callable[[str, dict[str, Any]], None]

MODERN_VERSION = "2026-07-28"
LONGEST_LIFE = 120  # seconds: a workbench that leaves us behind fails its test, and need not litter too
SCHEMA = '{"type":"object"}'
MEGABYTE = 1_000_000
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(120)"
LIST_CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
LOG = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"busy"}}'


def tool(name: str, description: str = "Does it", schema: str = SCHEMA) -> str:
    """The raw JSON of a tool's definition."""
    return f'{{"name":{json.dumps(name)},"description":{json.dumps(description)},"inputSchema":{schema}}}'


def write(data: bytes | str) -> None:
    """All of it, whatever the pipe takes at a time."""
    rest = memoryview(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)
    while rest:
        rest = rest[os.write(1, rest) :]


def say(line: bytes | str) -> None:
    write(line)
    write(b"\n")


def read() -> dict[str, Any] | None:
    """The next message, or None at the end of the input."""
    line = sys.stdin.buffer.readline()
    message: dict[str, Any] | None = json.loads(line) if line else None
    return message


def complain(text: str) -> None:
    os.write(2, text.encode() + b"\n")


def start_helper(*, new_session: bool = False) -> int:
    """A process that holds our pipes and outlives a SIGTERM."""
    return subprocess.Popen([sys.executable, "-S", "-c", STUBBORN], start_new_session=new_session).pid


def sleep_for_ever() -> None:
    while True:
        signal.pause()


class Call:
    """One `tools/call`: what the faults work with."""

    def __init__(self, server: Server, message: dict[str, Any]) -> None:
        self.server = server
        params = message["params"]
        self.name: str = params["name"]
        self.id = json.dumps(message["id"])
        self.token = json.dumps(params.get("_meta", {}).get("progressToken"))
        self.arguments: dict[str, Any] = params.get("arguments", {})

    def answering(self, text: str, request_id: str | None = None) -> str:
        """The line that answers it, or another request."""
        return f'{{"jsonrpc":"2.0","id":{request_id or self.id},"result":{self.result(json.dumps(text))}}}'

    def result(self, text: str) -> str:
        kind = '"resultType":"complete",' if self.server.era == "modern" else ""
        return f'{{{kind}"content":[{{"type":"text","text":{text}}}]}}'

    def answer(self, text: str = "done") -> None:
        say(self.answering(text))

    def answer_with(self, members: str) -> None:
        """Says what the answer has beside its id."""
        say(f'{{"jsonrpc":"2.0","id":{self.id},{members}}}')


class Server:
    """One life: reads lines and answers them. A fault replaces a handler or a tool."""

    def __init__(self, era: str, journal: str) -> None:
        self.era = era
        self.journal_path = Path(journal)
        self.tools = [tool("echo"), tool("fault")]
        self.calls: dict[str, Callable[[Call], None]] = {}
        self.on: dict[str, Handler] = {
            "ping": lambda request_id, _: succeed(request_id, "{}"),
            "tools/list": lambda request_id, _: succeed(request_id, page(",".join(self.tools))),
            "subscriptions/listen": lambda *_: None,
        }
        if era == "modern":
            self.on["server/discover"] = lambda request_id, _: succeed(request_id, discovery())
        else:
            self.on["initialize"] = lambda request_id, params: succeed(
                request_id, greeting(params["protocolVersion"])
            )
        self.on_eof: Callable[[], None] = lambda: None
        self.life = self._count_lives()
        self.journal("start", os.getpid())
        signal.alarm(LONGEST_LIFE)

    def _count_lives(self) -> int:
        if not self.journal_path.exists():
            return 1
        return 1 + self.journal_path.read_text(encoding="utf-8").count('"start"')

    def journal(self, event: str, pid: int) -> None:
        with self.journal_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"event": event, "pid": pid}) + "\n")

    def serve(self) -> None:
        while (message := read()) is not None:
            if "id" in message and "method" in message:
                self.answer(message)
            elif message.get("method") == "notifications/cancelled":
                self.journal("cancelled", os.getpid())
        self.on_eof()

    def answer(self, message: dict[str, Any]) -> None:
        request_id, method, params = json.dumps(message["id"]), message["method"], message.get("params", {})
        if method == "tools/call":
            call = Call(self, message)
            self.calls.get(call.name, echo)(call)
        elif method in self.on:
            self.on[method](request_id, params)
        else:
            fail(request_id, -32601, f"Method not found: {method}")


def echo(call: Call) -> None:
    call.answer("echo")


def succeed(request_id: str, result: str) -> None:
    say(f'{{"jsonrpc":"2.0","id":{request_id},"result":{result}}}')


def fail(request_id: str, code: int, message: str) -> None:
    error = json.dumps({"code": code, "message": message})
    say(f'{{"jsonrpc":"2.0","id":{request_id},"error":{error}}}')


def greeting(version: str) -> str:
    info = '"serverInfo":{"name":"faulty","version":"1"}'
    return f'{{"protocolVersion":"{version}","capabilities":{{"tools":{{"listChanged":true}}}},{info}}}'


def discovery(version: str = MODERN_VERSION) -> str:
    caching = '"ttlMs":0,"cacheScope":"private"'
    capabilities = '"capabilities":{"tools":{"listChanged":true}}'
    return f'{{"resultType":"complete","supportedVersions":["{version}"],{capabilities},{caching}}}'


def page(tools: str, cursor: str | None = None) -> str:
    following = "" if cursor is None else f',"nextCursor":{json.dumps(cursor)}'
    return f'{{"resultType":"complete","tools":[{tools}],"ttlMs":0,"cacheScope":"private"{following}}}'
