"""HTTP requests for logins: to authorization servers, and to a server before it is used."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2

from mcp_workbench.downstream.oauth.challenge import challenge_of
from mcp_workbench.errors import LoginFailed
from mcp_workbench.protocol.names import META_CAPABILITIES, META_VERSION, MODERN
from mcp_workbench.wire.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.downstream.oauth.challenge import Challenge


LOOPBACK = ("localhost", "127.0.0.1", "::1")


@asynccontextmanager
async def open_client(limit: float) -> AsyncIterator[httpx2.AsyncClient]:
    """Open an HTTP client with a timeout of `limit` seconds."""
    # In a thread: reading the system's certificates takes longer than a request.
    certificates = await in_thread(httpx2.create_ssl_context, limit)
    # Loopback addresses are not reached through a proxy.
    direct = {f"all://{f'[{host}]' if ':' in host else host}": None for host in LOOPBACK}
    async with httpx2.AsyncClient(verify=certificates, timeout=limit, mounts=direct) as client:
        yield client


TIMEOUT_SECONDS = 30.0
"""Seconds for the server to respond."""

# Has no effect, and every server checks the token before it reads the request.
_QUESTION = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "server/discover",
    "params": {
        "_meta": {
            META_VERSION: MODERN,
            META_CAPABILITIES: {},
        }
    },
}


async def request_challenge(config: ServerConfig, token: str | None = None) -> tuple[int, Challenge]:
    """Send a request, and return the status and the challenge of the response. Raises LoginFailed."""
    headers = {
        **config.headers,
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "server/discover",
        "Accept": "application/json, text/event-stream",
        **({} if token is None else {"Authorization": f"Bearer {token}"}),
    }
    method, question = ("GET", None) if config.transport == "sse" else ("POST", _QUESTION)
    try:
        async with (
            open_client(TIMEOUT_SECONDS) as client,
            client.stream(method, config.url or "", headers=headers, json=question) as response,
        ):
            return response.status_code, challenge_of(response)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        what = str(error) or type(error).__name__
        raise LoginFailed(
            f"the server could not be reached: {what}", f"Check its url: {config.url}"
        ) from None
