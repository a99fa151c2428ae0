"""Legacy and modern clients of a shared workbench, for tests that decide about each HTTP request."""

from __future__ import annotations

import contextlib
import json
from itertools import count
from typing import TYPE_CHECKING

from tests.servers.scripted import MODERN_VERSION, RESERVED
from tests.support.http import BOTH, Wire
from tests.support.sessions import CLIENT_INFO, NEWEST_LEGACY, result_of
from tests.support.talking import able, using

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from tests.support.client import Json
    from tests.support.http import Response

    Headers = dict[str, str]

JSON = {"Accept": BOTH, "Content-Type": "application/json"}


class RawHttpClient:
    """Sends each request on a connection of its own, and closes all of them at the end."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url
        self.headers: Headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._wires: list[Wire] = []
        self._ids = count(1)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave_all()

    def leave_all(self) -> None:
        """Close all connections of the client."""
        for wire in self._wires:
            wire.cut()
        self._wires = []

    async def wire(self) -> Wire:
        wire = await Wire.open(self.url)
        self._wires.append(wire)
        return wire

    async def ask(self, method: str, headers: Headers | None = None, body: bytes | None = None) -> Response:
        return await (await self.wire()).ask(method, {**self.headers, **(headers or {})}, body)

    async def post(self, message: object, headers: Headers | None = None) -> Response:
        """Post a message as JSON, or bytes as they are."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return await self.ask("POST", {**JSON, **(headers or {})}, body)

    def next_id(self) -> int:
        return next(self._ids)


class Legacy(RawHttpClient):
    """A legacy client, which has a session once it has greeted."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with contextlib.suppress(ConnectionError, EOFError):  # the workbench may have gone first
                await self.ask("DELETE")
        finally:
            await super().__aexit__(kind, error, trace)

    async def greet(self, version: str = NEWEST_LEGACY, capabilities: Json | None = None) -> Json:
        params = {
            "protocolVersion": version,
            "capabilities": able("legacy") if capabilities is None else capabilities,
            "clientInfo": CLIENT_INFO,
        }
        response = await self.send("initialize", params)
        assert response.status == 200
        self.headers |= {
            "Mcp-Session-Id": response.headers["mcp-session-id"],
            "MCP-Protocol-Version": version,
        }
        result = result_of(await response.json())
        assert (await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})).status == 202
        return result

    async def send(self, method: str, params: Json | None = None, request_id: object = None) -> Response:
        request_id = self.next_id() if request_id is None else request_id
        return await self.post({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}})

    async def call(
        self, *steps: Json, server: str = "legacy", request_id: object = None, meta: Json | None = None
    ) -> Response:
        """Call the tool of a server that converses in these steps."""
        params = using(server, {"steps": list(steps)})
        return await self.send("tools/call", params | ({"_meta": meta} if meta else {}), request_id)

    async def listen(self, last_event: str | None = None) -> Response:
        resumed = {} if last_event is None else {"Last-Event-ID": last_event}
        return await self.ask("GET", {"Accept": "text/event-stream", **resumed})

    async def notify(self, method: str, params: Json | None = None) -> None:
        response = await self.post({"jsonrpc": "2.0", "method": method, "params": params or {}})
        assert (response.status, await response.body()) == (202, b"")

    async def answer(self, question: Json, result: Json) -> None:
        response = await self.post({"jsonrpc": "2.0", "id": question["id"], "result": result})
        assert (response.status, await response.body()) == (202, b"")


class Modern(RawHttpClient):
    """A modern client, whose every request declares its version and capabilities."""

    def dressed(
        self, method: str, params: Json | None = None, request_id: object = None, meta: Json | None = None
    ) -> tuple[Json, Headers]:
        """A request, and the headers that belong to it."""
        params = dict(params or {})
        params["_meta"] = {
            RESERVED + "protocolVersion": MODERN_VERSION,
            RESERVED + "clientCapabilities": able("modern"),
            **(meta or {}),
        }
        headers = {"MCP-Protocol-Version": MODERN_VERSION, "Mcp-Method": method}
        if (named := params.get("uri" if method == "resources/read" else "name")) is not None:
            headers["Mcp-Name"] = named
        request_id = self.next_id() if request_id is None else request_id
        return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}, headers

    async def send(
        self, method: str, params: Json | None = None, request_id: object = None, meta: Json | None = None
    ) -> Response:
        return await self.post(*self.dressed(method, params, request_id, meta))

    async def call(
        self,
        *steps: Json,
        server: str = "legacy",
        request_id: object = None,
        meta: Json | None = None,
        more: Json | None = None,
    ) -> Response:
        """Call the tool of a server that converses in these steps; `more` is what a repeated request adds."""
        params = {**using(server, {"steps": list(steps)}), **(more or {})}
        return await self.send("tools/call", params, request_id, meta)

    async def listen(self, **wanted: object) -> Response:
        """Open a stream of changes, and wait until it is acknowledged."""
        response = await self.send("subscriptions/listen", {"notifications": wanted})
        assert (response.status, response.is_stream) == (200, True)
        acknowledged = await response.next_message()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        return response
