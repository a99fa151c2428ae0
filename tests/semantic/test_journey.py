"""A workbench in an environment with the extra finds tools by meaning, and keeps what it has learnt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.configs import server, tool, toolboxes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Connect

TOOLS = [
    tool("get_forecast", description="Weather forecast for a city: temperature and rain"),
    tool("create_invoice", description="Write an invoice for a customer"),
]


def kept(home: Path) -> list[str]:
    return [file.name for file in home.glob("cache/mcp-workbench/vectors/*")]


async def test_a_tool_is_found_by_a_client_in_other_words(connect: Connect, tmp_path: Path) -> None:
    session = await connect(toolboxes(dev={"world": server(tools=TOOLS)}))
    await session.open_toolbox("dev")
    found = await session.call("open_toolbox", {"query": "will it be cold outside tomorrow"})
    assert [tool["name"] for tool in found["structuredContent"]["tools"]] == ["get_forecast"]
    (vectors,) = kept(tmp_path)
    assert vectors.startswith("wordllama-")
