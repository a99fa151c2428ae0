"""A legacy server over Streamable HTTP: its session, what it says by itself, streams that it lets go of."""

from __future__ import annotations

import asyncio
import itertools
import json
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.downstream.remote import streamable
from mcp_workbench.errors import BrokenOff
from tests.downstream.remote.serving import ECHO, SESSION, initialized, ready, serving, text
from tests.downstream.servers import call_tool, server
from tests.support.waiting import PATIENCE
from tests.wire.loops import ON_BOTH_LOOPS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.downstream.remote.serving import Asked, Reply
    from tests.support.client import Json

pytestmark = ON_BOTH_LOOPS


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamable, "RESUME_SECONDS", 0.05)
    monkeypatch.setattr(streamable, "MIN_RELISTEN_SECONDS", 0.05)


async def answer(asked: Asked, reply: Reply) -> None:
    if not await initialized(asked, reply):
        await reply.result(asked, text("yes"))


def note(method: str, **params: object) -> str:
    return f"data: {json.dumps({'jsonrpc': '2.0', 'method': method, 'params': params})}"


def done(asked: Asked, said: str = "done") -> str:
    return f"data: {json.dumps({'jsonrpc': '2.0', 'id': asked.id, 'result': text(said)})}"


async def test_all_that_follows_the_handshake_names_the_session_and_the_version(tmp_path: Path) -> None:
    async with serving(answer) as http, server({"url": http.url}, tmp_path) as it:
        session = await ready(it)
        assert not session.is_modern
        await call_tool(session, "echo", 5).result
        await it.close()
    (first, greeting, *following) = http.asked
    assert (first.calls, greeting.calls) == ("server/discover", "initialize")
    assert "mcp-session-id" not in greeting.headers
    assert "mcp-protocol-version" not in greeting.headers
    assert {asked.headers["mcp-session-id"] for asked in following} == {SESSION}
    assert {asked.headers["mcp-protocol-version"] for asked in following} == {"2025-11-25"}
    assert (following[-1].method, following[-1].body) == ("DELETE", b"")


async def test_a_server_without_sessions_is_not_told_of_the_end_of_one(tmp_path: Path) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if not await initialized(asked, reply, session=""):
            await reply.result(asked, text("yes"))

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        await call_tool(await ready(it), "echo", 5).result
        await it.close()
    assert {asked.method for asked in http.asked} == {"POST"}


async def test_nothing_is_sent_before_the_server_has_taken_that_it_is_initialized(tmp_path: Path) -> None:
    early = asyncio.Event()
    is_taken = False

    async def handle(asked: Asked, reply: Reply) -> None:
        nonlocal is_taken
        if asked.calls == "notifications/initialized":
            with suppress(TimeoutError):
                await asyncio.wait_for(early.wait(), 0.2)
            is_taken = True
        elif asked.calls == "tools/list" and not is_taken:
            early.set()
        await answer(asked, reply)

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        await it.connect(modern=True)
    assert not early.is_set()


async def test_what_the_server_says_by_itself_is_heard_and_answered(tmp_path: Path) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if asked.method != "GET":
            await answer(asked, reply)
            return
        ping = {"jsonrpc": "2.0", "id": "p-1", "method": "ping"}
        await reply.events(f"data: {json.dumps(ping)}", ends=False)
        await reply.gone()

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        await it.connect(modern=True)
        await http.wait_for(lambda http: any(asked.id == "p-1" for asked in http.asked if asked.body))
    (pong,) = [asked for asked in http.asked if asked.body and asked.id == "p-1"]
    assert pong.message == {"jsonrpc": "2.0", "id": "p-1", "result": {}}
    assert pong.headers["mcp-session-id"] == SESSION


async def test_the_stream_of_what_it_says_by_itself_is_opened_again_where_it_ended(tmp_path: Path) -> None:
    streams: list[Asked] = []
    tools: list[Json] = [ECHO]

    async def handle(asked: Asked, reply: Reply) -> None:
        if asked.method == "GET":
            streams.append(asked)
            if len(streams) == 1:
                await reply.events("id: 7\nretry: 20\ndata: ")
            else:
                tools.append({**ECHO, "name": "more"})
                await reply.events(note("notifications/tools/list_changed"), ends=False)
                await reply.gone()
        elif asked.calls == "tools/list":
            await reply.result(asked, {"tools": tools})
        else:
            await answer(asked, reply)

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        await it.connect(modern=True)
        await http.wait_for(lambda http: len(http.calls("tools/list")) == 2)
        assert len((await it.connect(modern=True)).listed) == 2
    assert [stream.headers.get("last-event-id") for stream in streams] == [None, "7"]


async def test_changes_are_looked_for_after_a_stream_without_ids_was_interrupted(tmp_path: Path) -> None:
    streams = 0

    async def handle(asked: Asked, reply: Reply) -> None:
        nonlocal streams
        if asked.method == "GET":
            streams += 1
            await reply.events(": quiet", ends=streams == 1)
            if streams > 1:
                await reply.gone()
        elif not await initialized(asked, reply, tools={"listChanged": True}):
            await reply.result(asked, text("yes"))

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        await it.connect(modern=True)
        await http.wait_for(lambda http: len(http.calls("tools/list")) == 2)


