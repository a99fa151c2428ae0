"""Closing a server ends its process, at whatever moment and however often it is asked for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.errors import StartError
from mcp_workbench.wire.processes import child as child_module
from tests.downstream.servers import server, shell
from tests.support import configs
from tests.support.processes import wait_until_gone
from tests.support.waiting import PATIENCE, poll
from tests.wire.loops import ON_BOTH_LOOPS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.journal import Journal

pytestmark = ON_BOTH_LOOPS


@pytest.fixture(autouse=True)
def short_graces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "EXIT_GRACE_SECONDS", 0.3)
    monkeypatch.setattr(child_module, "TERM_GRACE_SECONDS", 0.2)


async def test_a_stubborn_one_is_gone_although_it_is_closed_again_meanwhile(
    tmp_path: Path, journal: Journal
) -> None:
    entry = configs.server(journal, ignore_term=True, ignore_eof=True, grandchild=True)
    async with server(entry, tmp_path) as it:
        await it.connect(modern=True)
        closing = asyncio.create_task(it.close())
        await journal.wait_until(lambda journal: journal.events("eof"))
        await asyncio.gather(closing, it.close(), it.close())
    assert len(journal.pids) == 2
    await wait_until_gone(journal.pids)


async def test_a_caller_that_waits_for_a_server_that_is_closed_meanwhile_is_told(
    tmp_path: Path, journal: Journal
) -> None:
    async with server(configs.server(journal, mute=True), tmp_path) as it:
        waiting = asyncio.create_task(it.connect(modern=True))
        await journal.wait_until(lambda journal: journal.lines)
        await it.close()
        with pytest.raises(StartError) as raised:
            await waiting
    assert str(raised.value) == (
        "Failed to connect to MCP server 'files': it was closed while it was starting"
    )
    await wait_until_gone(journal.pids)


async def test_one_that_hung_up_on_the_probe_is_not_started_again_once_it_is_closed(tmp_path: Path) -> None:
    starts, end = tmp_path / "starts", tmp_path / "end"
    script = f"echo $$ >> {starts}; exec >&-; cat > {end}.input; touch {end}; while :; do sleep 0.02; done"
    async with server(shell(f"trap '' TERM; {script}"), tmp_path) as it:
        waiting = asyncio.create_task(it.connect(modern=True))
        await poll(end.exists)
        async with asyncio.timeout(PATIENCE):
            await it.close()
        with pytest.raises(StartError):
            await waiting
    pids = [int(line) for line in starts.read_text().splitlines()]
    assert len(pids) == 1
    await wait_until_gone(pids)


async def test_closing_one_that_never_started_is_harmless(tmp_path: Path) -> None:
    async with server(shell("exit 1"), tmp_path) as it:
        await it.close()
        assert not it.up


async def test_one_that_was_closed_is_started_again_by_the_next_use(tmp_path: Path, journal: Journal) -> None:
    async with server(configs.server(journal), tmp_path) as it:
        first = (await it.connect(modern=True)).listed
        await it.close()
        assert not it.up
        assert [bytes(tool) for tool in (await it.connect(modern=True)).listed] == [
            bytes(tool) for tool in first
        ]
    assert journal.starts == 2


async def test_a_server_that_is_closed_before_its_first_step_keeps_no_caller_waiting(tmp_path: Path) -> None:
    async with server(configs.server(), tmp_path) as it:
        waiting = asyncio.create_task(it.connect(modern=True))
        await asyncio.sleep(0)  # the call has asked for a life, which has not begun
        await it.close()
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(StartError):
                await waiting
            assert len((await it.connect(modern=True)).listed) == 1


async def test_a_caller_that_comes_while_a_server_is_being_closed_gets_the_next(
    tmp_path: Path, journal: Journal
) -> None:
    async with server(configs.server(journal, ignore_eof=True), tmp_path) as it:
        await it.connect(modern=True)
        closing = asyncio.create_task(it.close())
        await journal.wait_until(lambda journal: journal.events("eof"))
        async with asyncio.timeout(PATIENCE):
            assert len((await it.connect(modern=True)).listed) == 1
        assert (closing.done(), journal.starts) == (True, 2)
