"""The wordings that people's scripts know, at the front of what the model reads."""

from __future__ import annotations

import json
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


async def test_a_server_taken_for_a_toolbox_or_in_another_one_is_told_where_it_is(connect: Connect) -> None:
    session = await connect(CONFIG)
    front = "Toolbox 'git' not found. Available toolboxes: dev, ops"
    for failed in (await session.open_toolbox("git"), await session.use_tool("git", "git", "echo")):
        assert failure_of(failed) == f"{front}. Server 'git' is in toolbox 'dev'"
    assert failure_of(await session.use_tool("dev", "Logs", "echo")) == (
        "Server 'Logs' not found in toolbox 'dev'. Available servers: files, git. "
        "Server 'logs' is in toolbox 'ops'"
    )


async def test_an_unknown_tool_is_looked_for_in_other_forms_and_on_other_servers(connect: Connect) -> None:
    session = await connect(CONFIG)
    await session.open_toolbox("dev")
    front = "Tool 'READ-FILE' not found in server '{}' (toolbox 'dev')."
    here = failure_of(await session.use_tool("dev", "files", "READ-FILE"))
    assert here.startswith(f"{front.format('files')} Did you mean: read_file? open_toolbox with")
    there = failure_of(await session.use_tool("dev", "git", "READ-FILE"))
    call = '{"tool": {"toolbox": "dev", "server": "files", "tool": "read_file"}, "arguments": {…}}'
    assert there.startswith(f"{front.format('git')} On other servers: use_tool {call}.")


async def test_a_tool_asked_for_in_a_wrong_toolbox_is_told_where_it_is_and_who_failed(
    connect: Connect,
) -> None:
    ops = {"logs": server(), "broken": {"command": "/nowhere/at/all"}}
    session = await connect(toolboxes(dev={"files": server(tools=[tool("read_file")])}, ops=ops))
    await session.open_toolbox("dev")
    call = '{"tool": {"toolbox": "dev", "server": "files", "tool": "read_file"}, "arguments": {…}}'
    assert failure_of(await session.open_toolbox("ops", tools=["read_file"])).startswith(
        f"Tool 'read_file' not found in toolbox 'ops'. On other servers: use_tool {call}. "
        "The tools of these servers are not known, because they have failed or are still starting: broken."
    )
    assert failure_of(await session.open_toolbox("OPS")).endswith("Did you mean: ops?")


async def test_a_servers_tool_called_as_if_it_were_ours_gets_the_call_to_make(connect: Connect) -> None:
    session = await connect(CONFIG)
    await session.open_toolbox("dev")
    text = failure_of(await session.call("read_file", {"path": "/x"}))
    call = json.loads(text.partition("use_tool: use_tool ")[2])
    assert call["arguments"] == {"path": "/x"}
    assert not (await session.call("use_tool", call)).get("isError")
    error = (await session.request("tools/call", {"name": "nothing", "arguments": {}}))["error"]
    known = "this server has open_toolbox and use_tool"
    assert (error["code"], error["message"]) == (-32602, f"Unknown tool: nothing ({known})")
    error = (await session.request("tools/call", {"arguments": {}}))["error"]
    assert (error["code"], error["message"]) == (-32602, f"Invalid params: name is missing ({known})")


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
        {"tool": "nowhere/files/echo"},
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


ECHOED = {"toolbox": "dev", "server": "files", "tool": "echo"}
GIVEN = {"path": "/x"}


@pytest.mark.parametrize("key", ["arguments", "args", "parameters", "params", "input"])
@pytest.mark.parametrize("given", [GIVEN, json.dumps(GIVEN)], ids=["object", "string"])
@pytest.mark.parametrize("others", [{}, {"arguments": None, "path": None}], ids=["alone", "with nulls"])
async def test_arguments_are_taken_where_there_is_only_one_reading(
    connect_modern: Connect, key: str, given: object, others: dict[str, object]
) -> None:
    session = await connect_modern(CONFIG)
    for call in ({"tool": ECHOED, **others, key: given}, {"tool": ECHOED | others | {key: given}}):
        assert text_of(await session.call("use_tool", call)) == json.dumps(GIVEN)


async def test_the_keys_of_a_listing_are_taken_as_they_stand(connect: Connect) -> None:
    session = await connect(CONFIG)
    (listed, *_) = (await session.open_toolbox("dev"))["structuredContent"]["tools"]
    tool = {key: listed[key] for key in ("toolbox_name", "source_server", "name")}
    assert text_of(await session.call("use_tool", {"tool": tool, "arguments": GIVEN})) == json.dumps(GIVEN)
    both = tool | {"toolbox": "dev", "server": "files", "tool": ""}
    assert text_of(await session.call("use_tool", {"tool": both, "arguments": GIVEN})) == json.dumps(GIVEN)


async def test_what_a_listing_names_is_taken_flat_and_as_a_text(connect: Connect) -> None:
    session = await connect(CONFIG)
    for identified in ({"tool": "dev/files/echo"}, ECHOED, {"tool": json.dumps(ECHOED)}):
        called = await session.call("use_tool", {**identified, "arguments": GIVEN})
        assert text_of(called) == json.dumps(GIVEN)


