"""One MCP server that does as it is told, run as a child: `scripted.py '{"era": "modern", ...}'`.

It owns every misbehaviour that the tests need, in both protocol eras, and a journal of all that it
received, so that a test can see exactly what the workbench sent. It needs nothing but the standard
library and never checks anything: judging is the tests' work. The options are `Options` below; what a
tool does is one of the functions named `do_*`.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping

LEGACY_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSION = "2026-07-28"
RESERVED = "io.modelcontextprotocol/"
LONGEST_LIFE = 120  # seconds: a workbench that leaves us behind fails its test, and need not litter too
SUBSCRIPTION = RESERVED + "subscriptionId"
IDENTITY = {"name": "scripted", "version": "1.0"}
_SPACE = re.compile(r"\s*")


class Script(TypedDict, total=False):
    """What a test can ask of the server."""

    era: str  # legacy, modern, dual, silent-legacy (deaf to all before initialize), dies-on-probe,
    # refuses-and-dies (answers the probe with an error, and leaves)
    era_file: str  # the era stands in this file: an update changes it
    start_delay: float
    delay_file: str  # the seconds that a start takes stand in this file
    stdout: list[str]  # lines that are no JSON-RPC, printed at the start
    stderr: list[str]
    stderr_times: int
    exit: int  # leave at the start with this code
    exit_unless: str  # leave at the start with code 1 while this file is missing
    lock: str  # a file of which only one process may have the lock: another leaves with code 1
    lock_waits: bool  # or waits until it is free
    mute: bool  # read, but never answer
    greeting: dict[str, Any]  # replaces members of the result of initialize
    discovery: dict[str, Any]  # the same for server/discover
    tools: list[str]  # raw JSON of each definition
    crowd: int  # so many more tools, each with some parameters: more than a command line could say
    toolless: bool  # a server of something else: tools/list is not found
    restless: str  # announces a change "before" or "after" every list
    page_size: int
    cursors: str  # "end" (default), "repeat", "endless", "empty", or "raw:" and its JSON
    behaviours: dict[str, dict[str, Any]]  # tool name -> {"do": ..., ...}; a tool without one echoes
    ignore_term: bool
    ignore_eof: bool
    eof_delay: float  # work to finish after the end of its input
    grandchild: bool  # a helper in our group
    distant_grandchild: bool  # one in a session of its own


class Options(Script, total=False):
    """All of the command line."""

    journal: str  # file that gets a line of JSON for each event


def members(text: str) -> dict[str, str]:
    """The members of a JSON object, each value as the very text that stands there."""
    decode = json.JSONDecoder().raw_decode
    at = _skip(text, text.index("{") + 1)
    found: dict[str, str] = {}
    while text[at] != "}":
        key, at = decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, at = decode(text, start)
        found[key] = text[start:at]
        at = _skip(text, at)
        at = _skip(text, at + 1) if text[at] == "," else at
    return found


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


class Call:
    """One `tools/call` in progress: what the behaviours work with."""

    def __init__(self, server: Server, line: str, message: dict[str, Any]) -> None:
        self.server = server
        self.id = message["id"]
        params = message.get("params", {})
        self.name: str = params["name"]
        self.token = params.get("_meta", {}).get("progressToken")
        self.arguments = members(members(line)["params"]).get("arguments", "absent")
        self.cancelled = threading.Event()

    def answer(self, text: str) -> None:
        """A complete result of the server's era that holds one piece of text."""
        kind = {} if self.server.initialised else {"resultType": "complete"}
        self.server.answer(self.id, json.dumps({**kind, "content": [{"type": "text", "text": text}]}))


