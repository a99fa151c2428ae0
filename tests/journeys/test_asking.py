"""What a legacy server may ask of us in mid-call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.configs import acting, toolboxes
from tests.support.sessions import text_of

if TYPE_CHECKING:
    from tests.conftest import Connect


async def test_a_server_that_pings_is_answered(connect: Connect) -> None:
    session = await connect(toolboxes(dev={"files": acting("ask", "ask", method="ping")}))
    answer = json.loads(text_of(await session.use_tool("dev", "files", "ask")))
    assert answer == {"jsonrpc": "2.0", "id": "asked-1", "result": {}}


@pytest.mark.parametrize(
    "method", ["sampling/createMessage", "elicitation/create", "roots/list", "unheard/of"]
)
async def test_a_server_that_asks_what_the_client_cannot_do_is_refused_cleanly(
    connect: Connect, method: str
) -> None:
    session = await connect(toolboxes(dev={"files": acting("ask", "ask", method=method)}))
    answer = json.loads(text_of(await session.use_tool("dev", "files", "ask")))
    assert answer["id"] == "asked-1"
    assert answer["error"]["code"] == -32601