async def test_a_stream_that_the_server_lets_go_of_is_taken_up_where_it_was(tmp_path: Path) -> None:
    calls: list[Asked] = []

    async def handle(asked: Asked, reply: Reply) -> None:
        at = asked.headers.get("last-event-id")
        if at == "a-1":
            await reply.events("id: a-2\nretry: 10\n" + note("notifications/message", level="info", data=1))
        elif at == "a-2":
            await reply.events("id: a-3\n" + done(calls[0]))
        elif not await initialized(asked, reply):
            calls.append(asked)
            await reply.events("id: a-1\nretry: 10\ndata: ")

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        result = await call_tool(await ready(it), "echo", 5).result
    assert json.loads(bytes(result)) == text("done")
    assert len(calls) == 1


async def test_a_stream_that_breaks_is_taken_up_too(tmp_path: Path) -> None:
    calls: list[Asked] = []

    async def handle(asked: Asked, reply: Reply) -> None:
        if asked.headers.get("last-event-id") == "a-1":
            await reply.events(done(calls[0]))
        elif not await initialized(asked, reply):
            calls.append(asked)
            await reply.events("id: a-1\ndata: ", ends=False)
            reply.hang_up()

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        result = await call_tool(await ready(it), "echo", 5).result
    assert json.loads(bytes(result)) == text("done")


async def test_a_stream_that_breaks_again_and_again_is_given_up(tmp_path: Path) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if asked.headers.get("last-event-id") == "a-1" or not await initialized(asked, reply):
            await reply.events("id: a-1\nretry: 1\ndata: ", ends=False)
            reply.hang_up()

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        session = await ready(it)
        with pytest.raises(BrokenOff, match="broke"):
            await call_tool(session, "echo", 30).result
    assert len([asked for asked in http.asked if "last-event-id" in asked.headers]) == 3


async def test_a_server_that_keeps_ending_its_stream_is_asked_less_and_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamable, "MIN_RELISTEN_SECONDS", 0.3)
    times: list[float] = []

    async def handle(asked: Asked, reply: Reply) -> None:
        if asked.method == "GET":
            times.append(asyncio.get_running_loop().time())
            await reply.events("retry: 0\ndata: ")
        else:
            await answer(asked, reply)

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        await it.connect(modern=True)
        await http.wait_for(lambda http: len([asked for asked in http.asked if asked.method == "GET"]) == 4)
    waits = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert min(waits) >= 0.1
    assert waits[-1] >= 0.8


@pytest.mark.parametrize("numbered", [True, False])
async def test_a_stream_that_cannot_be_taken_up_fails_its_call_alone(tmp_path: Path, numbered: bool) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if not await initialized(asked, reply):
            if asked.message["params"]["name"] == "echo":
                await reply.result(asked, text("yes"))
            else:
                await reply.events("id: a-1\ndata: " if numbered else ": nothing")

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        session = await ready(it)
        with pytest.raises(BrokenOff, match="ended before the answer came"):
            await call_tool(session, "vanish", 5).result
        assert json.loads(bytes(await call_tool(session, "echo", 5).result)) == text("yes")


async def test_a_cancelled_call_is_told_to_the_server_and_its_stream_is_closed(tmp_path: Path) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if not await initialized(asked, reply):
            await reply.events(": working", ends=False)
            await reply.gone()

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        call = call_tool(await ready(it), "echo", 5)
        await http.wait_for(lambda http: http.calls("tools/call"))
        (working,) = http.calls("tools/call")
        call.cancel("enough")
        await http.wait_for(lambda http: http.calls("notifications/cancelled"))
        (told,) = http.calls("notifications/cancelled")
        assert told.message["params"] == {"requestId": working.id, "reason": "enough"}
        await http.wait_for(lambda http: not http.is_connected(working.connection))


async def test_the_end_of_a_session_does_not_wait_for_a_server_that_hangs(tmp_path: Path) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if asked.method == "DELETE":
            await reply.gone()
        else:
            await answer(asked, reply)

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        await it.connect(modern=True)
        async with asyncio.timeout(PATIENCE / 3):
            await it.close()
    assert http.asked[-1].method == "DELETE"


NO_SESSION = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}'


@pytest.mark.parametrize(
    "refusal",
    [
        *((400, b"", ""), (404, b"nothing here", "text/plain"), (405, b"", ""), (406, b"", "")),
        *(
            (500, b"oops", "text/plain"),
            (200, b"<html>hi</html>", "text/html"),
            (200, b"", ""),
            (202, b"", ""),
        ),
        (400, NO_SESSION, "application/json"),
    ],
    ids=lambda refusal: f"{refusal[0]}-{refusal[2]}",
)
async def test_whatever_a_server_says_to_the_probe_that_is_not_modern_makes_it_legacy(
    tmp_path: Path, refusal: tuple[int, bytes, str]
) -> None:
    status, body, kind = refusal

    async def handle(asked: Asked, reply: Reply) -> None:
        if asked.calls == "server/discover":
            await reply.status(status, body, content_type=kind)
        else:
            await answer(asked, reply)

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        assert not (await ready(it)).is_modern


async def test_the_era_is_remembered_and_not_asked_for_again(tmp_path: Path) -> None:
    async with serving(answer) as http:
        entry = {"url": http.url, "headers": {"X-Key": "the key of this door"}}
        for _ in range(2):
            async with server(entry, tmp_path) as it:
                await it.connect(modern=True)
    assert len(http.calls("server/discover")) == 1
    assert [asked.headers["x-key"] for asked in http.asked] == ["the key of this door"] * len(http.asked)