class Server:
    """Reads lines, journals them, and answers by the script."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.era = options.get("era", "legacy")
        if "era_file" in options:
            self.era = Path(options["era_file"]).read_text(encoding="utf-8")
        self.tools = [*options.get("tools", ()), *map(_one_of_many, range(options.get("crowd", 0)))]
        self.initialised = False
        self.deaf = False
        self.calls: dict[object, Call] = {}
        self.calls_seen = 0
        self.answers: dict[str, tuple[threading.Event, list[str]]] = {}
        self.subscriptions: list[object] = []
        self._writing = threading.Lock()

    def journal(self, event: str, **fields: object) -> None:
        if path := self.options.get("journal"):
            line = json.dumps({"event": event, **fields}) + "\n"
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(line)

    def write(self, line: str) -> None:
        with self._writing:
            sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape") + b"\n")
            sys.stdout.buffer.flush()

    def answer(self, request_id: object, result: str) -> None:
        self.write(f'{{"jsonrpc":"2.0","id":{json.dumps(request_id)},"result":{result}}}')

    def refuse(self, request_id: object, error: str) -> None:
        self.write(f'{{"jsonrpc":"2.0","id":{json.dumps(request_id)},"error":{error}}}')

    def fail(self, request_id: object, code: int, message: str, data: object = None) -> None:
        self.refuse(request_id, json.dumps({"code": code, "message": message, "data": data}))

    def notify(self, method: str, params: Mapping[str, object]) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def start(self) -> None:
        self.journal("start", pid=os.getpid())
        signal.alarm(LONGEST_LIFE)
        if self.options.get("ignore_term"):
            signal.signal(signal.SIGTERM, lambda *_: self.journal("sigterm"))
        if self.options.get("grandchild"):
            self.journal("grandchild", pid=_stubborn_grandchild(distant=False))
        if self.options.get("distant_grandchild"):
            self.journal("grandchild", pid=_stubborn_grandchild(distant=True))
        for line in self.options.get("stderr", []) * self.options.get("stderr_times", 1):
            print(line, file=sys.stderr, flush=True)
        for line in self.options.get("stdout", ()):
            self.write(line)
        if "exit" in self.options:
            sys.exit(self.options["exit"])
        if (path := self.options.get("exit_unless")) and not Path(path).exists():
            sys.exit(1)
        if path := self.options.get("lock"):
            self.take_lock(path)
        time.sleep(self.options.get("start_delay", 0))
        if path := self.options.get("delay_file"):
            time.sleep(float(Path(path).read_text(encoding="utf-8")))

    def take_lock(self, path: str) -> None:
        self.lock = Path(path).open("w", encoding="utf-8")  # noqa: SIM115 - held for life
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | (0 if self.options.get("lock_waits") else fcntl.LOCK_NB))
        except OSError:
            sys.exit(1)

    def serve(self) -> None:
        while raw := sys.stdin.buffer.readline():
            line = raw.decode("utf-8", "surrogateescape").rstrip("\n")
            self.journal("received", line=line)
            if not self.options.get("mute"):
                self.receive(line, json.loads(line))
            while self.deaf:
                signal.pause()
        self.journal("eof")
        while self.options.get("ignore_eof"):
            signal.pause()
        time.sleep(self.options.get("eof_delay", 0))
        self.journal("finished")
        os._exit(0)  # calls in progress must not keep a server alive whose client has gone

    def receive(self, line: str, message: dict[str, Any]) -> None:
        if "method" not in message:
            arrived, lines = self.answers[message["id"]]
            lines.append(line)
            arrived.set()
        elif "id" not in message:
            self.notified(message)
        elif message["method"] == "initialize":
            self.initialise(message)
        elif RESERVED + "protocolVersion" in message.get("params", {}).get("_meta", {}):
            self.modern(line, message)
        else:
            self.legacy(line, message)

    def notified(self, message: dict[str, Any]) -> None:
        if message["method"] == "notifications/initialized":
            self.initialised = True
        elif message["method"] == "notifications/cancelled":
            request_id = message["params"]["requestId"]
            if call := self.calls.get(request_id):
                call.cancelled.set()
            self.subscriptions = [kept for kept in self.subscriptions if kept != request_id]

    def initialise(self, message: dict[str, Any]) -> None:
        asked = message["params"]["protocolVersion"]
        if self.era == "modern":
            self.unsupported(message["id"], asked)
            return
        result = {
            "protocolVersion": asked if asked in LEGACY_VERSIONS else LEGACY_VERSIONS[-1],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": IDENTITY,
            **self.options.get("greeting", {}),
        }
        self.answer(message["id"], json.dumps(result))

    def unsupported(self, request_id: object, asked: object) -> None:
        data = {"supported": [MODERN_VERSION], "requested": asked}
        self.fail(request_id, -32022, "Unsupported protocol version", data)

    def legacy(self, line: str, message: dict[str, Any]) -> None:
        if self.era == "modern":
            self.fail(message["id"], -32602, "Every request needs its _meta")
        elif message["method"] == "ping":
            self.answer(message["id"], "{}")
        elif not self.initialised:
            self.before_handshake(message)
        else:
            self.dispatch(line, message)

    def modern(self, line: str, message: dict[str, Any]) -> None:
        meta = message["params"]["_meta"]
        if self.era not in ("modern", "dual"):
            # A server of the old era takes no notice of _meta keys that it does not know.
            self.legacy(line, message)
        elif meta[RESERVED + "protocolVersion"] != MODERN_VERSION:
            self.unsupported(message["id"], meta[RESERVED + "protocolVersion"])
        elif RESERVED + "clientCapabilities" not in meta:
            self.fail(message["id"], -32602, "clientCapabilities is missing in _meta")
        else:
            self.dispatch(line, message)

    def before_handshake(self, message: dict[str, Any]) -> None:
        if self.era == "dies-on-probe":
            sys.exit(1)
        if self.era != "silent-legacy":
            self.fail(message["id"], -32602, "Received request before initialization was complete")
        if self.era == "refuses-and-dies":
            sys.exit(1)

    def dispatch(self, line: str, message: dict[str, Any]) -> None:
        request_id, method = message["id"], message["method"]
        if method == "tools/list" and not self.options.get("toolless"):
            restless = self.options.get("restless")
            if restless == "before":
                self.change_tools(self.tools)
            self.answer(request_id, self.page(message.get("params", {}).get("cursor")))
            if restless == "after":
                self.change_tools(self.tools)
        elif method == "tools/call":
            self.call(Call(self, line, message))
        elif method == "server/discover" and self.era in ("modern", "dual"):
            self.answer(request_id, json.dumps(self.discovery()))
        elif method == "subscriptions/listen" and self.era in ("modern", "dual"):
            self.subscriptions.append(request_id)
            params = {"_meta": {SUBSCRIPTION: request_id}, "notifications": {"toolsListChanged": True}}
            self.notify("notifications/subscriptions/acknowledged", params)
        else:
            self.fail(request_id, -32601, f"Method not found: {method}")

    def discovery(self) -> dict[str, object]:
        return {
            "resultType": "complete",
            "supportedVersions": [MODERN_VERSION],
            "capabilities": {"tools": {"listChanged": True}},
            "_meta": {RESERVED + "serverInfo": IDENTITY},
            "ttlMs": 0,
            "cacheScope": "private",
            **self.options.get("discovery", {}),
        }

    def page(self, cursor: str | None) -> str:
        size = self.options.get("page_size", 0) or max(len(self.tools), 1)
        start = int(cursor) if cursor else 0
        if self.options.get("cursors") == "empty" and cursor is not None:
            start = size
        after = start + size
        following = after if after < len(self.tools) else None
        if self.options.get("cursors") == "repeat":
            start, following = 0, 0
        elif self.options.get("cursors") == "endless":
            following = after
        end = "" if following is None else f',"nextCursor":"{following}"'
        if self.options.get("cursors") == "empty" and following is not None:
            end = ',"nextCursor":""'
        if (raw := self.options.get("cursors", "")).startswith("raw:"):
            end = f',"nextCursor":{raw.removeprefix("raw:")}'
        listed = ",".join(self.tools[start:after])
        return f'{{"tools":[{listed}],"resultType":"complete","ttlMs":0,"cacheScope":"private"{end}}}'

    def call(self, call: Call) -> None:
        self.calls_seen += 1
        self.calls[call.id] = call
        script = self.options.get("behaviours", {}).get(call.name, {"do": "echo"})
        behaviour = BEHAVIOURS[script["do"]]
        self.deaf = script.get("then_deaf", False)
        threading.Thread(target=behaviour, args=(call, script), daemon=True).start()

    def ask(self, method: str, params: dict[str, object]) -> str:
        """The client's answer to a request of this server's, as the line that came."""
        request_id = f"asked-{len(self.answers) + 1}"
        arrived, lines = self.answers[request_id] = (threading.Event(), [])
        self.write(json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}))
        return lines[0] if arrived.wait(30) else "no answer"

    def change_tools(self, tools: list[str]) -> None:
        self.tools = tools
        if self.initialised:
            self.write('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
        for subscription in self.subscriptions:
            self.notify("notifications/tools/list_changed", {"_meta": {SUBSCRIPTION: subscription}})


def do_echo(call: Call, script: dict[str, Any]) -> None:
    time.sleep(script.get("after", 0))
    call.answer(call.arguments)


def do_result(call: Call, script: dict[str, Any]) -> None:
    call.server.answer(call.id, script["text"])


def do_fill(call: Call, script: dict[str, Any]) -> None:
    """Answers with more than a command line could say."""
    call.answer(script["text"] * script["times"])


def do_error(call: Call, script: dict[str, Any]) -> None:
    call.server.refuse(call.id, script["text"])


def do_crash(call: Call, script: dict[str, Any]) -> None:
    print("about to crash", file=sys.stderr, flush=True)
    os._exit(script.get("code", 7))


def do_hang(call: Call, script: dict[str, Any]) -> None:
    call.cancelled.wait()
    call.answer("too late")
    call.server.journal("cancelled", id=call.id)


def do_wait(call: Call, script: dict[str, Any]) -> None:
    """Answers when the test has made a file."""
    while not Path(script["for"]).exists():
        time.sleep(0.01)
    call.answer("waited")


def do_progress(call: Call, script: dict[str, Any]) -> None:
    for step in range(1, script["steps"] + 1):
        params = {
            "progressToken": call.token,
            "progress": step,
            "total": script["steps"],
            "message": call.arguments,
        }
        if call.token is not None:
            call.server.notify("notifications/progress", params)
        time.sleep(script.get("every", 0))
    call.answer("done")


def do_ask(call: Call, script: dict[str, Any]) -> None:
    call.answer(call.server.ask(script["method"], script.get("params", {})))


def do_lines(call: Call, script: dict[str, Any]) -> None:
    """Says whatever the script says, with ID for this call's id, and then answers as usual."""
    for line in script["lines"]:
        call.server.write(line.replace("ID", json.dumps(call.id)))
    if script.get("answer", True):
        call.answer("after the noise")


