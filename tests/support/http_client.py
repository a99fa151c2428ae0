"""The raw client over HTTP, so that a test that was written for pipes runs over both.

Each message is a request of its own, on a connection of its own. A client of the older era also keeps a
stream open for what belongs to no request; one of the newer cancels by closing a connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from base64 import b64encode
from signal import SIGTERM
from typing import TYPE_CHECKING

from tests.servers.scripted import RESERVED
from tests.support.client import RawClient, key_of
from tests.support.http import BOTH, Wire

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from tests.support.client import Exit, Json
    from tests.support.http import Response

NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class HttpClient(RawClient):
    """The workbench as a child that serves over HTTP, and one client of it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        super().__init__([*command, "serve", "--http", "127.0.0.1:0"], environment)
        self.url = ""
        self._session: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: dict[tuple[str, object], tuple[Wire, bool]] = {}
        """The connections of the requests in flight, and whether they are of the newer era."""

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        await self.wait_for_stderr("serving at ")
        found = re.search(r"serving at (http://\S+)", self.stderr)
        assert found is not None
        self.url = found[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, error, trace)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def close(self) -> Exit:
        """Leaves, with all that it still waits for but streams, and then asks the workbench to end too: it
        would go on for others.
        """
        for (_, request_id), (wire, _) in self._open.items():
            if self.methods[key_of(request_id)] != "subscriptions/listen":
                wire.cut()
        if self._session:
            async with await Wire.open(self.url) as wire:
                assert (await wire.ask("DELETE", self._session)).status == 204
        return await self.signal(SIGTERM)

    async def send_raw(self, data: bytes) -> None:
        message = json.loads(data)
        if message.get("method") == "notifications/cancelled" and self._hang_up(
            message["params"]["requestId"]
        ):
            return
        is_modern = RESERVED + "protocolVersion" in message.get("params", {}).get("_meta", {})
        wire = await Wire.open(self.url)
        await wire.send("POST", self._headers(message, is_modern=is_modern), data.strip())
        if "method" in message and "id" in message:
            self._open[key_of(message["id"])] = wire, is_modern
            self._begin(self._read_answer(wire, message))
        else:
            await self._expect_accepted(wire, message)

    def _hang_up(self, request_id: object) -> bool:
        """Cancels a request of the newer era, if it is one: what has been answered cannot be cancelled."""
        wire, is_modern = self._open.get(key_of(request_id), (None, not self._session))
        if wire is not None and is_modern:
            wire.cut()
        return is_modern

    def _headers(self, message: Json, *, is_modern: bool) -> dict[str, str]:
        headers = {"Accept": BOTH, "Content-Type": "application/json"}
        if not is_modern:
            return headers | self._session
        params, method = message["params"], message["method"]
        headers["MCP-Protocol-Version"] = str(params["_meta"][RESERVED + "protocolVersion"])
        headers["Mcp-Method"] = method
        if (name := params.get(NAMED_BY.get(method, ""))) is not None:
            encoded = b64encode(name.encode()).decode()
            headers["Mcp-Name"] = name if name.isascii() else f"=?base64?{encoded}?="
        return headers

    async def _expect_accepted(self, wire: Wire, message: Json) -> None:
        async with wire:
            response = await wire.response()
            if response.status != 202 or await response.body():
                self.violations.append(f"answered with {response.status}: {message}")
        if message.get("method") == "notifications/initialized":
            listening = await Wire.open(self.url)
            await listening.send("GET", {"Accept": "text/event-stream", **self._session})
            self._begin(self._listen(await listening.response(), listening))

    async def _listen(self, response: Response, wire: Wire) -> None:
        async with wire:
            await self._take_all(response)

    async def _read_answer(self, wire: Wire, request: Json) -> None:
        async with wire:
            response = await wire.response(within=60)
            if request["method"] == "initialize" and response.status == 200:
                self._session = {"Mcp-Session-Id": response.headers["mcp-session-id"]}
            before = len(self.received)
            await self._take_all(response)
            if response.status != 200 and "error" not in self.received[before]:
                self.violations.append(f"a status of {response.status} for {self.received[before]}")
        self._open.pop(key_of(request["id"]), None)

    async def _take_all(self, response: Response) -> None:
        if not response.is_stream:
            await self._take_line(await response.body())
            return
        async for event in response.all_events():
            if event.data:
                await self._take_line(event.data.encode())

    async def _take_line(self, line: bytes) -> None:
        self._take(line)
        async with self._changed:
            self._changed.notify_all()

    def _answer(self, request_id: object, answer: Json | None) -> None:
        if answer is not None:
            line = json.dumps({"jsonrpc": "2.0", "id": request_id, **answer})
            self._begin(self.send_raw(line.encode()))

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _quietly(work: Coroutine[None, None, None]) -> None:
    """A connection that ends early is what the test wants, or shows in what it does not get."""
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        await work
