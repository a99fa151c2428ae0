"""Each of the two connections to a server of both protocol versions may be missing, die or come again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.journeys.test_both_versions import SLOW, legacy, modern
from tests.servers.scripted import RESERVED
from tests.support.configs import ECHO, server, tool, toolboxes
from tests.support.sessions import text_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Start
    from tests.support.journal import Journal
    from tests.support.sessions import Session


STARTUP_SECONDS = 4
VERSION = RESERVED + "protocolVersion"


async def echo(session: Session) -> None:
    assert text_of(await session.use_tool("dev", "it", "echo", {"a": 1})) == '{"a": 1}'


@pytest.mark.parametrize("first", ["legacy", "modern", "both"])
async def test_a_connection_that_served_all_serves_its_own_version_when_it_is_made_again(
    start: Start, journal: Journal, tmp_path: Path, first: str
) -> None:
    """A slow server accepts a legacy session that was opened for a modern client. Its next one is modern."""
    delay = tmp_path / "delay"
    delay.write_text(str(SLOW), "ascii")
    entry = server(
        journal,
        era="dual",
        delay_file=str(delay),
        tools=[ECHO, tool("leave")],
        behaviours={"leave": {"do": "crash"}},
    )
    client = await start(toolboxes(dev={"it": entry}))
    old, new = await legacy(client), modern(client)
    await echo(new)
    await echo(old)
    assert journal.starts == 1
    delay.write_text("0", "ascii")
    assert (await old.use_tool("dev", "it", "leave"))["isError"]
    if first == "both":
        await asyncio.gather(echo(new), echo(old))
    else:
        await echo(old if first == "legacy" else new)
        assert journal.starts == 2
        await echo(new if first == "legacy" else old)
    assert journal.starts == 3
    # Only the requests of a modern connection say which version they are in.
    calls = [message["params"].get("_meta", {}) for message in journal.messages("tools/call")[-2:]]
    assert sorted(VERSION in meta for meta in calls) == [False, True]


async def test_a_program_that_cannot_run_twice_serves_both_kinds_of_clients_that_come_at_once(
    start: Start, journal: Journal, tmp_path: Path
) -> None:
    entry = server(journal, era="dual", lock=str(tmp_path / "lock"), start_delay=0.5)
    client = await start(toolboxes(dev={"it": entry}))
    await asyncio.gather(echo(await legacy(client)), echo(modern(client)))


async def test_nobody_waits_again_for_a_second_start_that_has_failed(
    start: Start, journal: Journal, tmp_path: Path
) -> None:
    lock = str(tmp_path / "lock")
    entry = server(journal, {"startupTimeout": STARTUP_SECONDS}, era="dual", lock=lock, lock_waits=True)
    client = await start(toolboxes(dev={"it": entry}))
    old, new = await legacy(client), modern(client)
    await echo(old)
    await echo(new)
    await journal.wait_until(lambda journal: journal.starts == 2)
    async with asyncio.timeout(STARTUP_SECONDS / 2):
        await echo(new)
        await echo(old)
    await journal.wait_until(lambda journal: journal.starts == 3)
