"""The client of the shell, and workbenches that answer otherwise than expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import msgspec
import pytest

from mcp_workbench.cli.shell.workbenches import mcp_client
from mcp_workbench.cli.shell.workbenches.mcp_client import McpClient
from mcp_workbench.errors import BadAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_workbench.cli.shell.workbenches.connection import WorkbenchConnection


def answering(results: Iterable[object]) -> WorkbenchConnection:
    """Something in the place of a workbench, which gives these results."""
    left = iter(results)

    class Scripted:
        async def exchange(self, request_id: int, *_: object) -> bytes:
            return msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "result": next(left)})

    return cast("WorkbenchConnection", Scripted())  # the rest is not used


@pytest.mark.parametrize(
    "result",
    [
        [],
        {},
        {"tools": 5},
        {"tools": [{"name": "other", "inputSchema": {"properties": {"x": {"enum": ["a"]}}}}]},
        {"tools": [{"name": "open_toolbox", "inputSchema": {"properties": {"toolbox_name": 5}}}]},
    ],
)
async def test_another_server_is_not_taken_for_a_workbench(result: object) -> None:
    with pytest.raises(BadAnswer, match="it is not an MCP Workbench"):
        await McpClient(answering([result])).toolbox_names()


async def test_a_call_is_repeated_for_as_long_as_its_server_wants_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mcp_client, "FIRST_WAIT_SECONDS", 0.0)
    again = [{"resultType": "input_required", "requestState": number} for number in range(1100)]
    client = McpClient(answering([*again, {"content": []}]))
    assert bytes(await client.call("use_tool", {})) == b'{"content":[]}'