@pytest.mark.parametrize("empty", ["", "  ", None, {}])
async def test_empty_arguments_are_none(connect_modern: Connect, empty: object) -> None:
    session = await connect_modern(CONFIG)
    assert text_of(await session.call("use_tool", {"tool": ECHOED, "arguments": empty})) == "{}"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"tool": ECHOED, "path": "/x"}, ['"path" beside "tool"', 'into "arguments"']),
        ({"tool": ECHOED, "arguments": {}, "path": "/x"}, ['"path" beside "tool"', 'into "arguments"']),
        ({"tool": ECHOED | GIVEN}, ['"path" inside of "tool"', 'into "arguments"']),
        ({"tool": ECHOED, "arguments": {}, "args": GIVEN}, ['"arguments" and "args" are both given']),
        ({"tool": ECHOED, "input": GIVEN, "params": {}}, ['"params" and "input" are both given']),
        (
            {"tool": ECHOED | {"arguments": GIVEN}, "arguments": {}},
            ['"arguments" and "arguments" inside of "tool" are both given'],
        ),
        ({"tool": ECHOED, "args": [1]}, ["arguments must be an object"]),
        ({"tool": ECHOED | {"name": "other"}}, ['"tool", "name" differ']),
        ({"tool": ECHOED | {"toolbox_name": "ops"}}, ['"toolbox", "toolbox_name" differ']),
        ({"tool": ECHOED, **dict.fromkeys("abcdefg", 1)}, ['"e" and 2 more beside']),
        ({"tool": ECHOED, "k" * 1000: 1}, ['k…" beside']),
    ],
)
async def test_what_would_be_dropped_is_refused_with_where_it_belongs(
    connect_modern: Connect, journal: Journal, call: dict[str, object], said: list[str]
) -> None:
    session = await connect_modern(toolboxes(dev={"files": server(journal, tools=[ECHO])}))
    await session.open_toolbox("dev")
    text = failure_of(await session.call("use_tool", call))
    assert all(words in text for words in said), text
    assert journal.messages("tools/call") == []


@pytest.mark.parametrize("key", ["args", "parameters", "params", "input"])
async def test_arguments_beside_those_of_the_protocol_are_an_invalid_parameter(
    connect: Connect, journal: Journal, key: str
) -> None:
    session = await connect(toolboxes(dev={"files": server(journal, tools=[ECHO])}))
    await session.open_toolbox("dev")
    params = {"name": "use_tool", "arguments": {"tool": ECHOED}}
    error = (await session.request("tools/call", {**params, key: GIVEN}))["error"]
    assert (error["code"], error["message"]) == (-32602, f'Invalid params: "{key}" must be in `arguments`')
    assert journal.messages("tools/call") == []
    assert (
        text_of((await session.request("tools/call", {**params, key: None, "x-other": 1}))["result"]) == "{}"
    )


@pytest.mark.parametrize("arguments", [{}, {"toolbox_name": ""}, {"toolbox_name": None, "tools": []}])
async def test_opening_nothing_is_answered_with_the_three_ways_to_call_it(
    connect_modern: Connect, arguments: dict[str, Any]
) -> None:
    session = await connect_modern(CONFIG)
    text = failure_of(await session.call("open_toolbox", arguments))
    assert text.startswith("Invalid arguments: toolbox_name is missing.")
    for way in ('{"toolbox_name": "dev"}', '{"query": "read a file"}', '{"tools": ["read_file"]}'):
        assert way in text
        assert not (await session.call("open_toolbox", json.loads(way))).get("isError")
    assert text.endswith("Available toolboxes: dev, ops")


async def test_a_name_that_is_no_text_is_called_that(connect_modern: Connect) -> None:
    session = await connect_modern(CONFIG)
    text = failure_of(await session.call("open_toolbox", {"toolbox_name": 5}))
    assert text.startswith("Invalid arguments: toolbox_name must be a string.")


@pytest.mark.parametrize("empty", ["", None], ids=["empty text", "null"])
async def test_a_client_with_strict_schemas_can_open_search_and_call(
    connect: Connect, empty: str | None
) -> None:
    """Such clients, as OpenAI's with `strict`, make every property required and send all of them."""
    session = await connect(CONFIG)
    opening, using = await session.list_tools()
    nothing: dict[str, Any] = dict.fromkeys(opening["inputSchema"]["properties"], empty)
    nothing |= {} if empty is None else {"limit": 8, "tools": [], "detail": "auto"}
    opened = await session.call("open_toolbox", nothing | {"toolbox_name": "dev"})
    assert {tool["source_server"] for tool in opened["structuredContent"]["tools"]} == {"files", "git"}
    found = await session.call("open_toolbox", nothing | {"query": "read a file"})
    assert found["structuredContent"]["tools"][0]["name"] == "read_file"
    assert set(using["inputSchema"]["properties"]) == {"tool", "arguments"}
    assert text_of(await session.call("use_tool", {"tool": ECHOED, "arguments": empty})) == "{}"


async def test_a_wrong_call_changes_nothing_for_the_next(connect: Connect) -> None:
    session = await connect(CONFIG)
    failure_of(await session.use_tool("dev", "files", "nothing"))
    assert text_of(await session.use_tool("dev", "files", "echo", {"a": 1})) == '{"a": 1}'
