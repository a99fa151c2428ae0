"""The conversing server over Streamable HTTP: `-m tests.servers.conversing_http PORT '{"era": "modern", …}'`.

Each request has a stream of its own: its answer goes there, and what is said in the middle of it. What a
legacy server says by itself goes to the GET stream. A modern one checks the headers of each request against
its body, and takes a closed stream for a cancellation, which it writes into its journal as such.
"""

from __future__ import annotations

import json
import os
import queue
import select
import signal
import socket
import sys
import threading
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from tests.servers.conversing import LONGEST_LIFE, Server
from tests.servers.wares import MODERN_VERSION, SUBSCRIPTION

if TYPE_CHECKING:
    from tests.servers.wares import Json

    Stream = queue.SimpleQueue[Json]

SESSION = "the-session"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
ABOUT_A_REQUEST = ("notifications/progress", "notifications/message")
GLANCE = 0.02
"""Seconds between two looks whether the other side is still there."""


class HttpConverser(Server):
    """Says everything on the stream that it belongs to."""

    def __init__(self, options: Json) -> None:
        super().__init__(options)  # type: ignore[arg-type] # as they came by the command line
        self.exchanges: dict[object, Stream] = {}
        self.by_itself: Stream = queue.SimpleQueue()
        self._here = threading.local()

    def converse(self, message: Json) -> None:
        self._here.request = message["id"]
        super().converse(message)

    def send(self, message: Json) -> None:
        self._stream_for(message).put({"jsonrpc": "2.0", **message})

    def _stream_for(self, message: Json) -> Stream:
        method, params = message.get("method"), message.get("params") or {}
        if method is None:
            belongs_to = message["id"]
        elif "id" in message or method in ABOUT_A_REQUEST:
            belongs_to = params.get("progressToken", getattr(self._here, "request", None))
        else:
            belongs_to = params.get("_meta", {}).get(SUBSCRIPTION)
        return self.exchanges.get(belongs_to, self.by_itself)

    def fault(self, message: Json, headers: dict[str, str]) -> Json | None:
        """What is wrong with the headers of a request."""
        if not self.modern:
            has_session = headers.get("mcp-session-id") == SESSION
            if has_session or message.get("method") == "initialize":
                return None
            return {"code": -32000, "message": "Bad Request: no session"}
        method = message["method"]
        expected = {"mcp-protocol-version": MODERN_VERSION, "mcp-method": method}
        if method in NAMED:
            expected["mcp-name"] = message["params"][NAMED[method]]
        found = {name: decoded(headers.get(name, "")) for name in expected}
        return None if found == expected else {"code": -32020, "message": f"{found} is not {expected}"}

    def hung_up(self, request_id: object) -> None:
        del self.exchanges[request_id]
        if self.modern:
            cancelled = {"method": "notifications/cancelled", "params": {"requestId": request_id}}
            self.journal("received", line=json.dumps({"jsonrpc": "2.0", **cancelled}))
            self.notified("notifications/cancelled", {"requestId": request_id})


def decoded(value: str) -> str:
    """What a header says, which is in Base64 if it is no plain text."""
    if value.startswith("=?base64?") and value.endswith("?="):
        return b64decode(value[9:-2]).decode()
    return value


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "conversing"
    converser: HttpConverser

    def log_message(self, *_: object) -> None:
        """Not at all."""

    def do_GET(self) -> None:
        if self.converser.modern:
            self.answer(405)
        else:
            self.stream(self.converser.by_itself, None, [])

    def do_DELETE(self) -> None:
        self.converser.journal("deleted")
        self.answer(200)

    def do_POST(self) -> None:
        converser = self.converser
        body = self.rfile.read(int(self.headers["content-length"]))
        message = json.loads(body)
        headers = {name.lower(): value for name, value in self.headers.items()}
        if fault := converser.fault(message, headers):
            self.answer(400, {"jsonrpc": "2.0", "id": None, "error": fault})
            return
        converser.journal("received", line=body.decode())
        if "method" not in message or "id" not in message:
            converser.receive(message)
            self.answer(202)
            return
        replies = converser.exchanges[message["id"]] = queue.SimpleQueue()
        converser.receive(message)
        if (first := self.next_of(replies)) is None:
            converser.hung_up(message["id"])
        elif "method" in first:
            self.stream(replies, message["id"], [first])
        else:
            del converser.exchanges[message["id"]]
            session = {} if message["method"] != "initialize" else {"Mcp-Session-Id": SESSION}
            self.answer(200, first, session)

    def answer(self, status: int, message: Json | None = None, headers: dict[str, str] | None = None) -> None:
        body = b"" if message is None else json.dumps(message).encode()
        kind = {} if message is None else {"Content-Type": "application/json"}
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **kind, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def stream(self, replies: Stream, request_id: object, said: list[Json]) -> None:
        """Events, until the answer or, without a request, until the other side has gone."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        message = said[0] if said else self.next_of(replies)
        while message is not None:
            data = f"data: {json.dumps(message)}\n\n".encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            if "method" not in message:
                del self.converser.exchanges[request_id]
                self.wfile.write(b"0\r\n\r\n")
                return
            message = self.next_of(replies)
        if request_id is not None:
            self.converser.hung_up(request_id)

    def next_of(self, replies: Stream) -> Json | None:
        """What is said next, or None when there is nobody to hear it."""
        while True:
            try:
                return replies.get(timeout=GLANCE)
            except queue.Empty:
                if select.select([self.connection], [], [], 0)[0] and not self.connection.recv(
                    1, socket.MSG_PEEK
                ):
                    self.close_connection = True
                    return None


def main() -> None:
    Handler.converser = HttpConverser(json.loads(sys.argv[2]))
    Handler.converser.journal("start", pid=os.getpid(), variables=[])
    signal.alarm(LONGEST_LIFE)
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()


if __name__ == "__main__":
    main()
