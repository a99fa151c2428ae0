"""After a hundred requests of each kind there is nothing left of them."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.surface.client_connection import ClientConnection
from mcp_workbench.surface.http.exchange import HttpExchange
from mcp_workbench.surface.http.session import HttpSession
from mcp_workbench.surface.http.stream import ResponseStream
from tests.grid.benches import conversing_server
from tests.grid.questions import form
from tests.serve.http.inside import serving
from tests.serve.http.raw_clients import JSON, Legacy, Modern
from tests.support.configs import toolboxes
from tests.support.http import Wire
from tests.support.journal import Journal
from tests.support.sessions import result_of
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from tests.serve.http.inside import Inside
    from tests.support.client import Json

TIMES = 100
AT_ONCE = 20
OURS = (ClientConnection, HttpSession, ResponseStream, HttpExchange)


def alive() -> Counter[str]:
    gc.collect()
    return Counter(type(it).__name__ for it in gc.get_objects() if isinstance(it, OURS))


@pytest.fixture
async def inside(tmp_path: Path) -> AsyncIterator[Inside]:
    config = toolboxes(dev={"legacy": conversing_server("legacy", Journal(tmp_path / "journal"))})
    async with serving(tmp_path, config) as inside:
        yield inside


async def modern_lists(url: str) -> None:
    async with Modern(url) as client:
        await (await client.send("tools/list")).json()


async def modern_calls(url: str) -> None:
    async with Modern(url) as client:
        await (await client.call()).messages()


async def modern_calls_that_say_something(url: str) -> None:
    async with Modern(url) as client:
        await (await client.call({"progress": {"steps": 1}}, meta={"progressToken": 1})).messages()


async def modern_errors(url: str) -> None:
    async with Modern(url) as client:
        await (await client.send("nonsense")).json()


async def modern_calls_that_are_given_up(url: str) -> None:
    async with Modern(url) as client:
        response = await client.call({"progress": {"steps": 1}}, {"hang": 1}, meta={"progressToken": 1})
        await response.next_message()


async def modern_calls_that_are_given_up_unheard(url: str) -> None:
    async with Modern(url) as client, await Wire.open(url) as wire:
        message, headers = client.dressed("tools/call", {"name": "open_toolbox"})
        await wire.send("POST", {**JSON, **headers}, str(message).replace("'", '"').encode())


async def modern_streams(url: str) -> None:
    async with Modern(url) as client:
        uris = ["workbench:dev/legacy/test://first"]
        await client.listen(toolsListChanged=True, resourceSubscriptions=uris)


async def broken_messages(url: str) -> None:
    async with Modern(url) as client:
        await (await client.post(b"{")).json()


async def sessions(url: str) -> None:
    async with Legacy(url) as client:
        await client.greet()
        await client.listen()


async def failed_handshakes(url: str) -> None:
    async with Modern(url) as client:
        await (await client.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})).json()


async def sessions_that_end_in_mid_call(url: str) -> None:
    async with Legacy(url) as client:
        await client.greet()
        response = await client.call({"progress": {"steps": 1}}, {"hang": 1}, meta={"progressToken": 1})
        await response.next_message()


KINDS: list[Callable[[str], Awaitable[None]]] = [
    modern_lists,
    modern_calls,
    modern_calls_that_say_something,
    modern_errors,
    modern_calls_that_are_given_up,
    modern_calls_that_are_given_up_unheard,
    modern_streams,
    broken_messages,
    sessions,
    failed_handshakes,
    sessions_that_end_in_mid_call,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda it: it.__name__)
async def test_nothing_is_left(inside: Inside, kind: Callable[[str], Awaitable[None]]) -> None:
    await modern_calls(inside.url)
    await inside.wait_until_kept()
    before, tasks = alive(), len(asyncio.all_tasks())

    async def repeat() -> None:
        for _ in range(TIMES // AT_ONCE):
            await kind(inside.url)

    async with asyncio.timeout(90):
        await asyncio.gather(*(repeat() for _ in range(AT_ONCE)))
    await inside.wait_until_kept()
    # A server may ask something for a call that was given up a moment ago.
    await poll(lambda: alive() == before)
    assert len(asyncio.all_tasks()) <= tasks
    (toolbox_server,) = inside.workbench.toolbox_servers.values()
    assert not toolbox_server.server.in_use


async def test_a_session_does_not_grow_with_its_requests(inside: Inside) -> None:
    async with Legacy(inside.url) as client:
        await client.greet()
        for _ in range(TIMES // 5):
            result_of(await (await client.send("ping")).json())
            await (await client.call({"progress": {"steps": 1}}, meta={"progressToken": 1})).messages()
            client.leave_all()
        (session,) = inside.clients._sessions.values()
        assert len(session._streams) <= 20
        assert session._open == {}
        assert session.is_idle


async def test_questions_that_are_answered_leave_nothing(inside: Inside) -> None:
    async with Modern(inside.url) as client:
        for _ in range(TIMES // 10):
            steps: list[Json] = [{"ask": [form("yes?")]}]
            (asked,) = await (await client.call(*steps)).messages()
            result = result_of(asked)
            answers = {key: {"action": "decline"} for key in result["inputRequests"]}
            params = {"requestState": result["requestState"], "inputResponses": answers}
            (answer,) = await (await client.call(*steps, more=params)).messages()
            assert result_of(answer)["resultType"] == "complete"
            client.leave_all()
    await inside.wait_until_kept()
