"""Progress reaches the caller that asked for it, under the token that it chose, and nobody else."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.configs import acting, toolboxes
from tests.support.sessions import failure_of, text_of

if TYPE_CHECKING:
    from tests.conftest import Connect
    from tests.support.journal import Journal
    from tests.support.sessions import Era


@pytest.mark.parametrize("token", ["mine", 7, 0, ""])
async def test_progress_carries_the_callers_own_token(
    connect: Connect, server_era: Era, token: str | int
) -> None:
    session = await connect(toolboxes(dev={"slow": acting("work", "progress", era=server_era, steps=3)}))
    reply = await session.use_tool_raw("dev", "slow", "work", "{}", {"progressToken": token})
    assert text_of(reply.message["result"]) == "done"
    assert [note["params"] for note in session.client.notifications] == [
        {"progressToken": token, "progress": step, "total": 3, "message": "{}"} for step in (1, 2, 3)
    ]
    assert session.client.received[-1] == reply.message


async def test_progress_never_crosses_between_two_calls(
    connect: Connect, journal: Journal, server_era: Era
) -> None:
    working = acting("work", "progress", journal, era=server_era, steps=5, every=0.02)
    session = await connect(toolboxes(dev={"slow": working}))
    tokens = [1, "1", "first", 2]
    await asyncio.gather(
        *(session.use_tool("dev", "slow", "work", {"t": token}, {"progressToken": token}) for token in tokens)
    )
    told = [note["params"] for note in session.client.notifications]
    for token in tokens:
        own = [it for it in told if type(it["progressToken"]) is type(token) and it["progressToken"] == token]
        expected = '{"t": "%s"}' if isinstance(token, str) else '{"t": %s}'
        assert [it["message"] for it in own] == [expected % token] * 5
    downstream = [call["params"]["_meta"]["progressToken"] for call in journal.messages("tools/call")]
    assert len({(type(token), token) for token in downstream}) == len(tokens)


async def test_a_caller_that_asked_for_no_progress_gets_none(connect: Connect, server_era: Era) -> None:
    session = await connect(toolboxes(dev={"slow": acting("work", "progress", era=server_era, steps=3)}))
    assert text_of(await session.use_tool("dev", "slow", "work")) == "done"
    assert session.client.notifications == []


@pytest.mark.parametrize("meta", [None, {"progressToken": "mine"}], ids=["without-token", "with-token"])
async def test_progress_starts_the_clock_of_a_call_anew(
    connect_modern: Connect, meta: dict[str, str] | None
) -> None:
    working = acting("work", "progress", entry={"timeout": 1}, steps=4, every=0.5)
    session = await connect_modern(toolboxes(dev={"slow": working}))
    assert text_of(await session.use_tool("dev", "slow", "work", {}, meta)) == "done"


async def test_progress_without_end_stops_at_ten_times_the_time_out(connect_modern: Connect) -> None:
    working = acting("work", "progress", entry={"timeout": 0.3}, steps=1000, every=0.05)
    session = await connect_modern(toolboxes(dev={"slow": working}))
    await session.open_toolbox("dev")
    started = time.monotonic()
    text = failure_of(await session.use_tool("dev", "slow", "work"))
    assert 2.5 < time.monotonic() - started < 6
    assert text.startswith("Error executing tool 'work' in server 'slow' (toolbox 'dev'): ")
