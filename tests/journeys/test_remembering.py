"""What a client has opened is in the catalogue, however short its visit was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.configs import server, tool, toolboxes
from tests.support.sessions import text_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Connect
    from tests.support.sessions import Era


async def test_a_client_that_leaves_at_once_leaves_the_tools_of_what_it_has_opened(
    connect_modern: Connect, server_era: Era, tmp_path: Path
) -> None:
    tools = [tool("one"), tool("two", **{"x-unknown": [1.50]})]
    session = await connect_modern(toolboxes(dev={"files": server(era=server_era, tools=tools)}))
    await session.open_toolbox("dev")
    ended = await session.client.close()
    assert ended.code == 0
    (file,) = (tmp_path / "cache" / "mcp-workbench" / "catalogue").iterdir()
    assert json.loads(file.read_bytes())["tools"] == [json.loads(definition) for definition in tools]


async def test_a_home_that_cannot_be_written_makes_no_difference(
    connect_modern: Connect, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file", "ascii")
    session = await connect_modern(toolboxes(dev={"files": server()}), "--log-level", "debug")
    await session.open_toolbox("dev")
    assert text_of(await session.use_tool("dev", "files", "echo", {"a": 1})) == '{"a": 1}'
    assert (await session.client.close()).code == 0
    assert session.client.stderr.count("the catalogue cannot be written") == 1
