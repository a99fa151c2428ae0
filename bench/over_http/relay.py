"""The bare endpoint that the workbench over HTTP is measured against: Starlette, orjson, one server's pipes.

It parses each message, puts another id in, writes it out again, and does nothing else: no sessions, no
checks, no time-outs, no care for a server that dies.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from bench.over_http.settings import SETTINGS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

LINE_LIMIT = 128 * 1024 * 1024
LEGACY = "2025-11-25"
INFO = {"name": "relay", "version": "1.0"}
ABOUT = {"protocolVersion": LEGACY, "capabilities": {"tools": {}}, "serverInfo": INFO}
HELLO = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": INFO}

Message = dict[str, Any]


class Relay:
    """Many clients in front, one server behind."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._last_id = 0
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._stdin: asyncio.StreamWriter

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Starts the server, and greets it."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, limit=LINE_LIMIT
        )
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("a process was started without its pipes")
        self._stdin = process.stdin
        answers = asyncio.create_task(self._take_answers(process.stdout))
        await self._ask({"jsonrpc": "2.0", "method": "initialize", "params": HELLO})
        await self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield
        answers.cancel()

    async def post(self, request: Request) -> Response:
        """Relays one message."""
        message = orjson.loads(await request.body())
        if "id" not in message:
            return Response(status_code=202)
        caller = message["id"]
        if message["method"] == "initialize":
            answer = {"jsonrpc": "2.0", "id": caller, "result": ABOUT}
        else:
            answer = await self._ask(message)
            answer["id"] = caller
        return Response(orjson.dumps(answer), media_type="application/json")

    async def _ask(self, message: Message) -> Message:
        self._last_id += 1
        message["id"] = self._last_id
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[self._last_id] = answer
        await self._send(message)
        return await answer

    async def _send(self, message: Message) -> None:
        self._stdin.write(orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE))
        await self._stdin.drain()

    async def _take_answers(self, stdout: asyncio.StreamReader) -> None:
        while line := await stdout.readline():
            answer: Message = orjson.loads(line)
            self._waiting.pop(answer["id"]).set_result(answer)


if __name__ == "__main__":
    relay = Relay(orjson.loads(sys.argv[2]))
    app = Starlette(routes=[Route("/mcp", relay.post, methods=["POST"])], lifespan=relay.lifespan)
    uvicorn.run(app, port=int(sys.argv[1]), **SETTINGS)
