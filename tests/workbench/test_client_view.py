"""What one client sees of the workbench, and which servers are its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config import load_usable
from mcp_workbench.errors import ServerNotFound, ToolboxNotFound, ToolboxUnusable
from mcp_workbench.workbench.client_view import ClientView
from mcp_workbench.workbench.principal import Principal
from mcp_workbench.workbench.registry import build
from tests.support.client import write_config
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
    views = [ClientView(workbench, has_own_servers=True) for _ in range(2)]
    assert all(view.toolboxes is workbench.toolboxes for view in views)
    assert all(view.toolbox_servers is workbench.toolbox_servers for view in views)


async def test_who_may_not_use_a_toolbox_finds_nothing_of_it(tmp_path: Path) -> None:
    view = ClientView(built(tmp_path, mixed()), BOB, has_own_servers=True)
    assert set(view.toolboxes) == {"dev"}
    assert set(view.toolbox_servers) == {("dev", "own"), ("dev", "shared")}
    with pytest.raises(ToolboxNotFound) as refused:
        view.toolbox_server("ops", "files")
    assert "ops" not in str(refused.value).partition("Available")[2]
    with pytest.raises(ToolboxNotFound):
        await view.open("ops", modern=True)


async def test_a_server_of_ones_own_is_nobody_elses(tmp_path: Path) -> None:
    workbench = built(tmp_path, mixed())
    one, two = (ClientView(workbench, has_own_servers=True) for _ in range(2))
    owns = [view.toolbox_server("dev", "own") for view in (one, two)]
    assert len({id(it) for it in (*owns, workbench.toolbox_servers["dev", "own"])}) == 3
    assert one.toolbox_server("dev", "shared") is two.toolbox_server("dev", "shared")


async def test_where_there_is_one_client_only_nothing_is_its_own(tmp_path: Path) -> None:
    workbench = built(tmp_path, mixed())
    assert ClientView(workbench).toolbox_server("dev", "own") is workbench.toolbox_servers["dev", "own"]


async def test_a_server_of_ones_own_goes_on_when_the_configuration_changes_elsewhere(
    tmp_path: Path, journal: Journal
) -> None:
    workbench = built(tmp_path, mixed(journal))
    view = ClientView(workbench, has_own_servers=True)
    await view.open("dev", modern=True)
    before = view.toolbox_server("dev", "own")
    config = mixed(journal)
    del config["toolboxes"]["ops"]
    workbench.reconfigure(loaded(tmp_path, config))
    view.refresh()
    assert view.toolbox_server("dev", "own") is before
    assert set(view.toolboxes) == {"dev"}
    assert is_running(journal.pids[0])
    view.close()
    await workbench.close()


async def test_a_server_of_ones_own_that_is_configured_anew_is_started_anew(
    tmp_path: Path, journal: Journal
) -> None:
    workbench = built(tmp_path, mixed(journal))
    view = ClientView(workbench, has_own_servers=True)
    await view.open("dev", modern=True)
    before = view.toolbox_server("dev", "own")
    workbench.reconfigure(loaded(tmp_path, mixed(journal, stderr="another program")))
    view.refresh()
    assert view.toolbox_server("dev", "own") is not before
    await wait_until_gone(journal.pids)
    await view.open("dev", modern=True)
    assert journal.starts == 2
    await workbench.close()
    await wait_until_gone(journal.pids)


async def test_a_server_of_ones_own_ends_when_it_may_not_be_used_any_more(
    tmp_path: Path, journal: Journal
) -> None:
    workbench = built(tmp_path, mixed(journal))
    view = ClientView(workbench, BOB, has_own_servers=True)
    await view.open("dev", modern=True)
    view.refresh(Principal("bob", frozenset({"ops"})))
    assert set(view.toolboxes) == {"ops"}
    await wait_until_gone(journal.pids)
    await workbench.close()


async def test_a_client_that_is_gone_takes_its_servers_with_it_and_no_others(
    tmp_path: Path, journal: Journal
) -> None:
    workbench = built(tmp_path, mixed(journal))
    leaving, staying = (ClientView(workbench, has_own_servers=True) for _ in range(2))
    await leaving.open("dev", modern=True)
    await staying.open("dev", modern=True)
    gone, kept = journal.pids
    leaving.close()
    await wait_until_gone([gone])
    assert is_running(kept)
    await workbench.close()
    await wait_until_gone([kept])


async def test_an_error_that_answers_every_call_keeps_nothing_of_the_calls(tmp_path: Path) -> None:
    path = write_config(tmp_path, {"toolboxes": {"dev": []}})
    workbench = build(load_usable(path, {}), environ={}, cache=tmp_path / "cache")
    view = ClientView(workbench)
    depths = set()
    for _ in range(3):
        with pytest.raises(ToolboxUnusable) as refused:
            view.toolbox_server("dev", "a")
        depths.add(len(refused.traceback))
    assert len(depths) == 1


async def test_an_error_names_only_what_the_client_may_use(tmp_path: Path) -> None:
    workbench = built(tmp_path, mixed())
    bob, anyone = ClientView(workbench, BOB), ClientView(workbench)
    for view, said in ((bob, ""), (anyone, ". Server 'files' is in toolbox 'ops'")):
        with pytest.raises(ServerNotFound) as missing:
            view.toolbox_server("dev", "files")
        assert str(missing.value).endswith(f"Available servers: own, shared{said}")
        with pytest.raises(ToolboxNotFound) as unknown:
            view.toolbox_server("files", "files")
        assert str(unknown.value).endswith(f"Available toolboxes: {', '.join(view.toolboxes)}{said}")


async def test_the_store_of_results_is_made_when_the_first_one_is_kept(tmp_path: Path) -> None:
    view = ClientView(built(tmp_path, mixed()))
    assert view.keeps_results
    assert not view.has_kept_results
    assert "workbench" not in view.toolboxes
    assert [summary.name for summary in view.summaries()] == ["dev", "ops"]
    assert view.client_results is view.client_results
    assert view.toolbox_server("workbench", "results").name == "results"
    whole = ClientView(built(tmp_path, mixed()), takes_whole_results=True)
    assert whole.client_results is None
