"""Access tokens without a person's login, by the client credentials grant.

Owns when a token is requested, and that all requests share it. Tokens are kept in memory only: a new one
takes three requests, and no person.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import httpx2
import msgspec

from mcp_workbench.config import Secrets
from mcp_workbench.downstream.oauth.challenge import Challenge, challenge_of, wants_more_scope
from mcp_workbench.errors import TokenUnavailable
from mcp_workbench.storage.login_record import RENEWAL_LIFETIME_SHARE, RENEWAL_MARGIN_SECONDS
from mcp_workbench.wire.shared import outcome_of
from mcp_workbench.wire.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from mcp_workbench.config import OAuthConfig

TIMEOUT_SECONDS = 60.0
"""Seconds to get a token, including the import of the SDK on a busy machine."""


class _Token(msgspec.Struct, frozen=True):
    text: str
    renew_at: float | None


class ClientCredentialsAuth(httpx2.Auth):
    """Authorizes requests to one server with tokens that the workbench requests for itself."""

    def __init__(self, url: str, oauth: OAuthConfig, hide: Callable[[Secrets], None]) -> None:
        self._url = url
        self._oauth = oauth
        self._hide = hide
        self._issuer = oauth.issuer
        self._challenge = Challenge()
        self._token: _Token | None = None
        self._asking: asyncio.Task[_Token] | None = None

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Add the token, once the server has required one. Raises TokenUnavailable."""
        used = self._token
        if used is not None and used.renew_at is not None and time.time() >= used.renew_at:
            used = await self._new_token(used)
        if used is not None:
            request.headers["Authorization"] = f"Bearer {used.text}"
        response = yield request
        if response.status_code == 401:
            self._challenge = challenge_of(response)
            used = await self._new_token(used)
            request.headers["Authorization"] = f"Bearer {used.text}"
            response = yield request
            if response.status_code == 401:
                raise TokenUnavailable(
                    "it does not accept the token that its authorization server gave (HTTP 401)"
                )
        if wants_more_scope(response):
            scope = challenge_of(response).scope
            raise TokenUnavailable(
                f"the workbench's credentials do not cover this: it asks for the scope {scope!r} (HTTP 403). "
                'Add it to "scopes" in the "oauth" of this server'
            )

    async def _new_token(self, used: _Token | None) -> _Token:
        if self._token is not None and self._token is not used:
            return self._token  # another task has got it meanwhile
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask())
            self._asking.add_done_callback(self._on_asked)
        return await outcome_of(self._asking)

    def _on_asked(self, asking: asyncio.Task[_Token]) -> None:
        self._asking = None
        if not asking.cancelled() and asking.exception() is None:
            self._token = asking.result()

    async def _ask(self) -> _Token:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await in_thread(_import_the_sdk, TIMEOUT_SECONDS)
                return await self._ask_by_the_sdk()
        except TimeoutError:
            raise TokenUnavailable(f"no access token within {TIMEOUT_SECONDS:g} s") from None
        except httpx2.HTTPError as error:
            what = str(error) or type(error).__name__
            raise TokenUnavailable(f"its authorization server could not be reached: {what}") from None

    async def _ask_by_the_sdk(self) -> _Token:
        from mcp_workbench.downstream.oauth import sdk_credentials  # noqa: PLC0415 - a thread has loaded it by now

        scope = self._oauth.scope or self._challenge.scope
        wanted = Challenge(scope=scope, resource_metadata=self._challenge.resource_metadata)
        tokens, issuer = await sdk_credentials.ask(self._url, self._oauth, self._issuer, wanted)
        # Bound to the first issuer: from now on the credentials are sent to no other.
        self._issuer = self._issuer or issuer
        self._hide(Secrets({tokens.access_token: "<access token>"}))
        if tokens.expires_in is None:
            return _Token(tokens.access_token, None)
        margin = min(RENEWAL_MARGIN_SECONDS, RENEWAL_LIFETIME_SHARE * tokens.expires_in)
        return _Token(tokens.access_token, time.time() + tokens.expires_in - margin)


def _import_the_sdk() -> None:
    import mcp_workbench.downstream.oauth.sdk_credentials  # noqa: F401, PLC0415 - it takes most of a second
