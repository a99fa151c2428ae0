"""The gate: who a request comes from, or how it is refused.

Owns the order of the questions, and what the log hears of refusals. Requests are let in without a task or a
wait if their token is known; see `access_tokens` for those that take longer.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final, Protocol

from mcp_workbench.config.access import ALL
from mcp_workbench.config.hosts import is_loopback
from mcp_workbench.config.tokens import digest_of
from mcp_workbench.serve.admission.credentials import Challenge, bearer_token
from mcp_workbench.serve.admission.origins import Origins
from mcp_workbench.surface.denied import Denied
from mcp_workbench.workbench.principal import ANYONE, Principal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp_workbench.config import HttpConfig, IssuerConfig
    from mcp_workbench.config.tokens import LoadedTokens
    from mcp_workbench.serve.admission.access_tokens import AccessTokens

    Headers = Sequence[tuple[bytes, bytes]]
    IsOver = Callable[[Principal], bool]

QUIET: Final = 60.0
"""Seconds in which the same refusal is not logged again."""
MOST_REFUSALS: Final = 100
"""Different refusals that are logged in that time."""

log = logging.getLogger(__name__)


class Guests(Protocol):
    """Those who were let in. Some of them are told by a test that they are to pass."""

    def dismiss(self, is_over: IsOver) -> None:
        """Whoever passes may not come in any more: whatever they still have open is to end."""

    def release(self, is_over: IsOver) -> None:
        """Whoever passes has to show a new token: what would stay open without end is to end."""


class Admission:
    """Lets in who may come in, until it is closed."""

    def __init__(
        self, listens_on: str, config: HttpConfig, tokens: LoadedTokens | None, guests: Guests
    ) -> None:
        self._listens_on = listens_on
        self._tokens = tokens
        self._guests = guests
        self._principals = _principals(tokens)
        self._said: dict[str, float] = {}
        self._access_tokens: AccessTokens | None = None
        self._apply(config)
        self._trust(config.oauth)

    def _apply(self, config: HttpConfig) -> None:
        self._config = config
        self.origins = Origins(self._listens_on, config)
        self._is_open = is_loopback(self._listens_on) and self._tokens is None and config.oauth is None

    def _trust(self, issuer: IssuerConfig | None) -> None:
        """Takes the tokens of this one, and of no other."""
        self.close()
        self._challenge = Challenge(issuer)
        self._access_tokens = None
        if issuer is not None:
            from mcp_workbench.serve.admission.access_tokens import (  # noqa: PLC0415 - takes long to load
                AccessTokens,
            )

            self._access_tokens = AccessTokens(issuer, self._challenge, self._release)

    def _release(self, name: str) -> None:
        self._guests.release(lambda principal: principal.name == name)

    @property
    def issuer(self) -> IssuerConfig | None:
        """Who else says who may come in."""
        return self._config.oauth

    def check(self, headers: Headers) -> None:
        """Raises Denied for a request that was not meant for us. Asks for no token."""
        hosts = [value for name, value in headers if name == b"host"]
        origins = [value for name, value in headers if name == b"origin"]
        self._check(hosts, origins)

    def admit(self, headers: Headers) -> Principal | Awaitable[Principal]:
        """Who a request comes from: at once if its token is known. Raises Denied, now or when awaited."""
        hosts, origins, authorizations = [], [], []
        for name, value in headers:
            if name == b"host":
                hosts.append(value)
            elif name == b"authorization":
                authorizations.append(value)
            elif name == b"origin":
                origins.append(value)
        self._check(hosts, origins)
        if self._is_open:
            return ANYONE
        try:
            token = bearer_token(authorizations, self._challenge)
            digest = digest_of(token)
            principal = self._principals.get(digest)
            if principal is not None:
                return principal
            if self._access_tokens is None or token.count(b".") != 2:
                raise self._challenge.invalid("The token is not known here")
        except Denied as denied:
            self._tell(denied)
            raise
        return self._access_tokens.known(digest) or self._verify(self._access_tokens, token, digest)

    def renew_tokens(self, tokens: LoadedTokens) -> None:
        """Goes by another file of tokens from now on."""
        before, self._principals = self._principals, _principals(tokens)
        self._tokens = tokens
        # A new token for the same name too: whoever had the old one may still have something open.
        over = {who.name for digest, who in before.items() if self._principals.get(digest) != who}
        if over:
            self._guests.dismiss(lambda principal: principal.name in over)

    def reconfigure(self, config: HttpConfig) -> None:
        """Goes by another configuration from now on."""
        if config == self._config:
            return
        before = self._config.oauth
        self._apply(config)
        if before != config.oauth:
            self._trust(config.oauth)
            issuer = f"{before.issuer} " if before else None
            # Everybody whom the old issuer spoke for; and those who did not have to say who they are.
            self._guests.dismiss(
                lambda principal: principal.name.startswith(issuer) if issuer else not principal.name
            )

    def close(self) -> None:
        """Fetches nothing any more."""
        if self._access_tokens is not None:
            self._access_tokens.close()

    def _check(self, hosts: list[bytes], origins: list[bytes]) -> None:
        try:
            self.origins.check(_only("Host", hosts), _only("Origin", origins))
        except Denied as denied:
            self._tell(denied)
            raise

    async def _verify(self, access_tokens: AccessTokens, token: bytes, digest: bytes) -> Principal:
        try:
            return await access_tokens.verify(token, digest)
        except Denied as denied:
            self._tell(denied)
            raise

    def _tell(self, denied: Denied) -> None:
        """Once in a while for each reason: whoever is refused may come again and again."""
        now = time.monotonic()
        if len(self._said) >= MOST_REFUSALS:
            self._said = {reason: since for reason, since in self._said.items() if now - since < QUIET}
        known = now - self._said.get(denied.reason, -QUIET) < QUIET
        if not known and len(self._said) < MOST_REFUSALS:
            self._said[denied.reason] = now
            log.warning("a request was refused with status %d: %s", denied.status, denied.reason)


def _only(name: str, values: list[bytes]) -> bytes | None:
    if len(values) > 1:
        raise Denied(400, f"The header {name} is there more than once")
    return values[0] if values else None


def _principals(tokens: LoadedTokens | None) -> dict[bytes, Principal]:
    return {
        token.digest: Principal(name, None if ALL in token.toolboxes else frozenset(token.toolboxes))
        for name, token in (tokens.tokens if tokens else {}).items()
    }
