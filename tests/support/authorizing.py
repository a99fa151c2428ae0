"""The authorization server of the tests as a child, and a browser that says yes to everything."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from tests.servers import authorizing
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENTS = {"known": "known-secret"}
"""Registered beforehand."""


class Authority:
    """The server with its authorization servers, as a test sees it."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.url = f"{base}/mcp"

    async def reset(self, keys: dict[str, str] | None = None) -> None:
        """Makes it as it was at first. The public keys of clients are told by their ids."""
        await self._post("reset", {"clients": CLIENTS, "keys": keys or {}})

    async def set(self, **settings: object) -> None:
        await self._post("control", settings)

    async def expire(self) -> None:
        await self._post("expire", {})

    async def _post(self, path: str, content: object) -> None:
        async with _browser() as browser:
            (await browser.post(f"{self.base}/{path}", json=content)).raise_for_status()

    async def journal(self, what: str) -> list[dict[str, Any]]:
        async with _browser() as browser:
            events = (await browser.get(f"{self.base}/journal")).json()
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
        async with _browser() as browser:
            answer = await browser.get(address)
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"]

    async def browse(self, address: str) -> httpx2.Response:
        """The page that the person sees in the end."""
        end = await self.consent(address)
        async with _browser() as browser:
            return await browser.get(end)


def _browser() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(timeout=PATIENCE, verify=False, trust_env=False)


@contextmanager
def running_authority() -> Iterator[Authority]:
    """One for many tests, each of which resets it."""
    command = [sys.executable, str(Path(authorizing.__file__))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Authority(process.stdout.readline().strip())
        finally:
            process.kill()
