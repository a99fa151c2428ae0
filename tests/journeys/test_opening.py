"""`open_toolbox`: what it returns, and how often it starts what."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING

from tests.support.configs import ECHO, server, tool, toolboxes
from tests.support.sessions import names, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Connect
    from tests.support.client import Json
    from tests.support.journal import Journal
    from tests.support.sessions import Era


async def test_the_result_is_the_whole_toolbox_as_text_and_as_structure(
    connect: Connect, server_era: Era
) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    extra = {
        "title": "Read it",
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "_meta": {"com.example/k": 1},
        "x-unheard-of": {"a": [None, "é"]},
    }
    # Icons are for people, and no pin covers them.
    definition = tool("read", inputSchema=schema, icons=[{"src": "https://example.com/i.png"}], **extra)
    session = await connect(toolboxes(dev={"files": server(era=server_era, tools=[definition])}))
    result = await session.open_toolbox("dev", detail="full")
    expected: Json = {
        "toolbox": "dev",
        "description": "The dev toolbox",
        "servers_connected": 1,
        "tools": [
            {
                "name": "read",
                "toolbox_name": "dev",
                "source_server": "files",
                "description": "[dev/files] Does read",
                "inputSchema": schema,
                **extra,
            }
        ],
    }
    assert result["structuredContent"] == expected
    assert json.loads(text_of(result)) == expected
    # By default a model is shown what a client would have shown it without a workbench.
    for key in extra:
        del expected["tools"][0][key]
    for asked in ({}, {"tools": ["read"]}):
        result = await session.open_toolbox("dev", **asked)
        assert json.loads(text_of(result)) == result["structuredContent"] == expected


async def test_the_text_is_compact_and_the_very_structure(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"files": server(tools=['{"name":"é","inputSchema":{}}'])}))
    result = await session.open_toolbox("dev")
    compact = json.dumps(result["structuredContent"], separators=(",", ":"), ensure_ascii=False)
    assert text_of(result) == compact


async def test_unknown_fields_of_a_tool_are_kept_byte_for_byte(connect: Connect) -> None:
    odd = '"x-odd":{"n":1e400,"m":12345678901234567890123,"f":1.0,"s":"\\u00e9\\/"}'
    definition = '{"name":"odd",' + odd + ',"inputSchema":{"type":"object","maximum":1.0}}'
    session = await connect(toolboxes(dev={"files": server(tools=[definition])}))
    arguments = '{"toolbox_name":"dev","detail":"full"}'
    reply = await session.exchange("tools/call", f'{{"name":"open_toolbox","arguments":{arguments}}}')
    for text in (odd, '"inputSchema":{"type":"object","maximum":1.0}'):
        assert text in reply.line.decode()
        assert text in text_of(reply.message["result"])


async def test_a_tool_cannot_name_itself_into_another_toolbox(connect_modern: Connect) -> None:
    definition = tool("sly", toolbox_name="bank", source_server="vault")
    session = await connect_modern(toolboxes(dev={"files": server(tools=[definition])}))
    (listed,) = (await session.open_toolbox("dev"))["structuredContent"]["tools"]
    assert (listed["toolbox_name"], listed["source_server"]) == ("dev", "files")


async def test_a_tool_without_a_description_says_where_it_is(connect_modern: Connect) -> None:
    session = await connect_modern(
        toolboxes(dev={"files": server(tools=['{"name":"bare","inputSchema":{}}'])})
    )
    (listed,) = (await session.open_toolbox("dev"))["structuredContent"]["tools"]
    assert listed["description"].strip() == "[dev/files]"


async def test_characters_that_hide_text_from_a_person_are_removed(connect_modern: Connect) -> None:
    sly = "Reads\u202e a\u200b\u0007 file\u2066\U000e0041\nand no more\x1b[8m"
    session = await connect_modern(toolboxes(dev={"files": server(tools=[tool("read", description=sly)])}))
    (listed,) = (await session.open_toolbox("dev"))["structuredContent"]["tools"]
    assert listed["description"] == "[dev/files] Reads a file\nand no more"


async def test_the_argument_may_be_called_toolbox(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"files": server()}))
    assert await session.call("open_toolbox", {"toolbox": "dev"}) == await session.open_toolbox("dev")


async def test_servers_and_tools_come_in_the_order_of_the_configuration(connect_modern: Connect) -> None:
    slow_first = {
        "zeta": server(start_delay=0.3, tools=[tool("b"), tool("a")]),
        "alpha": server(tools=[tool("d"), tool("c")]),
    }
    session = await connect_modern(toolboxes(dev=slow_first))
    assert names((await session.open_toolbox("dev"))["structuredContent"]["tools"]) == ["b", "a", "d", "c"]


async def test_one_bad_tool_does_not_lose_the_list(connect_modern: Connect) -> None:
    bad = ["5", "null", '{"inputSchema":{}}', '{"name":7}', '{"name":""}']
    session = await connect_modern(toolboxes(dev={"files": server(tools=[*bad, ECHO])}))
    assert names((await session.open_toolbox("dev"))["structuredContent"]["tools"]) == ["echo"]


async def test_a_server_without_tools_is_connected_all_the_same(connect_modern: Connect) -> None:
    session = await connect_modern(toolboxes(dev={"files": server(tools=[])}))
    opened = (await session.open_toolbox("dev"))["structuredContent"]
    assert (opened["servers_connected"], opened["tools"]) == (1, [])


async def test_opening_twice_starts_nothing_twice(connect: Connect, journal: Journal) -> None:
    session = await connect(toolboxes(dev={"files": server(journal)}))
    assert await session.open_toolbox("dev") == await session.open_toolbox("dev")
    assert journal.starts == 1


async def test_concurrent_opens_and_calls_start_each_server_once(
    connect: Connect, make_journal: Callable[[str], Journal]
) -> None:
    journals = {name: make_journal(name) for name in ("one", "two")}
    servers = {name: server(journal, start_delay=0.2) for name, journal in journals.items()}
    session = await connect(toolboxes(dev=servers))
    results = await asyncio.gather(
        *(session.open_toolbox("dev") for _ in range(8)),
        *(session.use_tool("dev", name, "echo") for name in journals for _ in range(4)),
    )
    assert all(result == results[0] for result in results[:8])
    assert [journal.starts for journal in journals.values()] == [1, 1]


async def test_opening_one_toolbox_leaves_the_others_alone(connect_modern: Connect, journal: Journal) -> None:
    session = await connect_modern(toolboxes(dev={"files": server()}, ops={"logs": server(journal)}))
    await session.open_toolbox("dev")
    await session.use_tool("dev", "files", "echo")
    assert journal.starts == 0


async def test_a_disabled_server_is_not_started(connect_modern: Connect, journal: Journal) -> None:
    entries = {"files": server(), "off": server(journal, {"disabled": True})}
    session = await connect_modern(toolboxes(dev=entries))
    assert (await session.open_toolbox("dev"))["structuredContent"]["servers_connected"] == 1
    assert journal.starts == 0


async def test_eight_servers_of_one_second_open_in_less_than_three(
    connect_modern: Connect, server_era: Era
) -> None:
    servers = {f"s{number}": server(era=server_era, start_delay=1) for number in range(8)}
    session = await connect_modern(toolboxes(dev=servers))
    started = time.monotonic()
    opened = await session.open_toolbox("dev")
    assert time.monotonic() - started < 3
    assert opened["structuredContent"]["servers_connected"] == 8
