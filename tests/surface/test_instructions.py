"""The text that tells a model which toolboxes there are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.support.configs import server, toolboxes

if TYPE_CHECKING:
    from tests.conftest import Connect
    from tests.support.client import Json


def many(count: int) -> Json:
    boxes = {f"toolbox-{number:02}": {"only": server()} for number in range(count)}
    config = toolboxes(**boxes)
    for box in config["toolboxes"].values():
        box["description"] = "What there is to say about it. " * 12
    return config


async def test_each_toolbox_stands_there_with_its_servers_and_its_description(connect: Connect) -> None:
    config = toolboxes(alpha={"one": server(), "two": server(), "three": server()}, beta={"one": server()})
    text = (await connect(config)).greeting["instructions"]
    assert text.startswith("Available Toolboxes:")
    for name, servers in (("alpha", 3), ("beta", 1)):
        (line,) = [line for line in text.splitlines() if f"The {name} toolbox" in line]
        assert re.search(rf"\b{name}\b.*\b{servers}\b", line)


async def test_they_show_how_to_open_a_toolbox_and_name_a_tool(connect: Connect) -> None:
    text = (await connect(toolboxes(dev={"files": server()}))).greeting["instructions"]
    for word in ("open_toolbox", "use_tool", '"toolbox"', '"server"', '"tool"'):
        assert word in text


async def test_without_toolboxes_they_say_how_to_configure_one(connect: Connect) -> None:
    text = (await connect({"toolboxes": {}})).greeting["instructions"]
    assert "toolboxes" in text
    assert "mcpServers" in text


async def test_twenty_toolboxes_with_long_descriptions_fit_into_2000_characters(connect: Connect) -> None:
    text = (await connect(many(20))).greeting["instructions"]
    assert len(text) < 2000
    assert set(re.findall(r"toolbox-\d\d", text)) == set(many(20)["toolboxes"])


async def test_not_one_of_sixty_names_is_dropped(connect: Connect) -> None:
    text = (await connect(many(60))).greeting["instructions"]
    assert set(re.findall(r"toolbox-\d\d", text)) == set(many(60)["toolboxes"])


async def test_ten_toolboxes_cost_a_model_less_than_a_thousand_tokens(connect: Connect) -> None:
    session = await connect(many(10))
    descriptions = [tool["description"] for tool in await session.list_tools()]
    assert len(session.greeting["instructions"]) + sum(map(len, descriptions)) < 4 * 1000
