"""An agent of the OpenAI Agents SDK that uses the workbench in its own process.

pip install . openai-agents     (in a clone of the workbench)
OPENAI_API_KEY=… python agent.py workbench-config.json "What time is it in Tokyo?"
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

from agents import Agent, FunctionTool, Model, RunConfig, Runner, function_tool

from mcp_workbench import CallError, Workbench

if TYPE_CHECKING:
    from mcp_workbench import Tool


def instructions(workbench: Workbench) -> str:
    """What the model is told first: the toolboxes, and nothing of the tools in them."""
    lines = [f"- {toolbox.name}: {toolbox.description}" for toolbox in workbench.toolboxes]
    return "\n".join(["Find a tool, then use it. These toolboxes exist:", *lines])


def shown(tool: Tool) -> dict[str, Any]:
    """What the model reads of a tool."""
    return {
        "toolbox": tool.toolbox,
        "server": tool.server,
        "tool": tool.name,
        "description": tool.description,
        "arguments": tool.input_schema,
    }


def workbench_tools(workbench: Workbench) -> list[FunctionTool]:
    """Three tools for the model, in place of all tools of all servers."""

    @function_tool
    async def find_tools(query: str) -> str:
        """Find tools by what they do, in all toolboxes that were opened before."""
        found = await workbench.find(query)
        return json.dumps([shown(tool) for tool in found.tools])

    @function_tool
    async def open_toolbox(toolbox: str) -> str:
        """List the tools of a toolbox."""
        try:
            opened = await workbench.open(toolbox)
        except CallError as error:
            return str(error)
        return json.dumps([shown(tool) for tool in opened.tools])

    @function_tool(strict_mode=False)
    async def use_tool(toolbox: str, server: str, tool: str, arguments: dict[str, Any]) -> str:
        """Call a tool with arguments that fit its schema."""
        try:
            result = await workbench.call(toolbox, server, tool, arguments, timeout=60)
        except (CallError, TimeoutError) as error:
            return str(error)
        return f"The tool failed: {result.text}" if result.is_error else result.text

    return [find_tools, open_toolbox, use_tool]


async def answer(config: str, question: str, model: Model | None = None) -> str:
    """Let an agent answer a question with the tools of a configuration."""
    async with Workbench.load(config) as workbench:
        agent = Agent(
            name="assistant",
            instructions=instructions(workbench),
            tools=[*workbench_tools(workbench)],
            model=model,
        )
        result = await Runner.run(agent, question, run_config=RunConfig(tracing_disabled=True))
        return str(result.final_output)


if __name__ == "__main__":
    print(asyncio.run(answer(sys.argv[1], sys.argv[2])))
