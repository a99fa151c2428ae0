"""On stdout there is only ever JSON-RPC, however noisy the servers are."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.support.configs import acting, server, toolboxes
from tests.support.sessions import failure_of, names, text_of

if TYPE_CHECKING:
    from tests.conftest import Connect

BANNERS = ["Welcome!", "", "{}", "[1, 2", '{"jsonrpc":"2.0"}', "\x1b[31mred\x1b[0m", "null"]
NOISE = toolboxes(
    noisy={
        "banners": server(stdout=BANNERS, stderr=["starting", '{"jsonrpc":"2.0","id":1,"result":{}}']),
        "chatter": acting("chat", "lines", lines=["between the lines", '{"id": 99}', "{"]),
        "crasher": acting("crash", "crash"),
        "absent": server(exit=1, stderr=["cannot start"]),
    }
)


async def test_a_busy_session_with_noisy_servers_prints_json_rpc_only(connect: Connect) -> None:
    session = await connect(NOISE, "--log-level", "debug")
    await session.open_toolbox("noisy")

    chatted = await asyncio.gather(*(session.use_tool("noisy", "chatter", "chat") for _ in range(10)))
    echoed = await asyncio.gather(*(session.use_tool("noisy", "banners", "echo") for _ in range(10)))
    crashed = await session.use_tool("noisy", "crasher", "crash")
    absent = await session.use_tool("noisy", "absent", "echo")

    assert [text_of(result) for result in chatted] == ["after the noise"] * 10
    assert [text_of(result) for result in echoed] == ["{}"] * 10
    assert failure_of(crashed)
    assert failure_of(absent)
    assert names(await session.list_tools()) == ["open_toolbox", "use_tool"]
    await session.client.close()
    assert session.client.violations == []