def do_close_stdout(call: Call, script: dict[str, Any]) -> None:
    os.close(sys.stdout.fileno())


def do_tell(call: Call, script: dict[str, Any]) -> None:
    """What this process knows about itself."""
    known = {
        "env": dict(os.environ),
        "cwd": str(Path.cwd()),
        "pid": os.getpid(),
        "calls": call.server.calls_seen,
        "descriptors": [number for number in range(256) if _is_open(number)],
    }
    call.answer(json.dumps(known))


def do_change_tools(call: Call, script: dict[str, Any]) -> None:
    call.server.change_tools(script["tools"])
    call.answer("changed")


BEHAVIOURS = {name.removeprefix("do_"): it for name, it in dict(globals()).items() if name.startswith("do_")}


def _stubborn_grandchild(*, distant: bool) -> int:
    """A helper that holds our pipes and outlives a SIGTERM."""
    import subprocess

    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(LIFE)".replace(
        "LIFE", str(LONGEST_LIFE)
    )
    return subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=distant).pid


def _one_of_many(number: int) -> str:
    text = {"type": "string", "description": "A parameter, which is described in a sentence of its own"}
    schema = {"type": "object", "properties": {f"parameter_{at}": text for at in range(5)}}
    about = f"Does the thing number {number}. It is described at some length, as real tools are."
    return json.dumps({"name": f"tool_{number}", "description": about, "inputSchema": schema})


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def main() -> None:
    server = Server(json.loads(sys.argv[1]))
    server.start()
    server.serve()


if __name__ == "__main__":
    main()
