"""The client of the shell, and workbenches that answer otherwise than expected."""

from __future__ import annotations

import itertools
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


@pytest.mark.parametrize(
    "asked",
    [
        {"resultType": "input_required", "requestState": "later"},
        {"resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create"}}},
    ],
    ids=["called again", "declined"],
)
async def test_a_call_is_repeated_until_its_server_has_asked_too_often(
    monkeypatch: pytest.MonkeyPatch, asked: object
) -> None:
    monkeypatch.setattr(mcp_client, "FIRST_WAIT_SECONDS", 0.0)
    done: dict[str, object] = {"content": []}
    patient = McpClient(answering([*itertools.repeat(asked, mcp_client.MAX_ROUNDS - 1), done]))
    assert msgspec.json.decode(await patient.call("use_tool", {})) == done
    with pytest.raises(BadAnswer, match="it has asked for input 100 times, and still asks for more"):
        await McpClient(answering(itertools.repeat(asked))).call("use_tool", {})
