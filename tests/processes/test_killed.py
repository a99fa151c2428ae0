"""Killed without a chance to tidy up, the workbench still leaves no process behind within five seconds."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.configs import acting, server, toolboxes, workbench
from tests.support.processes import is_running, wait_until_gone
from tests.support.sessions import LegacySession, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Start
    from tests.servers.scripted import Script
    from tests.support.client import Json
    from tests.support.journal import Journal

LIMIT = 5.0
STUBBORN: Script = {
    "ignore_term": True,
    "ignore_eof": True,
    "grandchild": True,
    "distant_grandchild": Path("/proc/self/environ").exists(),
}
STUBBORN_AND_MUTE: Script = {"mute": True, **STUBBORN}


async def greeted(start: Start, config: Json) -> LegacySession:
    session = LegacySession(await start(config))
    await session.greet()
    return session


async def kill(session: LegacySession) -> None:
    assert (await session.client.signal(signal.SIGKILL)).code == -signal.SIGKILL


async def test_stubborn_servers_and_their_helpers_are_all_gone(
    start: Start, make_journal: Callable[[str], Journal]
) -> None:
    journals = [make_journal(str(number)) for number in range(3)]
    servers = {f"s{number}": server(journal, **STUBBORN) for number, journal in enumerate(journals)}
    session = await greeted(start, toolboxes(dev=servers))
    await session.open_toolbox("dev")
    await kill(session)
    pids = [pid for journal in journals for pid in journal.pids]
    assert len(pids) == 3 * (2 + STUBBORN["distant_grandchild"])
    await wait_until_gone(pids, within=LIMIT)


async def test_a_call_in_flight_and_a_server_that_is_starting_are_no_exception(
    start: Start, make_journal: Callable[[str], Journal]
) -> None:
    busy, starting = make_journal("busy"), make_journal("starting")
    config = toolboxes(
        dev={"busy": acting("hang", "hang", busy)}, ops={"starting": server(starting, **STUBBORN_AND_MUTE)}
    )
    session = await greeted(start, config)
    await session.begin_tool("dev", "busy", "hang")
    await session.begin_tool("ops", "starting", "echo")
    await busy.wait_for_call()
    await starting.wait_until(lambda it: it.lines)
    await kill(session)
    await wait_until_gone([*busy.pids, *starting.pids], within=LIMIT)


async def test_a_polite_server_finishes_its_work(start: Start, journal: Journal) -> None:
    session = await greeted(start, toolboxes(dev={"files": server(journal, ignore_term=True, eof_delay=1.5)}))
    await session.open_toolbox("dev")
    await kill(session)
    await wait_until_gone(journal.pids, within=LIMIT)
    assert journal.events("finished")
    assert journal.events("sigterm") == []


async def test_a_workbench_that_serves_another_goes_with_all_its_servers(
    start: Start, journal: Journal, tmp_path: Path
) -> None:
    inner = workbench(tmp_path / "inner", toolboxes(dev={"files": server(journal, **STUBBORN)}))
    session = await greeted(start, toolboxes(nested={"workbench": inner}))
    identifier = {"toolbox": "dev", "server": "files", "tool": "echo"}
    answer = await session.use_tool("nested", "workbench", "use_tool", {"tool": identifier})
    assert text_of(answer) == "{}"
    await kill(session)
    await wait_until_gone(journal.pids, within=LIMIT)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
async def test_two_workbenches_side_by_side_have_nothing_to_do_with_each_other(
    start: Start, make_journal: Callable[[str], Journal]
) -> None:
    one, other = make_journal("one"), make_journal("other")
    config = toolboxes(
        one={"files": server(one, **STUBBORN)}, other={"files": server(other, distant_grandchild=True)}
    )
    killed, kept = await greeted(start, config), await greeted(start, config)
    await killed.open_toolbox("one")
    await kept.open_toolbox("other")
    await kill(killed)
    await wait_until_gone(one.pids, within=LIMIT)
    assert all(map(is_running, other.pids))
    assert text_of(await kept.use_tool("other", "files", "echo")) == "{}"
    assert other.starts == 1
