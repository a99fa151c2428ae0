"""A server on the Python SDK that speaks both protocol versions, and asks by a request of its own.

That is what servers do that were written for the legacy version. On a modern connection the SDK refuses it.
`pushing.py SECONDS`: how long its start takes.
"""

from __future__ import annotations

import sys
import time

from mcp.server.elicitation import AcceptedElicitation
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("pushing")


class Answer(BaseModel):
    """What a form asks for."""

    said: str


@server.tool()
async def greet(ctx: Context) -> str:
    answer = await ctx.elicit("Your name?", Answer)
    assert isinstance(answer, AcceptedElicitation)
    return f"Hello, {answer.data.said}"


@server.tool()
def echo() -> str:
    return "echo"


if __name__ == "__main__":
    time.sleep(float(sys.argv[1]))
    server.run()
