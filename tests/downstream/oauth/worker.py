"""A process beside the test that uses the same login: one request, and many more when it is told to."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import httpx2

from mcp_workbench.config import ServerConfig
from mcp_workbench.downstream.oauth import authorization


async def main(told: dict[str, Any]) -> None:
    config = ServerConfig(url=told["url"], transport="http")
    toolbox, server = told["origin"]
    auth = authorization((toolbox, server), config, os.environ, lambda _: None)
    async with httpx2.AsyncClient(auth=auth, timeout=30) as client:

        async def ask() -> int:
            return (
                await client.post(told["url"], json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
            ).status_code

        say(await ask())
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        say(await asyncio.gather(*(ask() for _ in range(told["requests"]))))


def say(what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
