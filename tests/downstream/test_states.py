"""Where a server is in its life can be seen at any time."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.errors import StartError
from tests.downstream.servers import server, shell
from tests.support import configs
from tests.support.waiting import poll
from tests.wire.loops import ON_BOTH_LOOPS

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_workbench.downstream.server import Server
    from tests.support.journal import Journal

pytestmark = ON_BOTH_LOOPS


def state(it: Server) -> str:
    # As a text: the type checker would take a state that was asked about for the only one there will be.
    return it.state


async def test_a_server_goes_from_idle_over_ready_and_stopping_to_idle(
    tmp_path: Path, journal: Journal
) -> None:
    async with server(configs.server(journal, eof_delay=0.2), tmp_path) as it:
        assert state(it) == "idle"
        waiting = asyncio.create_task(it.connect(modern=True))
        await poll(lambda: state(it) == "starting")
        await waiting
        assert state(it) == "ready"
        closing = asyncio.create_task(it.close())
        await journal.wait_until(lambda journal: journal.events("eof"))
        assert state(it) == "stopping"
        await closing
        assert state(it) == "idle"


async def test_a_server_that_died_idle_has_failed_at_once_and_is_ready_again_after_its_next_use(
    tmp_path: Path, journal: Journal
) -> None:
    async with server(configs.server(journal), tmp_path) as it:
        await it.connect(modern=True)
        os.kill(journal.pids[0], signal.SIGKILL)
        await poll(lambda: state(it) == "failed", within=2)
        await it.connect(modern=True)
        assert state(it) == "ready"


async def test_a_server_that_could_not_be_started_has_failed(tmp_path: Path) -> None:
    async with server(shell("exit 1"), tmp_path) as it:
        with pytest.raises(StartError):
            await it.connect(modern=True)
        assert state(it) == "failed"
