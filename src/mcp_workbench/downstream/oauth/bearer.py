"""Adds the access token of a person's login to every request to a server.

Owns when a token is renewed: before it expires, and once when the server refuses it. One task of one
process renews it, while all others wait for the result: refresh tokens are often good for one use only,
and a second use ends the login. Never opens a browser, and never deletes a login, whatever fails.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import httpx2

from mcp_workbench.downstream.oauth.challenge import challenge_of, wants_more_scope
from mcp_workbench.downstream.oauth.renewal import RenewalPostponed, RenewalRefused, renew
from mcp_workbench.errors import LoginRequired, StoreError, TokenUnavailable
from mcp_workbench.wire.shared import outcome_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from mcp_workbench.config import OAuthConfig, Secrets, Stamp
    from mcp_workbench.downstream.oauth.login_store import LoginStore
    from mcp_workbench.storage.login_record import Login

RETRY_PAUSE_SECONDS = 10.0
"""Seconds after a failed renewal before the next one, while the token is still valid."""

log = logging.getLogger(__name__)


class BearerAuth(httpx2.Auth):
    """Authorizes requests to one server with its stored login."""

    def __init__(
        self,
        origin: tuple[str, str],
        oauth: OAuthConfig | None,
        store: LoginStore,
        hide: Callable[[Secrets], None],
    ) -> None:
        self._origin = origin
        self._oauth = oauth
        self._store = store
        self._hide = hide
        self._log = logging.LoggerAdapter(log, {"server": "/".join(origin)})
        self._login: Login | None = None
        self._stamp: Stamp | None = None
        self._looking = asyncio.Lock()
        self._renewal: asyncio.Task[Login] | None = None
        self._not_before = 0.0
        self._given_up: dict[str, str] = {}
        """Why a login cannot be renewed, by its access token, so that it is not tried again and again."""

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Add the token, if there is one. Raises LoginRequired and TokenUnavailable."""
        login = await self._current()
        if login is not None and self._is_due(login):
            login = await self._renewed_in_time(login)
        if login is not None:
            request.headers["Authorization"] = f"Bearer {login.access_token}"
        response = yield request
        if response.status_code == 401:
            login = await self._after_refusal(login)
            request.headers["Authorization"] = f"Bearer {login.access_token}"
            response = yield request
            if response.status_code == 401:
                reason = "it no longer accepts the login (HTTP 401)"
                # Otherwise every call from now on would cost a renewal.
                self._given_up = {login.access_token: reason}
                raise self._login_required(reason)
        if wants_more_scope(response):
            scope = challenge_of(response).scope
            reason = f"its login does not cover this: it asks for the scope {scope!r} (HTTP 403)"
            raise LoginRequired(*self._origin, reason, scope=scope)

    async def _after_refusal(self, used: Login | None) -> Login:
        """Return the login for the second attempt after a 401. Raises LoginRequired and TokenUnavailable."""
        login = await self._current()
        if login is None:
            raise self._login_required("it requires a login (HTTP 401)")
        # Another task or process may have renewed it meanwhile.
        if used is not None and login.access_token == used.access_token:
            login = await self._renewed(login)
        return login

    async def _current(self) -> Login | None:
        """Return the login as it is stored now, whichever process stored it."""
        if self._store.stamp() == self._stamp:
            return self._login
        async with self._looking:
            stamp = self._store.stamp()
            if stamp != self._stamp:
                self._take(await self._load(), stamp)
        return self._login

    async def _load(self) -> Login | None:
        try:
            login = await self._store.load()
        except StoreError as error:
            raise self._login_required(f"its login cannot be read: {error}") from None
        if login is not None and self._oauth is not None:
            known = (self._oauth.client_id, self._oauth.client_metadata_url)
            if self._oauth.client_id is not None and login.client_id not in known:
                raise self._login_required('its login was made with another "clientId"')
        return login

    def _take(self, login: Login | None, stamp: Stamp | None) -> None:
        if login is not None:
            self._hide(login.secrets)
        self._login, self._stamp = login, stamp

    def _is_due(self, login: Login) -> bool:
        if login.has_expired:
            return True
        # Without a refresh token it is used until it expires.
        may_try = login.refresh_token is not None and login.access_token not in self._given_up
        return login.expires_soon and may_try and asyncio.get_running_loop().time() >= self._not_before

    async def _renewed_in_time(self, login: Login) -> Login:
        try:
            return await self._renewed(login)
        except TokenUnavailable:
            if login.has_expired:
                raise
            return login  # still valid

    async def _renewed(self, stale: Login) -> Login:
        """Return the login with a new access token. Raises LoginRequired and TokenUnavailable."""
        if (reason := self._given_up.get(stale.access_token)) is not None:
            raise self._login_required(reason)
        if self._renewal is None:
            self._renewal = asyncio.create_task(self._renew(stale))
            self._renewal.add_done_callback(self._on_renewed)
        # If a cancelled caller ended the renewal, the new tokens and so the login would be lost.
        return await outcome_of(self._renewal)

    def _on_renewed(self, _: asyncio.Task[Login]) -> None:
        self._renewal = None

    async def _renew(self, stale: Login) -> Login:
        try:
            async with self._store.locked():
                login = await self._load()
                if login is None:
                    raise self._login_required("its login has been removed")
                if login.access_token == stale.access_token:
                    login = await renew(login, self._client_secret(login))
                    self._hide(login.secrets)
                    await self._keep(login)
                self._take(login, self._store.stamp())
                return login
        except RenewalRefused as error:
            reason = f"its login has ended: {error}"
            self._given_up = {stale.access_token: reason}
            raise self._login_required(reason) from None
        except (RenewalPostponed, StoreError) as error:
            self._not_before = asyncio.get_running_loop().time() + RETRY_PAUSE_SECONDS
            self._log.warning("login not renewed: %s", error)
            raise TokenUnavailable(f"its login could not be renewed: {error}") from None

    async def _keep(self, login: Login) -> None:
        try:
            await self._store.save(login)
            self._log.info("login renewed")
        except StoreError as error:
            # The old tokens are invalid: this process at least can use the new ones.
            self._log.error("login renewed, and not kept: %s", error)

    def _client_secret(self, login: Login) -> str | None:
        if self._oauth is not None and self._oauth.client_id == login.client_id:
            return self._oauth.client_secret
        return login.client_secret

    def _login_required(self, reason: str) -> LoginRequired:
        return LoginRequired(*self._origin, reason)
