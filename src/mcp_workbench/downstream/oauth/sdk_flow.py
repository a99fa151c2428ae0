"""The SDK's OAuth client, driven from a challenge to tokens.

Owns what the SDK leaves open: that PKCE is supported, that secrets do not travel in the clear, and how a
client proves who it is. Discovery, registration, PKCE, `state`, `iss`, issuer binding and `resource` are the
SDK's.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2
import msgspec
from mcp.client.auth import OAuthFlowError

from mcp_workbench.config.hosts import is_loopback
from mcp_workbench.downstream.oauth.requests import open_client
from mcp_workbench.errors import LoginFailed
from mcp_workbench.protocol.names import MODERN

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.client.auth import OAuthClientProvider
    from mcp.client.auth.oauth2 import OAuthContext
    from mcp.shared.auth import OAuthClientInformationFull, OAuthToken, TokenEndpointAuthMethod

    from mcp_workbench.downstream.oauth.challenge import Challenge

MAX_REASON_CHARACTERS = 1000
"""Characters of what an authorization server says: some answer with a web page."""
RESPONSE_TIMEOUT_SECONDS = 30.0
"""Seconds for each answer of an authorization server."""

# It writes each failure with a traceback to whoever listens, and we report it anyway, in words.
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL + 1)


class _Metadata(msgspec.Struct):
    token_endpoint: str
    token_endpoint_auth_methods_supported: list[str] | None = None


class MemoryTokenStorage:
    """What the SDK calls a storage: it is given a client, if there is one, and keeps what it gets."""

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self.client = client
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """None: this is for getting new ones."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keeps them."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The client that is registered already."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keeps one that has just registered."""
        self.client = client_info


async def get_tokens(
    provider: OAuthClientProvider, url: str, challenge: Challenge, check: Callable[[OAuthContext], None]
) -> OAuthToken:
    """Runs the flow as after a 401 with this challenge. `check` is called before each request that it makes.

    Raises OAuthFlowError, LoginFailed, and httpx2.HTTPError.
    """
    request = httpx2.Request("POST", url, headers={"MCP-Protocol-Version": MODERN})
    flow = provider.async_auth_flow(request)
    async with open_client(RESPONSE_TIMEOUT_SECONDS) as client:
        try:
            outgoing = await anext(flow)
            answer = httpx2.Response(401, headers={"WWW-Authenticate": challenge.header()}, request=outgoing)
            while True:
                outgoing = await flow.asend(answer)
                if outgoing is request:
                    break  # with a token this time: it is not ours to send
                check_address(str(outgoing.url))
                check(provider.context)
                answer = await client.send(outgoing, follow_redirects=False)
                _choose_client_auth(provider.context, answer)
        finally:
            await flow.aclose()
    if provider.context.current_tokens is None:
        raise OAuthFlowError("no token came of it")
    return provider.context.current_tokens


def check_pkce(context: OAuthContext) -> None:
    """One that does not say that it supports PKCE must not be used. Raises LoginFailed."""
    metadata = context.oauth_metadata
    if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or []):
        raise LoginFailed(
            f"the authorization server {metadata.issuer} does not support PKCE with S256, which MCP asks for"
        )


def check_address(url: str) -> None:
    """Secrets go to authorization servers only where nobody can listen. Raises OAuthFlowError."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise OAuthFlowError(f"{parts.scheme}://{parts.netloc} is not https, and secrets would be sent there")


def _choose_client_auth(context: OAuthContext, answer: httpx2.Response) -> None:
    """By the authorization server's metadata, if this is it, and before it is made use of."""
    if answer.status_code != 200:
        return
    try:
        metadata = msgspec.json.decode(answer.content, type=_Metadata)
    except msgspec.DecodeError:
        return
    supported = metadata.token_endpoint_auth_methods_supported
    client = context.client_info
    if client is None:
        wanted: tuple[TokenEndpointAuthMethod, ...] = ("none", "client_secret_basic", "client_secret_post")
        context.client_metadata.token_endpoint_auth_method = next(
            (method for method in wanted if method in (supported or [])), None
        )
    elif client.client_secret is not None:
        by_form = supported is not None and "client_secret_basic" not in supported
        client.token_endpoint_auth_method = "client_secret_post" if by_form else "client_secret_basic"
