"""Runs the SDK's OAuth client, from a challenge to tokens.

Owns what the SDK leaves open: that PKCE is supported, that secrets are not sent in the clear, and how a
client authenticates. Discovery, registration, PKCE, `state`, `iss`, issuer binding and `resource` are the
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
"""Maximum length of an authorization server's error in a message: some respond with a web page."""
RESPONSE_TIMEOUT_SECONDS = 30.0
"""Seconds for each response of an authorization server."""

# The SDK logs each failure with a traceback. The workbench reports it as a message.
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL + 1)


class _Metadata(msgspec.Struct):
    token_endpoint: str
    token_endpoint_auth_methods_supported: list[str] | None = None


class MemoryTokenStorage:
    """The SDK's token storage, in memory: holds the registered client and the new tokens."""

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self.client = client
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens; None before they are obtained."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store new tokens in memory."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client that is registered already, if any."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store a client that has just registered."""
        self.client = client_info


async def get_tokens(
    provider: OAuthClientProvider, url: str, challenge: Challenge, check: Callable[[OAuthContext], None]
) -> OAuthToken:
    """Run the OAuth flow as after a 401 with this challenge. `check` is called before each request.

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
                    break  # the original request with a token, which the caller sends
                check_address(str(outgoing.url))
                check(provider.context)
                answer = await client.send(outgoing, follow_redirects=False)
                _choose_client_auth(provider.context, answer)
        finally:
            await flow.aclose()
    if provider.context.current_tokens is None:
        raise OAuthFlowError("the flow ended without a token")
    return provider.context.current_tokens


def check_pkce(context: OAuthContext) -> None:
    """Raise LoginFailed if the authorization server does not declare support for PKCE."""
    metadata = context.oauth_metadata
    if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or []):
        raise LoginFailed(
            f"the authorization server {metadata.issuer} does not support PKCE with S256, which MCP asks for"
        )


def check_address(url: str) -> None:
    """Raise OAuthFlowError if secrets would be sent to this address unencrypted."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise OAuthFlowError(f"{parts.scheme}://{parts.netloc} is not https, and secrets would be sent there")


def _choose_client_auth(context: OAuthContext, answer: httpx2.Response) -> None:
    """Choose how the client authenticates, if the response has the authorization server's metadata."""
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
