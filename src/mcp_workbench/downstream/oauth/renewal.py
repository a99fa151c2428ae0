"""Renews a login: one request with the refresh token, to the token endpoint that issued it.

Without the SDK's client: it forgets the tokens when the request fails, and its import takes most of a
second. Request and response are a dozen lines of RFC 6749.
"""

from __future__ import annotations

import asyncio
import time
from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx2
import msgspec

from mcp_workbench.downstream.oauth.requests import open_client

if TYPE_CHECKING:
    from mcp_workbench.storage.login_record import Login

TIMEOUT_SECONDS = 30.0
"""Seconds for the authorization server to respond."""
MAX_RESPONSE_BYTES = 1024 * 1024
TRANSIENT_ERRORS = ("server_error", "slow_down", "temporarily_unavailable")
"""OAuth error codes after which a renewal is worth another attempt."""


class RenewalPostponed(Exception):
    """The renewal failed for a reason that may pass: the login may still be valid."""


class RenewalRefused(Exception):
    """The authorization server refused to renew the login, for good."""


class _Answer(msgspec.Struct):
    access_token: str
    token_type: str = "Bearer"  # noqa: S105 - the name of a kind
    expires_in: float | str | None = None
    refresh_token: str | None = None
    scope: str | None = None


class _Failure(msgspec.Struct):
    error: str


async def renew(login: Login, client_secret: str | None) -> Login:
    """Return the login with new tokens. Raises RenewalPostponed or RenewalRefused."""
    if login.refresh_token is None:
        raise RenewalRefused("there is no refresh token to renew it with")
    form = {
        "grant_type": "refresh_token",
        "refresh_token": login.refresh_token,
        "client_id": login.client_id,
        "resource": login.resource,
    }
    headers = {"Accept": "application/json"}
    if client_secret is not None and login.client_auth == "client_secret_basic":
        credentials = f"{quote(login.client_id, safe='')}:{quote(client_secret, safe='')}"
        headers["Authorization"] = f"Basic {b64encode(credentials.encode()).decode()}"
    elif client_secret is not None:
        form["client_secret"] = client_secret
    requested_at = time.time()
    status, body = await _post(login.token_endpoint, form, headers)
    if status != 200:
        raise _why_not(status, body)
    try:
        answer = msgspec.json.decode(body, type=_Answer)
        lifetime = None if answer.expires_in is None else float(answer.expires_in)
    except (msgspec.DecodeError, ValueError):
        raise RenewalPostponed("the authorization server's answer could not be read") from None
    return msgspec.structs.replace(
        login,
        access_token=answer.access_token,
        refresh_token=answer.refresh_token or login.refresh_token,
        scope=login.scope if answer.scope is None else answer.scope,
        obtained_at=requested_at,
        expires_at=None if lifetime is None else requested_at + lifetime,
    )


async def _post(url: str, form: dict[str, str], headers: dict[str, str]) -> tuple[int, bytes]:
    try:
        async with (
            asyncio.timeout(TIMEOUT_SECONDS),
            open_client(TIMEOUT_SECONDS) as client,
            client.stream("POST", url, data=form, headers=headers) as response,
        ):
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MAX_RESPONSE_BYTES:
                    raise RenewalPostponed("the authorization server's answer is too long")
            return response.status_code, bytes(body)
    except TimeoutError:
        raise RenewalPostponed(
            f"the authorization server did not answer within {TIMEOUT_SECONDS:g} s"
        ) from None
    except httpx2.HTTPError as error:
        what = str(error) or type(error).__name__
        raise RenewalPostponed(f"the authorization server could not be reached: {what}") from None


def _why_not(status: int, body: bytes) -> RenewalPostponed | RenewalRefused:
    try:
        error = msgspec.json.decode(body, type=_Failure).error
    except msgspec.DecodeError:
        return RenewalPostponed(f"the authorization server answered HTTP {status}")
    said = f"the authorization server said: {error[:60]!r}"
    return (
        RenewalRefused(said)
        if status in (400, 401, 403) and error not in TRANSIENT_ERRORS
        else RenewalPostponed(said)
    )
