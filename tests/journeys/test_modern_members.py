"""Members that only the modern protocol has, in results of modern servers, as a legacy client gets them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.servers.scripted import RESERVED, members
from tests.support.configs import acting, toolboxes
from tests.support.sessions import LegacySession
from tests.support.stocks import stock

if TYPE_CHECKING:
    from tests.conftest import Start
    from tests.support.client import Json
    from tests.support.sessions import Session

MODERN_MEMBERS = (
    f'"resultType": "complete","ttlMs":1.50e3,"cacheScope":"public","_meta":{{"{RESERVED}serverInfo":'
    '{"name":"theirs","version":"1"},"com.example/key":[ 1.0 ]}'
)


async def connect_legacy(start: Start, config: Json) -> Session:
    session = LegacySession(await start(config))
    await session.greet()
    return session


async def test_the_result_of_a_modern_servers_tool_reaches_a_legacy_client_byte_for_byte(
    start: Start,
) -> None:
    raw = f'{{"content":[],{MODERN_MEMBERS}}}'
    session = await connect_legacy(
        start, toolboxes(dev={"files": acting("odd", "result", era="modern", text=raw)})
    )
    reply = await session.use_tool_raw("dev", "files", "odd", "{}")
    assert members(reply.line.decode())["result"] == raw


@pytest.mark.parametrize(
    ("method", "params", "own"),
    [
        ("resources/read", {"uri": "workbench:dev/s/x:y"}, '"contents":[]'),
        ("prompts/get", {"name": "dev/s/one"}, '"messages":[]'),
    ],
    ids=["resource", "prompt"],
)
async def test_what_a_legacy_client_fetches_from_a_modern_server_keeps_all_its_members(
    start: Start, method: str, params: dict[str, str], own: str
) -> None:
    raw = f"{{{own},{MODERN_MEMBERS}}}"
    session = await connect_legacy(start, toolboxes(dev={"s": stock("modern", answers={method: raw})}))
    reply = await session.exchange(method, json.dumps(params))
    assert members(reply.line.decode())["result"] == raw
