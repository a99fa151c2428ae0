"""What becomes of servers that are no longer configured, seen without a client."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config import load, load_usable
from mcp_workbench.errors import CallError
from mcp_workbench.workbench.client_view import ClientView
from mcp_workbench.workbench.registry import ToolboxRegistry, build
from tests.support.client import write_config
from tests.support.configs import server, toolboxes
from tests.support.processes import is_running, wait_until_gone
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcp_workbench.config import LoadedConfig
    from tests.support.client import Json
    from tests.support.journal import Journal


def loaded(directory: Path, config: Json) -> LoadedConfig:
    return load(write_config(directory, config), {})


def built(directory: Path, config: Json) -> ToolboxRegistry:
    environ = {"PATH": os.environ["PATH"]}
    return build(loaded(directory, config), environ=environ, cache=directory / "cache")


async def opening_of(workbench: ToolboxRegistry, journal: Journal) -> asyncio.Task[object]:
    """An opening that waits for a server which does not answer."""
    opening: asyncio.Task[object] = asyncio.create_task(ClientView(workbench).open("dev", modern=True))
    await journal.wait_until(lambda it: it.starts)
    return opening


async def ends(opening: asyncio.Task[object]) -> bool:
    async with asyncio.timeout(PATIENCE):
        (outcome,) = await asyncio.gather(opening, return_exceptions=True)
    return isinstance(outcome, CallError)


async def test_a_removed_server_that_is_still_in_use_is_closed_with_the_rest(
    tmp_path: Path, make_journal: Callable[[str], Journal]
) -> None:
    removed, kept = make_journal("removed"), make_journal("kept")
    workbench = built(tmp_path, toolboxes(dev={"a": server(removed, mute=True)}, ops={"b": server(kept)}))
    opening = await opening_of(workbench, removed)
    await ClientView(workbench).open("ops", modern=True)
    workbench.reconfigure(loaded(tmp_path, toolboxes(ops={"b": server(kept)})))
    await workbench.close()
    assert [is_running(pid) for pid in removed.pids + kept.pids] == [False, False]
    assert await ends(opening)


async def test_a_removed_server_that_is_still_in_use_is_killed_with_the_rest(
    tmp_path: Path, journal: Journal
) -> None:
    stubborn = server(journal, mute=True, ignore_term=True, ignore_eof=True)
    workbench = built(tmp_path, toolboxes(dev={"a": stubborn}))
    opening = await opening_of(workbench, journal)
    workbench.reconfigure(loaded(tmp_path, toolboxes()))
    closing = asyncio.create_task(workbench.close())
    await journal.wait_until(lambda it: it.events("eof"))
    workbench.kill()
    await wait_until_gone(journal.pids)
    await closing
    assert await ends(opening)


async def test_a_server_that_nobody_has_used_is_just_forgotten(tmp_path: Path, journal: Journal) -> None:
    workbench = built(tmp_path, toolboxes(dev={"a": server(journal)}))
    for box in ("ops", "dev", "ops"):
        workbench.reconfigure(loaded(tmp_path, toolboxes(**{box: {"a": server(journal)}})))
    assert list(workbench.toolbox_servers) == [("ops", "a")]
    await workbench.close()
    assert journal.starts == 0


async def test_a_configuration_without_a_difference_leaves_everything_in_its_place(tmp_path: Path) -> None:
    config = toolboxes(dev={"a": server(), "b": server(entry={"disabled": True})}, ops={"a": server()})
    workbench = built(tmp_path, config)
    before = dict(workbench.toolbox_servers)
    workbench.reconfigure(loaded(tmp_path, config))
    assert list(workbench.toolbox_servers.items()) == list(before.items())
    await workbench.close()


async def test_a_server_ends_when_its_entry_breaks_and_starts_again_when_it_is_corrected(
    tmp_path: Path, journal: Journal
) -> None:
    good = toolboxes(dev={"a": server(journal)})
    workbench = built(tmp_path, good)
    view = ClientView(workbench)
    await view.open("dev", modern=True)
    before = workbench.toolbox_servers["dev", "a"].watches
    mistakes: list[Json] = [toolboxes(dev={"a": {"command": 5}}), {"toolboxes": {"dev": {"mcpServers": []}}}]
    for broken in mistakes:
        workbench.reconfigure(load_usable(write_config(tmp_path, broken), {}))
        view.refresh()
        with pytest.raises(CallError, match="should be"):
            await view.open("dev", modern=True)
        await wait_until_gone(journal.pids)
        workbench.reconfigure(loaded(tmp_path, good))
        view.refresh()
        assert (await view.open("dev", modern=True)).failures == []
        # The subscriptions of clients are still valid.
        assert workbench.toolbox_servers["dev", "a"].watches is before
    assert len(set(journal.pids)) == 3
    await workbench.close()
