"""The two tools that a client sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.configs import server, toolboxes
from tests.support.sessions import names

if TYPE_CHECKING:
    from tests.conftest import Connect
    from tests.support.client import Json

CONFIG = toolboxes(dev={"files": server()}, ops={"logs": server()})


async def both(connect: Connect) -> tuple[Json, Json]:
    opening, using = await (await connect(CONFIG)).list_tools()
    return opening, using


async def test_there_are_exactly_two_always_the_same(connect: Connect) -> None:
    session = await connect(CONFIG)
    before = await session.list_tools()
    await session.open_toolbox("dev")
    assert names(before) == ["open_toolbox", "use_tool"]
    assert await session.list_tools() == before


async def test_their_annotations_tell_hosts_the_truth(connect: Connect) -> None:
    opening, using = await both(connect)
    told = ("readOnlyHint", "destructiveHint", "idempotentHint")
    assert [opening["annotations"][hint] for hint in told] == [False, False, True]
    assert [using["annotations"][hint] for hint in told] == [False, True, False]
    assert using["annotations"]["openWorldHint"] is True


async def test_they_have_no_titles_which_would_cost_tokens_and_say_no_more_than_the_names(
    connect: Connect,
) -> None:
    for tool in await both(connect):
        assert "title" not in tool
        assert "title" not in tool["annotations"]


async def test_hosts_that_defer_tools_are_asked_to_keep_these(connect: Connect) -> None:
    for tool in await both(connect):
        assert tool["_meta"] == {"anthropic/alwaysLoad": True}


async def test_open_toolbox_lists_the_names_in_its_schema_and_its_description(connect: Connect) -> None:
    opening, _ = await both(connect)
    assert opening["inputSchema"]["properties"]["toolbox_name"]["enum"] == ["dev", "ops"]
    assert "dev" in opening["description"]
    assert "ops" in opening["description"]


async def test_use_tool_takes_a_structured_identifier(connect: Connect) -> None:
    _, using = await both(connect)
    properties = using["inputSchema"]["properties"]
    assert list(properties["tool"]["properties"])[:3] == ["toolbox", "server", "tool"]
    assert properties["arguments"]["type"] == "object"
    assert using["inputSchema"]["required"] == ["tool"]


async def test_their_schemas_are_plain_objects(connect: Connect) -> None:
    for tool in await both(connect):
        assert tool["inputSchema"]["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf", "not", "$ref", "if"} & set(tool["inputSchema"])
