"""Many calls at once: none waits for another."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING

from tests.support.configs import acting, server, toolboxes
from tests.support.sessions import text_of

if TYPE_CHECKING:
    from tests.conftest import Connect
    from tests.support.journal import Journal
    from tests.support.sessions import Era


async def test_twenty_calls_of_one_second_are_done_in_less_than_two(
    connect_modern: Connect, server_era: Era
) -> None:
    session = await connect_modern(toolboxes(dev={"slow": acting("nap", "echo", era=server_era, after=1)}))
    await session.open_toolbox("dev")
    started = time.monotonic()
    results = await asyncio.gather(*(session.use_tool("dev", "slow", "nap", {"n": n}) for n in range(20)))
    assert time.monotonic() - started < 2
    assert [json.loads(text_of(result)) for result in results] == [{"n": n} for n in range(20)]


async def test_a_call_that_hangs_delays_neither_its_server_nor_its_neighbour(
    connect: Connect, journal: Journal
) -> None:
    session = await connect(toolboxes(dev={"stuck": acting("hang", "hang", journal), "free": server()}))
    hanging = await session.begin_tool("dev", "stuck", "hang")
    await journal.wait_for_call()
    started = time.monotonic()
    for name in ("stuck", "free"):
        assert text_of(await session.use_tool("dev", name, "echo")) == "{}"
    assert time.monotonic() - started < 2
    assert not hanging.done()


async def test_five_hundred_calls_each_get_their_own_answer(connect_modern: Connect) -> None:
    session = await connect_modern(toolboxes(dev={"one": server(), "two": server(era="modern")}))
    wanted = [(name, {"n": n}) for n in range(250) for name in ("one", "two")]
    results = await asyncio.gather(*(session.use_tool("dev", name, "echo", it) for name, it in wanted))
    assert [json.loads(text_of(result)) for result in results] == [it for _, it in wanted]


async def test_a_slow_opening_does_not_delay_the_rest_of_the_connection(
    connect_modern: Connect, journal: Journal
) -> None:
    session = await connect_modern(
        toolboxes(dev={"slow": server(journal, start_delay=1)}, ops={"free": server()})
    )
    opening = await session.begin("tools/call", '{"name":"open_toolbox","arguments":{"toolbox_name":"dev"}}')
    assert text_of(await session.use_tool("ops", "free", "echo")) == "{}"
    assert not opening.done()
    assert (await opening).message["result"]["structuredContent"]["servers_connected"] == 1
