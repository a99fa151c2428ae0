"""One client that posts calls over HTTP, without a socket or a turn of the loop between the steps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcp_workbench.config import HttpConfig
from mcp_workbench.serve.admission import Admission
from mcp_workbench.surface.http.clients import Clients
from mcp_workbench.surface.http.endpoint import Endpoint
from tests.serve.relayed import Behind, call

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from starlette.types import Message

HELLO = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}'


class Post:
    """One HTTP request. It is taken as far as it goes by itself, and then once more."""

    def __init__(self, endpoint: Endpoint, headers: dict[str, str], body: bytes) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.body: list[bytes] = []
        """The parts of the response's body, as they were sent."""
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": pairs}
        self._request = {"type": "http.request", "body": body, "more_body": False}
        self._work: Coroutine[Any, Any, None] = endpoint(scope, self._receive, self._send)

    def go_on(self) -> bool:
        """Whether it has ended with that."""
        try:
            self._work.send(None)
        except StopIteration:
            return True
        return False

    async def _receive(self) -> Message:
        return self._request

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = dict(message["headers"])
        else:
            self.body.append(message["body"])


class RelayedOverHttp(Behind):
    """A legacy server, and one client: legacy with a session, or modern without one."""

    def __init__(self, directory: Path, *, modern: bool) -> None:
        super().__init__(directory, modern=False)
        self.modern = modern
        self.clients = Clients(self.workbench, {})
        self._endpoint = Endpoint(self.clients, Admission("127.0.0.1", HttpConfig(), None, self.clients))
        self._headers = {
            "host": "127.0.0.1:8000",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        self._last_id = 0
        if modern:
            self._headers |= {"mcp-method": "tools/call", "mcp-name": "use_tool"}
            self._headers["mcp-protocol-version"] = "2026-07-28"
        else:
            hello = Post(self._endpoint, self._headers, HELLO)
            assert hello.go_on()
            self._headers["mcp-session-id"] = hello.headers[b"mcp-session-id"].decode()
            self._headers["mcp-protocol-version"] = "2025-11-25"

    def call(self, size: int) -> tuple[Callable[[], None], Callable[[], None], Post]:
        """A call with a result of that size, in two steps: the request, and the answer to it."""
        self._last_id += 1
        post = Post(self._endpoint, self._headers, call(self._last_id, 0, modern=self.modern))
        later_id = self.latest_id + 1
        result = {"content": [{"type": "text", "text": "~" * size}]}
        line = json.dumps({"jsonrpc": "2.0", "id": later_id, "result": result}).encode()

        def request() -> None:
            assert not post.go_on()

        def answer() -> None:
            self.server_says(line)
            assert post.go_on()

        return request, answer, post
