"""A workbench that is shared over HTTP, as a child process, and its legacy and modern clients."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from signal import SIGKILL
from typing import TYPE_CHECKING

import httpx2

from tests.servers.scripted import MODERN_VERSION, RESERVED
from tests.support.client import clean_environment, serve_command, write_config
from tests.support.sessions import CLIENT_INFO, NEWEST_LEGACY, result_of
from tests.support.talking import able
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from tests.support.client import Json
    from tests.support.sessions import Era

BOTH = "application/json, text/event-stream"


class Shared:
    """A workbench that serves, and what it has logged."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.log = ""
        self.http = httpx2.AsyncClient(timeout=PATIENCE)

    @property
    def url(self) -> str:
        found = re.search(r"serving at (http://\S+)", self.log)
        return found[1] if found else ""

    async def read_log(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self.log += line.decode()

    async def client(self, token: str | None, era: Era) -> TokenClient:
        """A client that has introduced itself. A legacy one can be asked anything."""
        client = TokenClient(self, token, era)
        await client.greet()
        return client

    async def post(self, message: Json, headers: dict[str, str]) -> httpx2.Response:
        return await self.http.post(self.url, json=message, headers={"accept": BOTH, **headers})


class TokenClient:
    """A client of one protocol version with a token."""

    def __init__(self, shared: Shared, token: str | None, era: Era) -> None:
        self._shared = shared
        self.era = era
        self.headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self.greeting: Json = {}

    async def greet(self) -> None:
        if self.era == "modern":
            self.greeting = result_of(await self.request("server/discover"))
            return
        params = {"protocolVersion": NEWEST_LEGACY, "capabilities": able("legacy"), "clientInfo": CLIENT_INFO}
        response = await self.send("initialize", params)
        self.greeting = result_of(answer_in(response))
        self.headers |= {"mcp-session-id": response.headers["mcp-session-id"]}

    def dressed(self, method: str, params: Json) -> tuple[Json, dict[str, str]]:
        """A request and its headers, in the client's protocol version."""
        headers = dict(self.headers)
        if self.era == "modern":
            meta = {RESERVED + "protocolVersion": MODERN_VERSION, RESERVED + "clientCapabilities": {}}
            params = {**params, "_meta": meta}
            headers |= {"mcp-protocol-version": MODERN_VERSION, "mcp-method": method}
            if named := params.get("uri" if method == "resources/read" else "name"):
                headers["mcp-name"] = named
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers

    async def send(self, method: str, params: Json | None = None) -> httpx2.Response:
        return await self._shared.post(*self.dressed(method, params or {}))

    async def request(self, method: str, params: Json | None = None) -> Json:
        """The whole answer, error or not."""
        return answer_in(await self.send(method, params))

    async def call(self, name: str, arguments: Json) -> Json:
        return result_of(await self.request("tools/call", {"name": name, "arguments": arguments}))

    async def open_toolbox(self, name: str) -> Json:
        return await self.call("open_toolbox", {"toolbox_name": name})

    async def use_tool(self, toolbox: str, server: str, tool: str, arguments: Json | None = None) -> Json:
        identifier = {"toolbox": toolbox, "server": server, "tool": tool}
        return await self.call("use_tool", {"tool": identifier, "arguments": arguments or {}})

    @contextlib.asynccontextmanager
    async def listening(self, wanted: Json) -> AsyncIterator[Stream]:
        """What the client is told beside answers, from the moment on that it is told something."""
        headers = {"accept": BOTH, **self.headers}
        if self.era == "modern":
            message, headers = self.dressed("subscriptions/listen", {"notifications": wanted})
            ask = self._shared.http.stream(
                "POST", self._shared.url, json=message, headers={"accept": BOTH, **headers}
            )
        else:
            ask = self._shared.http.stream("GET", self._shared.url, headers=headers)
        async with ask as response:
            assert response.status_code == 200
            stream = Stream()
            reading = asyncio.create_task(stream.read(response))
            try:
                yield stream
            finally:
                reading.cancel()
                await asyncio.wait([reading])


class Stream:
    """What has come on a stream of events so far."""

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self.has_ended = False

    async def read(self, response: httpx2.Response) -> None:
        async for line in response.aiter_lines():
            if line.startswith("data:") and line[5:].strip():
                self.messages.append(json.loads(line[5:]))
        self.has_ended = True

    @property
    def methods(self) -> list[str]:
        return [message["method"] for message in self.messages if "method" in message]


def answer_in(response: httpx2.Response) -> Json:
    """The answer, which may come alone or as the last of several events."""
    text = response.text
    if response.headers["content-type"].startswith("text/event-stream"):
        text = [line[5:] for line in text.splitlines() if line.startswith("data:")][-1]
    answer: Json = json.loads(text)
    return answer


@contextlib.asynccontextmanager
async def sharing(
    home: Path,
    config: Json,
    *args: str,
    address: str = "127.0.0.1:0",
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[Shared]:
    """A workbench that serves over HTTP until the end of the block."""
    command = serve_command(write_config(home, config), "serve", "--http", address, *args)
    process = await asyncio.create_subprocess_exec(
        *command,
        env=clean_environment(home, env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    shared = Shared(process)
    reading = asyncio.create_task(shared.read_log())
    try:
        await poll(lambda: shared.url or process.returncode is not None)
        assert shared.url, shared.log
        yield shared
    finally:
        await shared.http.aclose()
        if process.returncode is None:
            process.terminate()
        try:
            async with asyncio.timeout(PATIENCE):
                printed, code = await asyncio.gather(_rest_of(process), process.wait())
                await reading
        except TimeoutError:
            os.killpg(process.pid, SIGKILL)
            raise
    assert (code, printed) == (0, b""), shared.log
    assert "Traceback" not in shared.log, shared.log


async def _rest_of(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    return await process.stdout.read()
