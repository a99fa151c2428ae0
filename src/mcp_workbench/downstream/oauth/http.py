"""Clients for requests of our own: to authorization servers, and to a server before it is used."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2

from mcp_workbench.wire.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LOOPBACK = ("localhost", "127.0.0.1", "::1")


@asynccontextmanager
async def open_client(limit: float) -> AsyncIterator[httpx2.AsyncClient]:
    """For requests that may wait for so many seconds each."""
    # Beside the loop: to read the certificates of the system takes longer than a request.
    certificates = await in_thread(httpx2.create_ssl_context, limit)
    # A server on this machine is not behind the proxy of the house.
    direct = {f"all://{f'[{host}]' if ':' in host else host}": None for host in LOOPBACK}
    async with httpx2.AsyncClient(verify=certificates, timeout=limit, mounts=direct) as client:
        yield client
