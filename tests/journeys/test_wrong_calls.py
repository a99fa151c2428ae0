"""The wordings that people's scripts know, at the front of what the model reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.configs import ECHO, server, tool, toolboxes
from tests.support.sessions import failure_of, text_of

if TYPE_CHECKING:
    from tests.conftest import Connect
    from tests.support.journal import Journal

CONFIG = toolboxes(
    dev={"files": server(tools=[ECHO, tool("read_file")]), "git": server()}, ops={"logs": server()}
)


async def test_an_unknown_toolbox_is_answered_with_those_there_are(connect: Connect) -> None:
    session = await connect(CONFIG)
    front = "Toolbox 'nowhere' not found. Available toolboxes: dev, ops"
    assert failure_of(await session.open_toolbox("nowhere")).startswith(front)
    assert failure_of(await session.use_tool("nowhere", "files", "echo")).startswith(front)


async def test_an_unknown_server_is_answered_with_those_of_the_toolbox(connect: Connect) -> None:
    session = await connect(CONFIG)
    text = failure_of(await session.use_tool("dev", "logs", "echo"))
    assert text.startswith("Server 'logs' not found in toolbox 'dev'")
    assert "files" in text
    assert "git" in text


async def test_an_unknown_tool_is_answered_with_near_matches(connect: Connect, journal: Journal) -> None:
    session = await connect(toolboxes(dev={"files": server(journal, tools=[ECHO, tool("read_file")])}))
    text = failure_of(await session.use_tool("dev", "files", "raed_file"))
    assert text.startswith("Tool 'raed_file' not found in server 'files' (toolbox 'dev')")
    assert "read_file" in text
    assert journal.messages("tools/call") == []


@pytest.mark.parametrize("key", ["toolbox", "server", "tool"])
@pytest.mark.parametrize("value", ["", None], ids=["empty", "absent"])
async def test_an_identifier_with_a_hole_is_told_which(
    connect_modern: Connect, key: str, value: str | None
) -> None:
    session = await connect_modern(CONFIG)
    identifier = {"toolbox": "dev", "server": "files", "tool": "echo", key: value}
    identifier = {name: it for name, it in identifier.items() if it is not None}
    text = failure_of(await session.call("use_tool", {"tool": identifier, "arguments": {}}))
    assert text.startswith(f"Invalid tool identifier: {key} ")
    if value == "":
        assert text.startswith(f"Invalid tool identifier: {key} cannot be empty")


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"tool": "dev/files/echo"},
        {"tool": None},
        {"tool": ["dev", "files", "echo"]},
        {"tool": {"toolbox": "dev", "server": "files", "tool": 5}},
        {"tool": {"toolbox": {}, "server": "files", "tool": "echo"}},
        {"toolbox": "dev", "server": "files", "arguments": {}},
    ],
)
async def test_a_malformed_identifier_is_called_that(
    connect_modern: Connect, arguments: dict[str, Any]
) -> None:
    session = await connect_modern(CONFIG)
    assert failure_of(await session.call("use_tool", arguments)).startswith("Invalid tool identifier: ")


@pytest.mark.parametrize("arguments", ["[1]", "5", "true", '"no json"', '"[1]"', '"5"'])
async def test_arguments_that_are_no_object_never_reach_the_server(
    connect_modern: Connect, journal: Journal, arguments: str
) -> None:
    session = await connect_modern(toolboxes(dev={"files": server(journal)}))
    reply = await session.use_tool_raw("dev", "files", "echo", arguments)
    assert "arguments" in failure_of(reply.message["result"])
    assert journal.messages("tools/call") == []


@pytest.mark.parametrize("arguments", [{}, {"toolbox_name": ""}, {"toolbox_name": 5}, {"toolbox_name": None}])
async def test_opening_nothing_is_answered_with_the_argument_that_is_missing(
    connect_modern: Connect, arguments: dict[str, Any]
) -> None:
    session = await connect_modern(CONFIG)
    assert "toolbox_name" in failure_of(await session.call("open_toolbox", arguments))


async def test_a_wrong_call_changes_nothing_for_the_next(connect: Connect) -> None:
    session = await connect(CONFIG)
    failure_of(await session.use_tool("dev", "files", "nothing"))
    assert text_of(await session.use_tool("dev", "files", "echo", {"a": 1})) == '{"a": 1}'
