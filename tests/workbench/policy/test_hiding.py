"""Tools that are hidden: they are in no list, no search and no suggestion, and a call does not find them."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench import ToolNotFound, Workbench
from mcp_workbench.config import load_data
from mcp_workbench.workbench.client_view import ClientView
from mcp_workbench.workbench.configured_server import ConfiguredServer
from mcp_workbench.workbench.door import Door
from mcp_workbench.workbench.policy.configured import ConfiguredPolicy
from mcp_workbench.workbench.policy.hiding import HidingServer
from mcp_workbench.workbench.principal import Principal
from mcp_workbench.workbench.registry import build
from mcp_workbench.workbench.toolbox_server import ToolboxServer
from tests.support.configs import server, tool, toolboxes
from tests.workbench.policy.deciding import Decided, Person

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

FILES = [
    tool("read_file", description="Read a file"),
    tool("delete_file", description="Delete a file"),
    tool("delete_files", description="Delete many files"),
]
NOTES = [tool("delete_note", description="Delete a note"), tool("delete_file", description="Delete a file")]


def configured(files: object, **others: Any) -> dict[str, Any]:
    """Two servers with tools that delete, of which one has a policy."""
    tree = toolboxes(dev={"files": server(tools=FILES) | {"policy": files}, "notes": server(tools=NOTES)})
    return {**tree, **others}


@pytest.fixture
async def workbench(tmp_path: Path) -> AsyncIterator[Workbench]:
    config = configured({"delete_*": "deny", "hide": True})
    directories = {name: str(tmp_path / name) for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME")}
    async with Workbench(config, environ=directories) as it:
        yield it


async def test_a_hidden_tool_is_in_no_list_and_in_no_search(workbench: Workbench) -> None:
    opened = await workbench.open("dev")
    assert [(each.server, each.name) for each in opened.tools] == [
        ("files", "read_file"),
        ("notes", "delete_note"),
        ("notes", "delete_file"),
    ]
    found = await workbench.find("delete a file", limit=1)
    assert [(each.server, each.name) for each in found.tools] == [("notes", "delete_file")]


async def test_a_hidden_tool_is_like_one_that_does_not_exist(workbench: Workbench) -> None:
    await workbench.open("dev")
    with pytest.raises(ToolNotFound) as hidden:
        await workbench.call("dev", "files", "delete_files")
    with pytest.raises(ToolNotFound) as missing:
        await workbench.call("dev", "files", "delete_filez")
    assert str(hidden.value).replace("delete_files", "?") == str(missing.value).replace("delete_filez", "?")
    assert hidden.value.similar == ()
    assert '"server": "notes", "tool": "delete_file"' in str(hidden.value)
    assert '"server": "files"' not in str(hidden.value)
    with pytest.raises(ToolNotFound) as elsewhere:
        await workbench.call("dev", "notes", "delete_files")
    assert '"server": "files"' not in str(elsewhere.value)
    result = await workbench.call("dev", "notes", "delete_file")
    assert result.is_error is False


async def test_a_note_on_a_list_does_not_name_a_hidden_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    note = "the server lists 'delete_file' twice; the first counts"
    monkeypatch.setattr(ConfiguredServer, "notes", [note])
    view = view_of(configured({"delete_*": "deny", "hide": True}), Principal("ann"))
    assert [view.toolbox_server("dev", name).notes for name in ("files", "notes")] == [[], [note]]


def view_of(config: dict[str, Any], principal: Principal, *policies: Any) -> ClientView:
    loaded = load_data(config, {})
    door = Door()
    policy = ConfiguredPolicy(door, Person)
    policy.configure(loaded.config)
    policy.adopt_tokens(policies)
    return ClientView(build(loaded, environ={}, cache="/nonexistent", door=door), principal)


async def test_nothing_is_wrapped_or_copied_where_nothing_is_hidden() -> None:
    for policy in ({"delete_*": "deny"}, {"delete_*": "ask", "hide": True}):
        view = view_of(configured(policy), Principal("ann"))
        assert view.toolboxes is view._workbench.toolboxes


async def test_tools_are_hidden_from_the_holders_of_some_tokens() -> None:
    policy = load_data({"policy": {"delete_*": "deny", "hide": True}, "toolboxes": {}}, {}).config.policy
    ci = view_of(configured({}), Principal("ci", None, policy), policy)
    assert [type(each) for each in ci.toolbox_servers.values()] == [HidingServer] * 2
    ann = view_of(configured({}), Principal("ann"), policy)
    assert HidingServer not in [type(each) for each in ann.toolbox_servers.values()]
    ann.refresh(Principal("ann", None, policy))
    assert [type(each) for each in ann.toolbox_servers.values()] == [HidingServer] * 2


def test_everything_that_a_server_offers_goes_through_what_hides_some_of_it() -> None:
    """A method with a default would otherwise be that of a server without tools."""
    plain = {"name", "origin", "inline_limit", "is_required"}
    offered = {name for name, _ in inspect.getmembers(ToolboxServer) if not name.startswith("_")}
    assert offered - plain <= vars(HidingServer).keys()


async def test_a_call_that_may_only_read_does_not_tell_that_a_tool_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ConfiguredServer, "tool_hint", lambda *_: "destructive")
    decided = Decided(tmp_path, {"read": "deny", "hide": True})
    decided.relayed.workbench.has_read_only_tool = True
    target = {"toolbox": "dev", "server": "files", "tool": "read"}
    decided.request(1, "tools/call", name="use_tool_read_only", arguments={"tool": target, "arguments": {}})
    await decided.settle()
    assert decided.text.startswith("Tool 'read' not found in server 'files' (toolbox 'dev').")
