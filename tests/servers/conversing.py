"""One MCP server that converses, run as a child: `-m tests.servers.conversing '{"era": "modern", …}'`.

What it does in the middle of a request stands in the request: a tool's arguments, and a prompt's, hold a list
of `steps`. Both eras take the same steps, so that one test body runs over both: where a legacy server pushes
its questions and waits, a modern one answers `input_required` and goes on after the retry. The answer tells
all that it got: every round of answers, and the `_meta`. It needs nothing but the standard library, keeps a
journal of all that it received, and judges nothing.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from tests.servers.steps import Conversation, Finished, Refused, Unfinished
from tests.servers.wares import (
    CACHED,
    CAPABILITIES,
    CONTENTS,
    IDENTITY,
    LEGACY_VERSIONS,
    MODERN_VERSION,
    PROMPTS,
    RESERVED,
    RESOURCES,
    SUBSCRIPTION,
    TEMPLATES,
    TOOLS,
    Json,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.servers.steps import Question

LONGEST_LIFE = 120  # seconds: a workbench that leaves us behind fails its test, and need not litter too


class Script(TypedDict, total=False):
    """What a test can ask of the server."""

    offers: Json  # its capabilities, in place of all of them
    page_size: int  # of the lists of resources, templates and prompts
    start_when: str  # answer nothing before this file is there
    definitions_file: str  # the definitions of its tools stand in this file: an update changes them
    instructions_file: str  # what it tells models stands in this file
    read_steps: dict[str, list[Json]]  # what to do before a resource is read


class Options(Script, total=False):
    """All of the command line."""

    era: str  # legacy or modern
    journal: str  # file that gets a line of JSON for each event


class Server:
    """Reads lines, journals them, and converses in the era that it is told."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.modern = options["era"] == "modern"
        self.capabilities = options.get("offers", CAPABILITIES)
        self.tools = list(TOOLS)
        self.resources, self.prompts = list(RESOURCES), list(PROMPTS)
        self.level = "debug"
        self.conversations: dict[object, Conversation] = {}
        self.questions: dict[object, Question] = {}
        self.subscribed: set[str] = set()
        self.streams: dict[object, Json] = {}
        self._writing = threading.Lock()

    def journal(self, event: str, **fields: object) -> None:
        if path := self.options.get("journal"):
            line = json.dumps({"event": event, **fields}) + "\n"
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(line)

    def send(self, message: Json) -> None:
        with self._writing:
            sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            sys.stdout.buffer.flush()

    def notify(self, method: str, params: Json | None = None) -> None:
        self.send({"method": method, **({} if params is None else {"params": params})})

    def answer(self, request_id: object, result: Json) -> None:
        kind = {"resultType": "complete"} if self.modern else {}
        self.send({"id": request_id, "result": {**kind, **result}})

    def serve(self) -> None:
        self.journal("start", pid=os.getpid(), variables=sorted(os.environ))
        signal.alarm(LONGEST_LIFE)
        while raw := sys.stdin.buffer.readline():
            line = raw.decode()
            self.journal("received", line=line.rstrip("\n"))
            while (awaited := self.options.get("start_when")) and not Path(awaited).exists():
                time.sleep(0.01)
            self.receive(json.loads(line))
        self.journal("eof")
        os._exit(0)  # conversations under way must not keep a server alive whose client has gone

    def receive(self, message: Json) -> None:
        method = message.get("method")
        if method is None:
            self.questions[message["id"]].answer(message)
        elif "id" not in message:
            self.notified(method, message.get("params", {}))
        elif method in ("tools/call", "prompts/get", "resources/read") and self.is_spoken(message):
            threading.Thread(target=self.converse, args=(message,), daemon=True).start()
        else:
            try:
                self.check_era(message)
                if (result := self.result_of(message)) is not None:
                    self.answer(message["id"], result)
            except Refused as refused:
                self.send({"id": message["id"], "error": refused.error})

    def notified(self, method: str, params: Json) -> None:
        if method == "notifications/cancelled":
            self.streams.pop(params["requestId"], None)
            if conversation := self.conversations.get(params["requestId"]):
                conversation.cancelled.set()

    def is_spoken(self, message: Json) -> bool:
        """Whether the request is of the era that this server speaks."""
        return (RESERVED + "protocolVersion" in message.get("params", {}).get("_meta", {})) is self.modern

    def check_era(self, message: Json) -> None:
        if message["method"] == "initialize" and self.modern:
            data = {"supported": [MODERN_VERSION], "requested": message["params"]["protocolVersion"]}
            raise Refused({"code": -32022, "message": "Unsupported protocol version", "data": data})
        if self.modern and not self.is_spoken(message):
            raise Refused({"code": -32602, "message": "Every request needs its _meta"})

    def result_of(self, message: Json) -> Json | None:
        """What a request that nobody converses in is answered with; None leaves it open."""
        method, params = message["method"], message.get("params", {})
        if plain := (MODERN_PLAIN if self.modern else LEGACY_PLAIN).get(method):
            return plain(self, params)
        if method == "subscriptions/listen" and self.modern:
            self.listen(message["id"], params["notifications"])
            return None
        raise Refused({"code": -32601, "message": f"Method not found: {method}"})

    def page(self, kind: str, items: list[Json], params: Json) -> Json:
        start = int(params.get("cursor", 0))
        end = start + (self.options.get("page_size") or max(len(items), 1))
        following = {"nextCursor": str(end)} if end < len(items) else {}
        return {kind: items[start:end], **following, **(CACHED if self.modern else {})}

    def list_tools(self, _: Json) -> Json:
        listed = [
            {"name": name, "description": "Talks", "inputSchema": {"type": "object"}} for name in self.tools
        ]
        if path := self.options.get("definitions_file"):
            listed = json.loads(Path(path).read_text(encoding="utf-8"))
        return {"tools": listed, **(CACHED if self.modern else {})}

    def complete(self, params: Json) -> Json:
        asked = {name: value for name, value in params.items() if name != "_meta"}
        return {"completion": {"values": [json.dumps(asked)], "total": 1, "hasMore": False, "x-unknown": 1}}

    def subscribe(self, params: Json) -> Json:
        self.subscribed.add(params["uri"])
        return {}

    def unsubscribe(self, params: Json) -> Json:
        self.subscribed.discard(params["uri"])
        return {}

    def set_level(self, params: Json) -> Json:
        self.level = params["level"]
        return {}

    def initialise(self, params: Json) -> Json:
        asked = params["protocolVersion"]
        version = asked if asked in LEGACY_VERSIONS else LEGACY_VERSIONS[-1]
        greeting = {"protocolVersion": version, "capabilities": self.capabilities, "serverInfo": IDENTITY}
        return {**greeting, **self.told()}

    def discover(self, _: Json) -> Json:
        meta = {RESERVED + "serverInfo": IDENTITY}
        return {
            "supportedVersions": [MODERN_VERSION],
            "capabilities": self.capabilities,
            "_meta": meta,
            **self.told(),
            **CACHED,
        }

    def told(self) -> Json:
        """What models are told, if anything."""
        path = self.options.get("instructions_file")
        return {"instructions": Path(path).read_text(encoding="utf-8")} if path else {}

    def listen(self, request_id: object, wanted: Json) -> None:
        self.streams[request_id] = wanted
        acknowledged = {"_meta": {SUBSCRIPTION: request_id}, "notifications": wanted}
        self.notify("notifications/subscriptions/acknowledged", acknowledged)

    def converse(self, message: Json) -> None:
        params, method = message["params"], message["method"]
        steps = params.get("arguments", {}).get("steps", [])
        if method == "resources/read":
            steps = self.options.get("read_steps", {}).get(params["uri"], [])
        elif method == "prompts/get" and steps:
            steps = json.loads(steps)  # the arguments of a prompt are strings
        conversation = Conversation(self, message, steps)
        self.conversations[conversation.id] = conversation
        try:
            conversation.resume()
            conversation.take_steps()
            self.answer(conversation.id, self.final(method, params, conversation))
        except Refused as refused:
            self.send({"id": conversation.id, "error": refused.error})
        except (Finished, Unfinished) as ended:
            self.answer(conversation.id, ended.result)
        except Exception as wrong:  # noqa: BLE001 - a script that makes no sense fails its test at once
            self.send({"id": conversation.id, "error": {"code": -32603, "message": f"bad script: {wrong!r}"}})

    def final(self, method: str, params: Json, conversation: Conversation) -> Json:
        told = conversation.told()
        if method == "tools/call":
            return {"content": [{"type": "text", "text": told}]}
        if method == "prompts/get":
            content = {"type": "text", "text": told, "x-unknown": [params["name"]]}
            return {
                "description": "A talk",
                "messages": [{"role": "user", "content": content}],
                "x-unknown": {},
            }
        cached = CACHED if self.modern else {}
        return {"contents": [{"uri": params["uri"], "text": told, **CONTENTS}], "x-unknown": 0, **cached}

    def announce(self, kind: str) -> None:
        method = f"notifications/{kind}/list_changed"
        if not self.modern:
            self.notify(method)
        for stream, wanted in self.streams.items():
            if wanted.get(f"{kind}ListChanged"):
                self.notify(method, {"_meta": {SUBSCRIPTION: stream}})

    def update(self, uri: str) -> None:
        if uri in self.subscribed:
            self.notify("notifications/resources/updated", {"uri": uri, "x-unknown": 1})
        for stream, wanted in self.streams.items():
            if uri in wanted.get("resourceSubscriptions", ()):
                params = {"uri": uri, "x-unknown": 1, "_meta": {SUBSCRIPTION: stream}}
                self.notify("notifications/resources/updated", params)


PLAIN: dict[str, Callable[[Server, Json], Json]] = {
    "tools/list": Server.list_tools,
    "resources/list": lambda server, params: server.page("resources", server.resources, params),
    "resources/templates/list": lambda server, params: server.page("resourceTemplates", TEMPLATES, params),
    "prompts/list": lambda server, params: server.page("prompts", server.prompts, params),
    "completion/complete": Server.complete,
}
LEGACY_PLAIN = {
    **PLAIN,
    "initialize": Server.initialise,
    "ping": lambda *_: {},
    "logging/setLevel": Server.set_level,
    "resources/subscribe": Server.subscribe,
    "resources/unsubscribe": Server.unsubscribe,
}
MODERN_PLAIN = {**PLAIN, "server/discover": Server.discover}


def main() -> None:
    Server(json.loads(sys.argv[1])).serve()


if __name__ == "__main__":
    main()
