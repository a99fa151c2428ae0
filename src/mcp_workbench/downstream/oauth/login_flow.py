"""A person's login to a server: from the server's challenge to a `Login`.

Owns which client the workbench is (configured, described by a document, or registered), which scopes are
requested, and the error texts. It shows nothing itself: the address to open is passed to a callback.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError
from mcp.client.auth.utils import validate_authorization_response_iss
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata
from pydantic import AnyUrl

from mcp_workbench import __version__
from mcp_workbench.config import OAuthConfig
from mcp_workbench.downstream.oauth.challenge import Challenge, union
from mcp_workbench.downstream.oauth.sdk_flow import (
    MAX_REASON_CHARACTERS,
    MemoryTokenStorage,
    check_address,
    check_pkce,
    get_tokens,
)
from mcp_workbench.errors import LoginFailed
from mcp_workbench.storage.login_record import Login

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.client.auth.oauth2 import OAuthContext
    from mcp.shared.auth import OAuthToken

    from mcp_workbench.downstream.oauth.callback import Callback
    from mcp_workbench.storage.login_record import ClientAuth

REGISTER_ONE = (
    'Register a client there yourself, and write its id into the entry: "oauth": { "clientId": "…" }'
)


class LoginFlow:
    """One login of one person to one server."""

    def __init__(
        self, url: str, oauth: OAuthConfig | None, earlier: Login | None, callback: Callback
    ) -> None:
        self._url = url
        self._oauth = oauth or OAuthConfig()
        self._earlier = earlier
        self._callback = callback
        self._notepad = MemoryTokenStorage(self._client())

    async def run(self, challenge: Challenge, more_scope: str, show: Callable[[str, str], None]) -> Login:
        """Log in. `show` is called with the address for the browser and the issuer. Raises LoginFailed."""
        uri = AnyUrl(self._callback.redirect_uri)
        metadata = OAuthClientMetadata(
            client_name="MCP Workbench",
            redirect_uris=[uri],
            software_id="mcp-workbench",
            software_version=__version__,
        )

        async def redirect(address: str) -> None:
            check_address(address)
            self._callback.expect(parse_qs(urlsplit(address).query)["state"][0])
            show(
                address,
                str(provider.context.oauth_metadata.issuer) if provider.context.oauth_metadata else "",
            )

        async def come_back() -> AuthorizationCodeResult:
            return self._read(await self._callback.answer(), provider.context)

        provider = OAuthClientProvider(
            self._url,
            metadata,
            self._notepad,
            redirect,
            come_back,
            client_metadata_url=self._oauth.client_metadata_url,
        )
        wanted = Challenge(
            scope=self._scope(challenge, more_scope), resource_metadata=challenge.resource_metadata
        )
        try:
            tokens = await get_tokens(provider, self._url, wanted, self._check)
        except OAuthRegistrationError as error:
            raise LoginFailed(str(error)[:MAX_REASON_CHARACTERS], REGISTER_ONE) from None
        except OAuthFlowError as error:
            raise LoginFailed(str(error)[:MAX_REASON_CHARACTERS]) from None
        except httpx2.HTTPError as error:
            what = str(error) or type(error).__name__
            raise LoginFailed(f"the authorization server could not be reached: {what}") from None
        return self._login(tokens, provider.context)

    def _client(self) -> OAuthClientInformationFull | None:
        """Return the client that is configured or already registered, if any."""
        earlier, configured = self._earlier, self._oauth.client_id
        if configured is not None:
            known = earlier.issuer if earlier is not None and earlier.client_id == configured else None
            return OAuthClientInformationFull(
                client_id=configured,
                client_secret=self._oauth.client_secret,
                issuer=self._oauth.issuer or known,
                token_endpoint_auth_method=None if self._oauth.client_secret else "none",
            )
        is_registered = earlier is not None and earlier.redirect_uri == self._callback.redirect_uri
        if earlier is None or not is_registered or self._oauth.client_metadata_url is not None:
            return None
        return OAuthClientInformationFull(
            client_id=earlier.client_id,
            client_secret=earlier.client_secret,
            issuer=earlier.issuer,
            token_endpoint_auth_method=earlier.client_auth,
        )

    def _scope(self, challenge: Challenge, more: str) -> str:
        """Return the configured or required scope; if more is requested, with what was granted before."""
        granted = self._earlier.scope if more and self._earlier is not None else ""
        return union(self._oauth.scope or challenge.scope, granted, more)

    def _check(self, context: OAuthContext) -> None:
        if self._oauth.client_id is not None and context.client_info is None:
            # The SDK would register a new client with the authorization server that is named now.
            named = context.auth_server_url or context.get_authorization_base_url(self._url)
            raise LoginFailed(
                f'the server names {named} as its authorization server, and the "clientId" is of another',
                f'If it has moved, log out first, and check "clientId" and "issuer" ({named}) in its entry',
            )
        check_pkce(context)
        metadata = context.oauth_metadata
        if metadata is None:
            return
        by_document = bool(self._oauth.client_metadata_url and metadata.client_id_metadata_document_supported)
        if context.client_info is None and metadata.registration_endpoint is None and not by_document:
            raise LoginFailed(f"{metadata.issuer} does not let clients register themselves", REGISTER_ONE)

    def _read(self, answer: dict[str, str], context: OAuthContext) -> AuthorizationCodeResult:
        """Return the authorization response. The SDK checks that its `iss` is right. Raises LoginFailed."""
        if "error" in answer:
            # The SDK checks `iss` only in responses with a code.
            validate_authorization_response_iss(answer.get("iss"), context.oauth_metadata)
            details = f": {answer['error_description']}" if answer.get("error_description") else ""
            raise LoginFailed(f"the authorization server refused: {answer['error']}{details}")
        return AuthorizationCodeResult(code=answer["code"], state=answer.get("state"), iss=answer.get("iss"))

    def _login(self, tokens: OAuthToken, context: OAuthContext) -> Login:
        client, metadata = context.client_info, context.oauth_metadata
        if client is None:
            raise LoginFailed("the tokens came without a client")
        now = time.time()
        origin = urlsplit(self._url)._replace(path="", query="", fragment="").geturl()
        methods: dict[str | None, ClientAuth] = {
            "client_secret_basic": "client_secret_basic",
            "client_secret_post": "client_secret_post",
        }
        return Login(
            issuer=origin if metadata is None else str(metadata.issuer),
            token_endpoint=urljoin(origin, "/token") if metadata is None else str(metadata.token_endpoint),
            resource=context.get_resource_url(),
            client_id=client.client_id,
            client_auth=methods.get(client.token_endpoint_auth_method, "none"),
            client_secret=None if self._oauth.client_id is not None else client.client_secret,
            redirect_uri=self._callback.redirect_uri,
            access_token=tokens.access_token,
            refresh_token=tokens.refresh_token,
            scope=tokens.scope or "",
            obtained_at=now,
            expires_at=None if tokens.expires_in is None else now + tokens.expires_in,
        )
