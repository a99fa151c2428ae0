"""However it is asked to go, the workbench goes within five seconds and leaves no process behind."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.configs import WHOLE, acting, server, tool, toolboxes, workbench
from tests.support.processes import wait_until_gone
from tests.support.sessions import LegacySession, failure_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Start
    from tests.servers.scripted import Script
    from tests.support.client import Exit, Json, RawClient
    from tests.support.journal import Journal

LIMIT = 5.0
AT_ONCE = 1.0
HELPERS: Script = {"grandchild": True, "distant_grandchild": Path("/proc/self/environ").exists()}
STUBBORN: Script = {"ignore_term": True, "ignore_eof": True, **HELPERS}
STUBBORN_AND_MUTE: Script = {"mute": True, **STUBBORN}
OPEN = '{"name":"open_toolbox","arguments":{"toolbox_name":"dev"}}'


@pytest.fixture(params=["SIGTERM", "SIGINT", "EOF"])
def asked_to_go(request: pytest.FixtureRequest) -> str:
    way: str = request.param
    return way


async def leave(client: RawClient, way: str) -> Exit:
    return await (client.close() if way == "EOF" else client.signal(signal.Signals[way]))


async def greeted(start: Start, config: Json) -> LegacySession:
    session = LegacySession(await start(config))
    await session.greet()
    return session


async def test_stubborn_servers_and_their_helpers_are_all_gone(
    start: Start, make_journal: Callable[[str], Journal], asked_to_go: str
) -> None:
    journals = [make_journal(str(number)) for number in range(3)]
    servers = {f"s{number}": server(journal, **STUBBORN) for number, journal in enumerate(journals)}
    session = await greeted(start, toolboxes(dev=servers))
    await session.open_toolbox("dev")
    left = await leave(session.client, asked_to_go)
    assert left.code == 0
    assert left.seconds < LIMIT
    for journal in journals:
        assert len(journal.pids) == 2 + HELPERS["distant_grandchild"]
        assert journal.events("eof")
        await wait_until_gone(journal.pids)


async def test_it_goes_while_a_server_is_still_starting(
    start: Start, journal: Journal, asked_to_go: str
) -> None:
    session = await greeted(start, toolboxes(dev={"mute": server(journal, **STUBBORN_AND_MUTE)}))
    await session.begin("tools/call", OPEN)
    await journal.wait_until(lambda it: it.lines)
    left = await leave(session.client, asked_to_go)
    assert left.code == 0
    assert left.seconds < LIMIT
    await wait_until_gone(journal.pids)


async def test_it_goes_while_a_call_is_in_flight(start: Start, journal: Journal, asked_to_go: str) -> None:
    session = await greeted(start, toolboxes(dev={"files": acting("hang", "hang", journal)}))
    await session.begin_tool("dev", "files", "hang")
    await journal.wait_for_call()
    left = await leave(session.client, asked_to_go)
    assert left.code == 0
    assert left.seconds < LIMIT
    await wait_until_gone(journal.pids)


async def test_a_polite_server_is_asked_by_the_end_of_its_input_alone(
    start: Start, journal: Journal, asked_to_go: str
) -> None:
    session = await greeted(start, toolboxes(dev={"files": server(journal, ignore_term=True)}))
    await session.open_toolbox("dev")
    left = await leave(session.client, asked_to_go)
    assert left.code == 0
    assert left.seconds < 2
    assert len(journal.events("eof")) == 1
    assert journal.events("sigterm") == []


async def test_the_helpers_of_a_polite_server_do_not_outlive_it(start: Start, journal: Journal) -> None:
    session = await greeted(start, toolboxes(dev={"files": server(journal, **HELPERS)}))
    await session.open_toolbox("dev")
    left = await session.client.close()
    assert left.seconds < LIMIT
    assert len(journal.pids) == 2 + HELPERS["distant_grandchild"]
    await wait_until_gone(journal.pids)


async def test_the_helpers_of_a_server_that_crashed_are_gone_before_we_are(
    start: Start, journal: Journal
) -> None:
    crashing: Script = {"tools": [tool("crash")], "behaviours": {"crash": {"do": "crash"}}, **HELPERS}
    session = await greeted(start, toolboxes(dev={"files": server(journal, **crashing)}))
    assert failure_of(await session.use_tool("dev", "files", "crash"))
    await wait_until_gone(journal.pids)


async def test_a_workbench_that_serves_another_goes_with_all_its_servers(
    start: Start, journal: Journal, tmp_path: Path, asked_to_go: str
) -> None:
    inner = workbench(tmp_path / "inner", toolboxes(dev={"files": server(journal, **STUBBORN)}))
    session = await greeted(start, toolboxes(nested={"workbench": inner}))
    identifier = {"toolbox": "dev", "server": "files", "tool": "echo"}
    answer = await session.use_tool("nested", "workbench", "use_tool", {"tool": identifier})
    assert text_of(answer) == "{}"
    left = await leave(session.client, asked_to_go)
    assert left.code == 0
    assert left.seconds < LIMIT
    await wait_until_gone(journal.pids, within=AT_ONCE)


async def test_an_idle_workbench_goes_at_once(start: Start, asked_to_go: str) -> None:
    session = await greeted(start, toolboxes(dev={"files": server()}))
    left = await leave(session.client, asked_to_go)
    assert left.code == 0
    assert left.seconds < 1


async def test_a_second_signal_does_not_leave_processes_behind(start: Start, journal: Journal) -> None:
    session = await greeted(start, toolboxes(dev={"files": server(journal, **STUBBORN)}))
    await session.open_toolbox("dev")
    leaving = asyncio.ensure_future(session.client.signal(signal.SIGTERM))
    await journal.wait_until(lambda it: it.events("eof"))
    os.kill(session.client.process.pid, signal.SIGTERM)
    left = await leaving
    assert left.code == 0
    assert left.seconds < LIMIT
    await wait_until_gone(journal.pids)


async def test_a_client_that_stops_reading_does_not_keep_it(start: Start, journal: Journal) -> None:
    session = await greeted(start, {**WHOLE, **toolboxes(dev={"files": server(journal)})})
    await session.open_toolbox("dev")
    session.client.stop_reading("stdout")
    for _ in range(4):
        await session.begin_tool("dev", "files", "echo", '{"large":"' + "x" * 1_000_000 + '"}')
    await journal.wait_for_call(4)
    left = await session.client.signal(signal.SIGTERM)
    assert left.code == 0
    assert left.seconds < LIMIT
    await wait_until_gone(journal.pids)
