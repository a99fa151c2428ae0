"""While clients do not read, responses are left with the server; what a server does not read is counted."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from tests.downstream.remote.serving import discovered, ready, serving, text
from tests.downstream.servers import call_tool, server
from tests.support.waiting import poll
from tests.wire.loops import ON_BOTH_LOOPS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.downstream.remote.serving import Asked, Reply

pytestmark = ON_BOTH_LOOPS

PIECE = "x" * 1_000_000


async def test_a_server_has_to_wait_while_nothing_is_read(tmp_path: Path) -> None:
    sent = 0
    stuck = asyncio.Event()

    async def handle(asked: Asked, reply: Reply) -> None:
        nonlocal sent
        if await discovered(asked, reply):
            return
        await reply.events(": begin", ends=False)
        note = {
            "jsonrpc": "2.0",
            "method": "notifications/message",
            "params": {"level": "info", "data": PIECE},
        }
        for _ in range(60):
            try:
                await asyncio.wait_for(reply.event(f"data: {json.dumps(note)}"), 1 if sent else 10)
            except TimeoutError:
                stuck.set()
                await reply.writer.drain()
            sent += 1
        await reply.event(f"data: {json.dumps({'jsonrpc': '2.0', 'id': asked.id, 'result': text('done')})}")
        await reply.raw(b"0\r\n\r\n")

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        session = await ready(it)
        assert it.up
        call = call_tool(session, "echo", 30)
        await http.wait_for(lambda http: http.calls("tools/call"))
        it.up[0].pause()
        await asyncio.wait_for(stuck.wait(), 30)
        assert sent < 60
        it.up[0].resume()
        assert json.loads(bytes(await call.result)) == text("done")


async def test_what_the_server_does_not_read_is_counted_until_it_does(tmp_path: Path) -> None:
    may_read = asyncio.Event()

    async def handle(asked: Asked, reply: Reply) -> None:
        if not await discovered(asked, reply):
            await reply.result(asked, text("yes"))

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        session = await ready(it)
        connection = it.up[0]
        assert connection is not None
        http.before_reading = may_read.wait
        arguments = json.dumps({"x": PIECE * 40}).encode()
        call = call_tool(session, "echo", 30, arguments)
        await poll(lambda: connection.waiting > len(arguments) / 2)
        assert session.is_backed_up
        may_read.set()
        await call.result
        assert (connection.waiting, session.is_backed_up) == (0, False)
