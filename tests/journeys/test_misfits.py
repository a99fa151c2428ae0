"""A call whose arguments do not fit comes back with the tool's definition, so that the next one can."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.servers import official
from tests.support.configs import ECHO, server, tool, toolboxes
from tests.support.sessions import failure_of, text_of

if TYPE_CHECKING:
    from tests.conftest import Connect
    from tests.support.client import Json
    from tests.support.sessions import Era

OFFICIAL: Json = {"command": sys.executable, "args": [str(Path(official.__file__))]}
COUNT = {"type": "object", "properties": {"steps": {"type": "integer"}}, "required": ["steps"]}


async def test_a_server_on_the_official_sdk_is_put_right_at_once(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"official": OFFICIAL}))
    failure = await session.use_tool("dev", "official", "count", {"step": 1})
    said, advice = (block["text"] for block in failure["content"])
    assert said.startswith("Error executing tool count: 1 validation error for countArguments")
    front, _, definition = advice.partition("The tool's definition: ")
    assert front == "The arguments do not fit the tool's schema: 'steps' is missing. "
    tools = (await session.open_toolbox("dev", detail="full"))["structuredContent"]["tools"]
    assert json.loads(definition) in tools
    assert text_of(await session.use_tool("dev", "official", "count", {"steps": 1})) == "counted"


async def test_invalid_params_bring_the_definition(connect: Connect, server_era: Era) -> None:
    refusing = server(
        era=server_era,
        tools=[tool("count", inputSchema=COUNT)],
        behaviours={"count": {"do": "error", "text": '{"code":-32602,"message":"no such number"}'}},
    )
    session = await connect(toolboxes(dev={"numbers": refusing}))
    unfitting = failure_of(await session.use_tool("dev", "numbers", "count", {"steps": "many"}))
    fitting = failure_of(await session.use_tool("dev", "numbers", "count", {"steps": -1}))
    place = "tool 'count' in server 'numbers' (toolbox 'dev')"
    front = f"Error executing {place}: JSON-RPC error -32602: no such number"
    misfit = "The arguments do not fit the tool's schema: 'steps' must be integer, not string. "
    assert unfitting.startswith(f"{front}\n{misfit}The tool's definition: ")
    assert fitting.startswith(f"{front}\nAccording to the server, the arguments do not fit. ")
    assert unfitting.endswith(fitting.partition("The tool's definition: ")[2])


async def test_a_hostile_schema_holds_up_nobody(connect_modern: Connect) -> None:
    deep: Any = {"type": "string"}
    for _ in range(90):
        deep = {"properties": {"a": deep}, "anyOf": [{"$ref": "#"}, {"$ref": "#"}]}
    hostile = {
        "properties": {"a": deep, "b": {"pattern": "^(a+)+$"}, "c": {"$ref": "https://example.invalid/c"}},
        "allOf": [{"$ref": "#"}, {"$ref": "#/allOf/0"}],
    }
    hostile_server = server(
        tools=[tool("trap", inputSchema=hostile)],
        behaviours={"trap": {"do": "error", "text": '{"code":-32602,"message":"no"}'}},
    )
    session = await connect_modern(toolboxes(dev={"trap": hostile_server, "other": server(tools=[ECHO])}))
    await session.open_toolbox("dev")
    arguments = '{"a":' * 100 + "1" + "}" * 99 + ',"b":"' + "a" * 50_000 + '!","c":1}'
    started = time.monotonic()
    trapped = [await session.begin_tool("dev", "trap", "trap", arguments) for _ in range(20)]
    assert text_of(await session.use_tool("dev", "other", "echo")) == "{}"
    for call in trapped:
        assert "the arguments do not fit" in failure_of((await call).message["result"])
    assert time.monotonic() - started < 10
