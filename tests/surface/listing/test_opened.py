"""The list of a toolbox is written once for all clients, and again once it has changed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.surface.listing import opened as opened_toolboxes
from tests.serve.http.inside import serving
from tests.support.configs import server, tool, toolboxes
from tests.support.sessions import result_of
from tests.support.talking import using
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_workbench.surface.listing.open_request import OpenRequest
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.toolbox import Opening
    from tests.serve.http.raw_clients import Legacy, Modern
    from tests.support.client import Json


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The levels of detail of the lists that were written."""
    levels: list[str] = []
    write = opened_toolboxes._write

    def count(opening: Opening, wanted: OpenRequest) -> tuple[Body, ...]:
        levels.append(wanted.detail)
        return write(opening, wanted)

    monkeypatch.setattr(opened_toolboxes, "_write", count)
    return levels


async def opened(client: Legacy | Modern, **arguments: object) -> Json:
    params = {"name": "open_toolbox", "arguments": {"toolbox_name": "dev", **arguments}}
    response = await client.send("tools/call", params)
    content: Json = result_of((await response.messages())[-1])["structuredContent"]
    return content


async def test_many_clients_get_a_list_that_is_written_once_for_each_level(
    tmp_path: Path, written: list[str]
) -> None:
    async with serving(tmp_path, toolboxes(dev={"many": server(crowd=300)})) as inside:
        lists = [await opened(await inside.modern()) for _ in range(3)]
        lists += [await opened(await inside.legacy())]
        assert [it == lists[0] for it in lists] == [True] * 4
        assert await opened(await inside.modern(), detail="signatures") != lists[0]
        assert written == ["auto", "signatures"]


async def test_tools_that_are_wanted_by_name_are_not_taken_from_the_list_of_all(
    tmp_path: Path, written: list[str]
) -> None:
    async with serving(tmp_path, toolboxes(dev={"some": server(tools=[tool("one"), tool("two")])})) as inside:
        client = await inside.modern()
        everything = await opened(client)
        one = await opened(client, tools=["one"])
        assert [it["name"] for it in everything["tools"]] == ["one", "two"]
        assert [it["name"] for it in one["tools"]] == ["one"]
        assert await opened(client) == everything
        assert len(written) == 2


async def test_a_list_is_written_again_once_its_tools_have_changed(
    tmp_path: Path, written: list[str]
) -> None:
    changing = {"grow": {"do": "change_tools", "tools": [tool("grow"), tool("new")]}}
    async with serving(
        tmp_path, toolboxes(dev={"some": server(tools=[tool("grow")], behaviours=changing)})
    ) as inside:
        client = await inside.modern()
        before = await opened(client)
        await (await client.send("tools/call", using("some", {}, tool="grow"))).messages()
        async with asyncio.timeout(PATIENCE):
            while (after := await opened(client)) == before:
                continue  # the workbench asks for the new list meanwhile
        assert [it["name"] for it in after["tools"]] == ["grow", "new"]
        assert len(written) == 2
