"""What one client sees of the workbench, and which servers are its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.errors import ToolboxNotFound
from mcp_workbench.workbench.desk import Desk
from mcp_workbench.workbench.principal import Principal
from tests.support.configs import server, toolboxes
from tests.support.processes import is_running, wait_until_gone
from tests.workbench.test_reconfigure import built, loaded

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.client import Json
    from tests.support.journal import Journal

OWN = {"isolation": "client"}
BOB = Principal("bob", frozenset({"dev"}))


def mixed(journal: Journal | None = None, **script: str) -> Json:
    """A server of each kind in one toolbox, and another toolbox."""
    own = server(journal, OWN, stderr=[script.get("stderr", "")])
    return toolboxes(dev={"own": own, "shared": server()}, ops={"files": server()})


async def test_where_nothing_is_anyones_own_all_see_the_same_things(tmp_path: Path) -> None:
    workbench = built(tmp_path, toolboxes(dev={"a": server()}))
    desks = [Desk(workbench, has_own_servers=True) for _ in range(2)]
    assert all(desk.toolboxes is workbench.toolboxes for desk in desks)
    assert all(desk.shelves is workbench.shelves for desk in desks)


async def test_who_may_not_use_a_toolbox_finds_nothing_of_it(tmp_path: Path) -> None:
    desk = Desk(built(tmp_path, mixed()), BOB, has_own_servers=True)
    assert set(desk.toolboxes) == {"dev"}
    assert set(desk.shelves) == {("dev", "own"), ("dev", "shared")}
    with pytest.raises(ToolboxNotFound) as refused:
        desk.shelf("ops", "files")
    assert "ops" not in str(refused.value).partition("Available")[2]
    with pytest.raises(ToolboxNotFound):
        await desk.open("ops", modern=True)


async def test_a_server_of_ones_own_is_nobody_elses(tmp_path: Path) -> None:
    workbench = built(tmp_path, mixed())
    one, two = (Desk(workbench, has_own_servers=True) for _ in range(2))
    owns = [desk.shelf("dev", "own").server for desk in (one, two)]
    assert len({id(it) for it in (*owns, workbench.shelves["dev", "own"].server)}) == 3
    assert one.shelf("dev", "shared") is two.shelf("dev", "shared")


async def test_where_there_is_one_client_only_nothing_is_its_own(tmp_path: Path) -> None:
    workbench = built(tmp_path, mixed())
    assert Desk(workbench).shelf("dev", "own") is workbench.shelves["dev", "own"]


async def test_a_server_of_ones_own_goes_on_when_the_configuration_changes_elsewhere(
    tmp_path: Path, journal: Journal
) -> None:
    workbench = built(tmp_path, mixed(journal))
    desk = Desk(workbench, has_own_servers=True)
    await desk.open("dev", modern=True)
    before = desk.shelf("dev", "own")
    config = mixed(journal)
    del config["toolboxes"]["ops"]
    workbench.reconfigure(loaded(tmp_path, config))
    desk.refresh()
    assert desk.shelf("dev", "own") is before
    assert set(desk.toolboxes) == {"dev"}
    assert is_running(journal.pids[0])
    desk.close()
    await workbench.close()


async def test_a_server_of_ones_own_that_is_configured_anew_is_started_anew(
    tmp_path: Path, journal: Journal
) -> None:
    workbench = built(tmp_path, mixed(journal))
    desk = Desk(workbench, has_own_servers=True)
    await desk.open("dev", modern=True)
    before = desk.shelf("dev", "own")
    workbench.reconfigure(loaded(tmp_path, mixed(journal, stderr="another program")))
    desk.refresh()
    assert desk.shelf("dev", "own") is not before
    await wait_until_gone(journal.pids)
    await desk.open("dev", modern=True)
    assert journal.starts == 2
    await workbench.close()
    await wait_until_gone(journal.pids)


async def test_a_server_of_ones_own_ends_when_it_may_not_be_used_any_more(
    tmp_path: Path, journal: Journal
) -> None:
    workbench = built(tmp_path, mixed(journal))
    desk = Desk(workbench, BOB, has_own_servers=True)
    await desk.open("dev", modern=True)
    desk.refresh(Principal("bob", frozenset({"ops"})))
    assert set(desk.toolboxes) == {"ops"}
    await wait_until_gone(journal.pids)
    await workbench.close()


async def test_a_client_that_is_gone_takes_its_servers_with_it_and_no_others(
    tmp_path: Path, journal: Journal
) -> None:
    workbench = built(tmp_path, mixed(journal))
    leaving, staying = (Desk(workbench, has_own_servers=True) for _ in range(2))
    await leaving.open("dev", modern=True)
    await staying.open("dev", modern=True)
    gone, kept = journal.pids
    leaving.close()
    await wait_until_gone([gone])
    assert is_running(kept)
    await workbench.close()
    await wait_until_gone([kept])
