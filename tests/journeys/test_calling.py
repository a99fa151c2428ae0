"""`use_tool` between clients and servers of both eras: what goes down and what comes back, byte for byte."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.servers.scripted import IDENTITY, RESERVED, members
from tests.support.configs import ECHO, WHOLE, acting, server, tool, toolboxes
from tests.support.sessions import CLIENT_INFO, failure_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Connect
    from tests.support.journal import Journal
    from tests.support.sessions import Era

ODD_ARGUMENTS = (
    r'{"z":1.0,"a":"\u00e9\/\ud83d\ude00 é","big":12345678901234567890123,"e":1e400,'
    r'"small":-0.0,"nested":{"b":[ ],"a":null},"":"empty key","z2":1E+2}'
)

ODD_MEMBERS = {
    "content": r'[{"type":"text","text":"a\u0062c\/","x-inner":{"n":1.0}}]',
    "structuredContent": '{"f":1.0,"big":12345678901234567890123,"e":1e400,"k" : [ 1 ]}',
    "isError": "false",
    "x-unheard-of": '{"deep":{"er":-0.0}}',
}

ODD_NAMES = [
    "a.b.c",
    "path/to/tool",
    "dev__files__echo",
    " with spaces ",
    "🛠️",
    "quo\"te's",
    "back\\slash",
    "use_tool",
    "ünïcode",
    "n" * 300,
]


def spliced(parts: dict[str, str]) -> str:
    return "{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in parts.items()) + "}"


async def test_a_plain_call_works_between_any_two_eras(connect: Connect, server_era: Era) -> None:
    session = await connect(toolboxes(dev={"files": server(era=server_era)}))
    await session.open_toolbox("dev")
    assert text_of(await session.use_tool("dev", "files", "echo", {"a": 1})) == '{"a": 1}'


async def test_a_tool_can_be_used_before_its_toolbox_is_opened(connect: Connect, server_era: Era) -> None:
    session = await connect(toolboxes(dev={"files": server(era=server_era)}))
    assert text_of(await session.use_tool("dev", "files", "echo", {"a": 1})) == '{"a": 1}'


async def test_a_server_of_both_eras_is_spoken_to_in_the_modern_one(
    connect_modern: Connect, journal: Journal
) -> None:
    session = await connect_modern(toolboxes(dev={"files": server(journal, era="dual")}))
    assert text_of(await session.use_tool("dev", "files", "echo")) == "{}"
    assert journal.messages("initialize") == []


async def test_arguments_go_down_byte_for_byte(connect: Connect, journal: Journal, server_era: Era) -> None:
    session = await connect(toolboxes(dev={"files": server(journal, era=server_era)}))
    await session.use_tool_raw("dev", "files", "echo", ODD_ARGUMENTS)
    (line,) = [line for line in journal.lines if '"tools/call"' in line]
    assert members(members(line)["params"])["arguments"] == ODD_ARGUMENTS


async def test_a_result_comes_back_byte_for_byte(connect: Connect, server_era: Era) -> None:
    kind = {"resultType": '"complete"'} if server_era == "modern" else {}
    raw = spliced({**kind, **ODD_MEMBERS, "_meta": '{"com.example/kept":{"v":1.0}}'})
    session = await connect(toolboxes(dev={"files": acting("odd", "result", era=server_era, text=raw)}))
    reply = await session.use_tool_raw("dev", "files", "odd", "{}")
    came_back = members(members(reply.line.decode())["result"])
    assert {key: came_back[key] for key in ODD_MEMBERS} == ODD_MEMBERS
    assert members(came_back["_meta"])["com.example/kept"] == '{"v":1.0}'
    if session.era == server_era == "legacy":
        assert members(reply.line.decode())["result"] == raw


async def test_an_error_of_the_tool_itself_passes_as_it_is(connect: Connect, server_era: Era) -> None:
    raw = '{"content":[{"type":"text","text":"disk full"}],"isError":true,"code":7}'
    session = await connect(toolboxes(dev={"files": acting("odd", "result", era=server_era, text=raw)}))
    result = await session.use_tool("dev", "files", "odd")
    assert failure_of(result) == "disk full"
    assert result["code"] == 7


async def test_a_modern_client_gets_a_result_type_from_a_legacy_server(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"files": server(era="legacy")}))
    result = await session.use_tool("dev", "files", "echo")
    assert result.get("resultType") == ("complete" if session.era == "modern" else None)


async def test_reserved_keys_are_stamped_anew_on_each_hop(
    connect: Connect, journal: Journal, server_era: Era
) -> None:
    passed = {
        "traceparent": "00-0af7-b7ad-01",
        "tracestate": "a=b",
        "baggage": "k=v",
        "com.example/key": [1.0],
    }
    session = await connect(toolboxes(dev={"files": server(journal, era=server_era)}))
    await session.use_tool("dev", "files", "echo", {}, {**passed, RESERVED + "logLevel": "debug"})
    (call,) = journal.messages("tools/call")
    meta = call["params"]["_meta"]
    reserved = {key: value for key, value in meta.items() if key.startswith(RESERVED)}
    assert passed.items() <= meta.items()
    assert CLIENT_INFO not in reserved.values()
    assert IDENTITY not in reserved.values()
    assert bool(reserved) is (server_era == "modern")


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_a_tool_name_is_opaque(connect_modern: Connect, journal: Journal, name: str) -> None:
    session = await connect_modern(toolboxes(dev={"odd": server(journal, tools=[tool(name)])}))
    (listed,) = (await session.open_toolbox("dev"))["structuredContent"]["tools"]
    assert text_of(await session.use_tool("dev", "odd", name, {"a": 1})) == '{"a": 1}'
    assert listed["name"] == name
    assert [call["params"]["name"] for call in journal.messages("tools/call")] == [name]


async def test_the_names_of_toolboxes_and_servers_are_opaque_too(connect_modern: Connect) -> None:
    pairs = [("my box", "a/b"), ("böx.1", "s__t"), ('it\'s "quoted"', "🛠️")]
    session = await connect_modern(
        {"toolboxes": {box: {"description": "Odd", "mcpServers": {name: server()}} for box, name in pairs}}
    )
    opening, _ = await session.list_tools()
    assert opening["inputSchema"]["properties"]["toolbox_name"]["enum"] == [box for box, _ in pairs]
    for box, name in pairs:
        (listed,) = (await session.open_toolbox(box))["structuredContent"]["tools"]
        assert listed["description"] == f"[{box}/{name}] Says it again"
        assert text_of(await session.use_tool(box, name, "echo")) == "{}"


async def test_the_third_key_may_be_called_name(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"files": server()}))
    identifier = {"toolbox": "dev", "server": "files", "name": "echo"}
    assert text_of(await session.call("use_tool", {"tool": identifier, "arguments": {"a": 1}})) == '{"a": 1}'


async def test_arguments_may_come_as_the_json_text_of_an_object(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"files": server()}))
    reply = await session.use_tool_raw("dev", "files", "echo", json.dumps('{"a":1.0,"é":"\\u00e9"}'))
    assert text_of(reply.message["result"]) == '{"a":1.0,"é":"\\u00e9"}'


async def test_arguments_may_be_left_out(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"files": server()}))
    identifier = {"toolbox": "dev", "server": "files", "tool": "echo"}
    assert text_of(await session.call("use_tool", {"tool": identifier})) == "{}"


async def test_large_arguments_and_results_pass_whole(connect: Connect, server_era: Era) -> None:
    session = await connect({**WHOLE, **toolboxes(dev={"files": server(era=server_era)})})
    arguments = json.dumps({"text": "é" * 3_000_000}, ensure_ascii=False)
    reply = await session.use_tool_raw("dev", "files", "echo", arguments)
    assert text_of(reply.message["result"]) == arguments


async def test_one_server_name_in_two_toolboxes_is_two_processes(
    connect_modern: Connect, make_journal: Callable[[str], Journal]
) -> None:
    config = toolboxes(
        dev={"files": acting("who", "tell", make_journal("dev"))},
        ops={"files": acting("who", "tell", make_journal("ops"))},
    )
    session = await connect_modern(config)
    told = [json.loads(text_of(await session.use_tool(box, "files", "who"))) for box in ("dev", "dev", "ops")]
    assert [one["calls"] for one in told] == [1, 2, 1]
    assert told[0]["pid"] == told[1]["pid"] != told[2]["pid"]


async def test_one_command_under_two_names_is_two_processes(connect_modern: Connect) -> None:
    entry = acting("who", "tell")
    session = await connect_modern(toolboxes(dev={"one": entry, "two": entry}))
    pids = [json.loads(text_of(await session.use_tool("dev", name, "who")))["pid"] for name in ("one", "two")]
    assert pids[0] != pids[1]


async def test_tools_of_one_name_on_two_servers_are_told_apart(
    connect_modern: Connect, make_journal: Callable[[str], Journal]
) -> None:
    journals = {name: make_journal(name) for name in ("one", "two")}
    servers = {name: server(journal, tools=[ECHO]) for name, journal in journals.items()}
    session = await connect_modern(toolboxes(dev=servers))
    await session.use_tool("dev", "two", "echo")
    assert [len(journal.messages("tools/call")) for journal in journals.values()] == [0, 1]
