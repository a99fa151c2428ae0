"""Logins in a directory of the test's own, and requests that are authorized by them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from mcp_workbench.config import OAuthConfig, Secrets, ServerConfig
from mcp_workbench.downstream.oauth import authorization
from mcp_workbench.downstream.oauth.callback import open_callback
from mcp_workbench.downstream.oauth.challenge import Challenge
from mcp_workbench.downstream.oauth.login_flow import LoginFlow
from mcp_workbench.downstream.oauth.login_store import LoginStore
from tests.downstream.oauth import worker
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_workbench.storage.login_record import Login
    from tests.support.authorizing import Authority

AS_IN_SERVICE = pytest.mark.asyncio(loop_factories=["uvloop"])
"""The loop that the workbench serves on."""
ORIGIN = ("team", "wiki")
ROOT = Path(__file__).parents[3]
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
COMMAND = "Run this in a terminal: mcp-workbench login team/wiki"


class Site:
    """A server, and the place where this user's logins are kept."""

    def __init__(self, home: Path, server: Authority, oauth: OAuthConfig | None = None) -> None:
        self.environ = {"XDG_DATA_HOME": str(home)}
        self.server = server
        self.config = ServerConfig(url=server.url, transport="http", oauth=oauth)
        self.store = LoginStore(self.environ, ORIGIN, server.url)
        self.hidden = Secrets({})

    @property
    def file(self) -> Path:
        return Path(self.store.path)

    async def log_in(self) -> Login:
        """As the command does it, with a browser that agrees."""
        browsing: list[asyncio.Task[Any]] = []
        async with asyncio.timeout(PATIENCE), open_callback([0]) as callback:
            flow = LoginFlow(self.server.url, self.config.oauth, None, callback)
            login = await flow.run(
                Challenge(scope="read"),
                "",
                lambda address, _: browsing.append(asyncio.create_task(self.server.browse(address))),
            )
            await asyncio.gather(*browsing)
        await self.keep(login)
        return login

    async def keep(self, login: Login) -> None:
        async with self.store.locked():
            await self.store.save(login)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx2.AsyncClient]:
        """A client whose requests are authorized, as the workbench's are."""

        def hide(secrets: Secrets) -> None:
            self.hidden |= secrets

        auth = authorization(ORIGIN, self.config, self.environ, hide)
        async with httpx2.AsyncClient(auth=auth, timeout=PATIENCE) as client:
            yield client

    @asynccontextmanager
    async def worker(self, requests: int) -> AsyncIterator[Worker]:
        """Another process that makes requests, all at once, when it is told to."""
        told = json.dumps({"origin": ORIGIN, "url": self.server.url, "requests": requests})
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", worker.__name__, told),
            cwd=ROOT,
            env={**os.environ, **self.environ},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            yield Worker(process)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


class Worker:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def says(self) -> Any:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            return json.loads(await self.process.stdout.readline())

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"go\n")


async def post(client: httpx2.AsyncClient, site: Site) -> int:
    return (await client.post(site.server.url, json=PING)).status_code
