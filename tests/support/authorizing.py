"""The authorization server of the tests as a child, and a browser that says yes to everything."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from tests.servers import authorizing
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CLIENTS = {"known": "known-secret"}
"""Registered beforehand."""


class Authority:
    """The server with its authorization servers, as a test sees it."""

    def __init__(self, base: str, client: httpx2.AsyncClient) -> None:
        self.base = base
        self.url = f"{base}/mcp"
        self._client = client

    async def set(self, **settings: object) -> None:
        (await self._client.post(f"{self.base}/control", json=settings)).raise_for_status()

    async def expire(self) -> None:
        (await self._client.post(f"{self.base}/expire")).raise_for_status()

    async def journal(self, what: str) -> list[dict[str, Any]]:
        events = (await self._client.get(f"{self.base}/journal")).json()
        return [event for event in events if event["what"] == what]

    async def renewals(self) -> int:
        return sum(event["grant"] == "refresh_token" for event in await self.journal("token"))

    async def secrets(self) -> list[str]:
        return [
            *CLIENTS.values(),
            *(token for event in await self.journal("issued") for token in event["tokens"]),
        ]

    async def wait_for(self, what: str, count: int = 1) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(await self.journal(what)) < count:  # noqa: ASYNC110 - another process brings it about
                await asyncio.sleep(0.02)

    async def consent(self, address: str) -> str:
        """Where the browser is sent after the person has agreed."""
        answer = await self._client.get(address)
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"]

    async def browse(self, address: str) -> httpx2.Response:
        """The page that the person sees in the end."""
        return await self._client.get(await self.consent(address))


@asynccontextmanager
async def authority(keys: dict[str, str] | None = None) -> AsyncIterator[Authority]:
    options = json.dumps({"clients": CLIENTS, "keys": keys or {}})
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(Path(authorizing.__file__)), options, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE):
            base = (await process.stdout.readline()).decode().strip()
        async with httpx2.AsyncClient(timeout=PATIENCE) as client:
            yield Authority(base, client)
    finally:
        process.kill()
        await process.wait()
