"""Time-outs and cancellation: the server is told, the caller is not kept, the others go on."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.configs import acting, server, toolboxes
from tests.support.sessions import failure_of, text_of

if TYPE_CHECKING:
    from tests.conftest import Connect
    from tests.support.journal import Journal
    from tests.support.sessions import Era


async def test_a_call_without_an_answer_in_time_fails_and_is_cancelled_downstream(
    connect: Connect, journal: Journal, server_era: Era
) -> None:
    hanging = acting("hang", "hang", journal, {"timeout": 0.5}, era=server_era)
    session = await connect(toolboxes(dev={"files": hanging}))
    await session.open_toolbox("dev")
    started = time.monotonic()
    text = failure_of(await session.use_tool("dev", "files", "hang"))
    assert 0.4 < time.monotonic() - started < 3
    assert text.startswith("Error executing tool 'hang' in server 'files' (toolbox 'dev'): ")
    assert "0.5" in text
    await journal.wait_until(lambda it: it.events("cancelled"))
    assert text_of(await session.use_tool("dev", "files", "echo")) == "{}"
    assert journal.starts == 1


@pytest.mark.parametrize("request_id", ["text", 99])
async def test_a_cancelled_call_is_cancelled_downstream_and_never_answered(
    connect: Connect, journal: Journal, server_era: Era, request_id: object
) -> None:
    session = await connect(toolboxes(dev={"files": acting("hang", "hang", journal, era=server_era)}))
    await session.begin_tool("dev", "files", "hang", request_id=request_id)
    await journal.wait_for_call()
    await session.client.notify("notifications/cancelled", {"requestId": request_id, "reason": "enough"})
    await journal.wait_until(lambda it: it.events("cancelled"))
    assert text_of(await session.use_tool("dev", "files", "echo")) == "{}"
    (call, _), (cancelled,) = journal.messages("tools/call"), journal.messages("notifications/cancelled")
    assert cancelled["params"]["requestId"] == call["id"]
    assert request_id not in [message.get("id") for message in session.client.received]


async def test_cancelling_one_call_leaves_the_others_in_flight(connect: Connect, journal: Journal) -> None:
    session = await connect(toolboxes(dev={"files": acting("nap", "echo", journal, after=0.5)}))
    await session.begin_tool("dev", "files", "nap", request_id="one")
    kept = await session.begin_tool("dev", "files", "nap", '{"kept":1}', request_id=1)
    await journal.wait_for_call(2)
    await session.client.notify("notifications/cancelled", {"requestId": "one"})
    async with asyncio.timeout(5):
        assert text_of((await kept).message["result"]) == '{"kept":1}'
    assert "one" not in [message.get("id") for message in session.client.received]


async def test_cancelling_one_opening_leaves_it_to_those_who_share_it(
    connect_modern: Connect, journal: Journal
) -> None:
    session = await connect_modern(toolboxes(dev={"files": server(journal, start_delay=0.7)}))
    params = '{"name":"open_toolbox","arguments":{"toolbox_name":"dev"}}'
    await session.begin("tools/call", params, request_id="cancelled")
    shared = await session.begin("tools/call", params, request_id="kept")
    await journal.wait_until(lambda it: it.starts)
    await session.client.notify("notifications/cancelled", {"requestId": "cancelled"})
    async with asyncio.timeout(5):
        assert (await shared).message["result"]["structuredContent"]["servers_connected"] == 1
    assert "cancelled" not in [message.get("id") for message in session.client.received]
    assert journal.starts == 1


async def test_an_answer_that_comes_after_its_call_timed_out_is_dropped(
    connect_modern: Connect, journal: Journal
) -> None:
    session = await connect_modern(
        toolboxes(dev={"files": acting("hang", "hang", journal, {"timeout": 0.3})})
    )
    failure_of(await session.use_tool("dev", "files", "hang"))
    await journal.wait_until(lambda it: it.events("cancelled"))
    for number in range(3):
        assert text_of(await session.use_tool("dev", "files", "echo", {"n": number})) == f'{{"n": {number}}}'


async def test_a_cancelled_id_may_be_used_again(connect_modern: Connect, journal: Journal) -> None:
    session = await connect_modern(toolboxes(dev={"files": acting("hang", "hang", journal)}))
    await session.begin_tool("dev", "files", "hang", request_id="again")
    await journal.wait_for_call()
    await session.client.notify("notifications/cancelled", {"requestId": "again"})
    await journal.wait_until(lambda it: it.events("cancelled"))
    answer = await session.begin_tool("dev", "files", "echo", request_id="again")
    async with asyncio.timeout(5):
        assert text_of((await answer).message["result"]) == "{}"
