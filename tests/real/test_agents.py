"""An agent of the OpenAI Agents SDK, with the workbench over HTTP as its only tools.

The model is the framework's own scripted one; the agent's loop and its MCP client are what others run.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from agents import Agent, RunConfig, Runner, ToolCallOutputItem
from agents.mcp import MCPServerStreamableHttp
from agents.testing import ScriptedModel, assistant_message, function_call

from tests.real import servers
from tests.support.configs import toolboxes
from tests.support.http_bench import http_bench
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

IDENTIFIER = {"toolbox": "dev", "server": "everything", "tool": "get-sum"}


def texts(output: Any) -> str:
    """What a tool said, as the framework hands it to the model."""
    return "".join(part["text"] for part in (output if isinstance(output, list) else [output]))


async def test_an_agent_finds_the_tools_and_uses_one_through_the_workbench(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            [function_call("open_toolbox", {"toolbox_name": "dev"}, call_id="1")],
            [function_call("use_tool", {"tool": IDENTIFIER, "arguments": {"a": 19, "b": 23}}, call_id="2")],
            [assistant_message("It is 42")],
        ]
    )
    async with (
        asyncio.timeout(2 * PATIENCE),
        http_bench(tmp_path, toolboxes(dev={"everything": servers.everything()})) as bench,
        MCPServerStreamableHttp({"url": bench.url}, client_session_timeout_seconds=PATIENCE) as workbench,
    ):
        agent = Agent("adder", model=model, mcp_servers=[workbench])
        result = await Runner.run(agent, "What is 19 + 23?", run_config=RunConfig(tracing_disabled=True))

    model.assert_complete()
    offered = [tool.name for tool in model.calls[0].tools]
    opened, used = (texts(item.output) for item in result.new_items if isinstance(item, ToolCallOutputItem))
    assert offered == ["open_toolbox", "use_tool"]
    listed = json.loads(opened)["tools"]["everything"]
    assert any(signature.startswith("get-sum(a: number, b: number)") for signature in listed)
    assert used == "The sum of 19 and 23 is 42."
    assert result.final_output == "It is 42"
