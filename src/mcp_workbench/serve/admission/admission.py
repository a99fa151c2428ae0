"""The gate: who a request comes from, or how it is refused.

Owns the order of the questions, and what the log hears of refusals. Requests are let in without a task or a
wait if their token is known; see `access_tokens` for those that take longer.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from mcp_workbench.config.hosts import is_loopback
from mcp_workbench.config.tokens import digest_of
from mcp_workbench.errors import Denied
from mcp_workbench.serve.admission.credentials import BearerChallenge, bearer_token
from mcp_workbench.serve.admission.file_tokens import EXPIRED, FileTokens
from mcp_workbench.serve.admission.origins import Origins
from mcp_workbench.serve.refusals import Refusals
from mcp_workbench.workbench.principal import ANYONE, Principal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp_workbench.config import HttpConfig, IssuerConfig
    from mcp_workbench.config.tokens import LoadedTokens
    from mcp_workbench.serve.admission.access_tokens import AccessTokens

    Headers = Sequence[tuple[bytes, bytes]]
    IsOver = Callable[[Principal], bool]


class AdmittedClients(Protocol):
    """Those who were let in. Some of them are told by a test that they are to pass."""

    def dismiss(self, is_over: IsOver) -> None:
        """Whoever passes may not come in any more: whatever they still have open is to end."""

    def release(self, is_over: IsOver) -> None:
        """Whoever passes has to show a new token: what would stay open without end is to end."""


class Admission:
    """Lets in who may come in, until it is closed."""

    def __init__(
        self, listens_on: str, config: HttpConfig, tokens: LoadedTokens | None, guests: AdmittedClients
    ) -> None:
        self._listens_on = listens_on
        self._tokens = tokens
        self._guests = guests
        self.file_tokens = FileTokens(tokens, self._dismiss)
        self.refusals = Refusals()
        self._access_tokens: AccessTokens | None = None
        self._apply(config)
        self._trust(config.oauth)

    def _apply(self, config: HttpConfig) -> None:
        self._config = config
        self.origins = Origins(self._listens_on, config)
        self.is_open = is_loopback(self._listens_on) and self._tokens is None and config.oauth is None

    def _trust(self, issuer: IssuerConfig | None) -> None:
        """Takes the tokens of this one, and of no other."""
        self._distrust()
        self._challenge = BearerChallenge(issuer)
        self._access_tokens = None
        if issuer is not None:
            from mcp_workbench.serve.admission.access_tokens import (  # noqa: PLC0415 - takes long to load
                AccessTokens,
            )

            self._access_tokens = AccessTokens(issuer, self._challenge, self._release)

    def _dismiss(self, name: str) -> None:
        self._guests.dismiss(lambda principal: principal.name == name)

    def _release(self, name: str) -> None:
        self._guests.release(lambda principal: principal.name == name)

    @property
    def issuer(self) -> IssuerConfig | None:
        """Who else says who may come in."""
        return self._config.oauth

    def check(self, headers: Headers, peer: str = "") -> None:
        """Raises Denied for a request that was not meant for us. Asks for no token."""
        hosts = [value for name, value in headers if name == b"host"]
        origins = [value for name, value in headers if name == b"origin"]
        self._check(hosts, origins, peer)

    def admit(self, headers: Headers, peer: str = "") -> Principal | Awaitable[Principal]:
        """Who a request comes from: at once if its token is known. Raises Denied, now or when awaited.

        The log names `peer`, the address of the other side, with a refusal.
        """
        hosts, origins, authorizations = [], [], []
        for name, value in headers:
            if name == b"host":
                hosts.append(value)
            elif name == b"authorization":
                authorizations.append(value)
            elif name == b"origin":
                origins.append(value)
        self._check(hosts, origins, peer)
        if self.is_open:
            return ANYONE
        try:
            token = bearer_token(authorizations, self._challenge)
            digest = digest_of(token)
            holder = self.file_tokens.holders.get(digest)
            if holder is not None:
                now = time.time()
                if now >= holder.expires:
                    raise self._challenge.invalid(EXPIRED)
                holder.used_at = now
                return holder.principal
            if self._access_tokens is None or token.count(b".") != 2:
                raise self._challenge.invalid("The token is not known here")
        except Denied as denied:
            self._tell(denied, peer)
            raise
        return self._access_tokens.known(digest) or self._verify(self._access_tokens, token, digest, peer)

    def renew_tokens(self, tokens: LoadedTokens) -> None:
        """Goes by another file of tokens from now on."""
        self._tokens = tokens
        over = self.file_tokens.renew(tokens)
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
        """Cancel all timers and fetches."""
        self.file_tokens.close()
        self._distrust()

    def _distrust(self) -> None:
        if self._access_tokens is not None:
            self._access_tokens.close()

    def _check(self, hosts: list[bytes], origins: list[bytes], peer: str) -> None:
        try:
            self.origins.check(_only("Host", hosts), _only("Origin", origins))
        except Denied as denied:
            self._tell(denied, peer)
            raise

    async def _verify(self, access_tokens: AccessTokens, token: bytes, digest: bytes, peer: str) -> Principal:
        try:
            return await access_tokens.verify(token, digest)
        except Denied as denied:
            self._tell(denied, peer)
            raise

    def _tell(self, denied: Denied, peer: str) -> None:
        self.refusals.tell(str(denied.status), peer, f"refused with status {denied.status}: {denied.reason}")


def _only(name: str, values: list[bytes]) -> bytes | None:
    if len(values) > 1:
        raise Denied(400, f"The header {name} is there more than once")
    return values[0] if values else None
