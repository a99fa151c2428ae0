"""Results that are hard to send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.configs import acting, toolboxes
from tests.support.talking import using

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.serve.http.conftest import SharedWorkbench


async def test_a_result_with_carriage_returns_between_its_parts_is_one_event(
    build: Callable[[], SharedWorkbench],
) -> None:
    shared_workbench = build()
    raw = acting("raw", "result", text='{"content":[],\r"x":"a\\rb"\r}')
    await shared_workbench.open(toolboxes(dev={"raw": raw}))
    client = await shared_workbench.legacy(version="2025-03-26")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": using("raw", {}, tool="raw")}
    response = await client.post([call, {"jsonrpc": "2.0", "id": 2, "method": "ping"}])
    assert response.is_stream
    answers = {message["id"]: message["result"] for message in await response.messages()}
    assert answers == {1: {"content": [], "x": "a\rb"}, 2: {}}
