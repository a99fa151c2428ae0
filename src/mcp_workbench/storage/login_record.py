"""The record of a person's login to a remote server: its tokens, and the client that they were issued to."""

from __future__ import annotations

import time
from typing import Literal

import msgspec

from mcp_workbench.config import Secrets

ClientAuth = Literal["none", "client_secret_basic", "client_secret_post"]

RENEWAL_MARGIN_SECONDS = 60.0
"""Seconds before the end of its lifetime at which an access token is renewed."""
RENEWAL_LIFETIME_SHARE = 0.2
"""Share of its lifetime before the end at which a short-lived token is renewed, if that is later."""


class Login(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A person's login to a server. Tokens and client are bound to the issuer that gave them."""

    issuer: str
    token_endpoint: str
    resource: str
    client_id: str
    client_auth: ClientAuth = "none"
    client_secret: str | None = None
    """Secret of a client that registered itself. The secret of a configured client is not stored."""
    redirect_uri: str
    access_token: str
    refresh_token: str | None = None
    scope: str = ""
    obtained_at: float
    expires_at: float | None = None

    def __repr__(self) -> str:
        return f"Login(issuer={self.issuer!r})"

    @property
    def has_expired(self) -> bool:
        """Whether the access token has expired."""
        return self.expires_at is not None and time.time() >= self.expires_at

    @property
    def expires_soon(self) -> bool:
        """Whether it is time to renew the access token."""
        if self.expires_at is None:
            return False
        margin = min(RENEWAL_MARGIN_SECONDS, RENEWAL_LIFETIME_SHARE * (self.expires_at - self.obtained_at))
        return time.time() >= self.expires_at - margin

    @property
    def secrets(self) -> Secrets:
        """The values of the login that must never appear in logs or errors."""
        kept = {
            "<access token>": self.access_token,
            "<refresh token>": self.refresh_token,
            "<oauth client secret>": self.client_secret,
        }
        return Secrets({value: label for label, value in kept.items() if value is not None})
