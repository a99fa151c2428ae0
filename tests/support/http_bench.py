"""The workbench over HTTP as a child: started on a free port, awaited, ended as a service manager does."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from dataclasses import dataclass
from signal import SIGKILL
from typing import TYPE_CHECKING

import httpx2

from tests.servers.scripted import MODERN_VERSION, RESERVED
from tests.support.client import clean_environment, serve_command, write_config
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.support.client import Json


@dataclass(frozen=True)
class HttpBench:
    """A workbench that listens."""

    port: int
    pid: int

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}/mcp"

    async def call(self, name: str, arguments: Json, capabilities: Json | None = None) -> Json:
        """The result of one of its tools, by a request of the modern era."""
        meta = {
            RESERVED + "protocolVersion": MODERN_VERSION,
            RESERVED + "clientCapabilities": capabilities or {},
        }
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": MODERN_VERSION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": name,
        }
        params = {"name": name, "arguments": arguments, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        async with httpx2.AsyncClient(timeout=PATIENCE) as client:
            response = await client.post(self.url, json=message, headers=headers)
        body = response.text
        if response.headers["content-type"].startswith("text/event-stream"):
            body = [line[5:] for line in body.splitlines() if line.startswith("data:")][-1]
        result: Json = json.loads(body)["result"]
        return result


@contextlib.asynccontextmanager
async def http_bench(home: Path, config: Json, *args: str) -> AsyncIterator[HttpBench]:
    port = free_port()
    command = serve_command(write_config(home, config), "serve", "--http", f"127.0.0.1:{port}", *args)
    process = await asyncio.create_subprocess_exec(
        *command,
        env=clean_environment(home),
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stderr is not None
    log = asyncio.create_task(process.stderr.read())
    try:
        async with asyncio.timeout(PATIENCE):
            while not await _is_open(port):
                assert process.returncode is None, (await log).decode()
                await asyncio.sleep(0.02)  # nothing announces to strangers that a port is open
        yield HttpBench(port, process.pid)
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            async with asyncio.timeout(PATIENCE):
                said = (await log).decode()
                code = await process.wait()
        except TimeoutError:
            os.killpg(process.pid, SIGKILL)
            raise
    assert code == 0, said
    assert "Traceback (most recent call last)" not in said, said


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


async def _is_open(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
