"""Decides which principal an HTTP request comes from, or how it is refused.

Owns the order of the checks and the log of refusals. A request with a known token is admitted without a task
and without waiting; see `access_tokens` for tokens that have to be verified first.
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
from mcp_workbench.serve.logs.refusal_log import RefusalLog
from mcp_workbench.workbench.principal import ANYONE, Principal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp_workbench.config import HttpConfig, IssuerConfig
    from mcp_workbench.config.tokens import LoadedTokens
    from mcp_workbench.serve.admission.access_tokens import AccessTokens

    Headers = Sequence[tuple[bytes, bytes]]
    IsOver = Callable[[Principal], bool]


class AdmittedClients(Protocol):
    """The clients admitted so far; `is_over` selects the principals to disconnect."""

    def disconnect(self, is_over: IsOver) -> None:
        """End everything that the selected principals have open: they are no longer admitted."""

    def end_streams(self, is_over: IsOver) -> None:
        """End the open-ended streams of the selected principals: they have to send a new token."""


class Admission:
    """Admits requests by `Host`, `Origin` and token, until it is closed."""

    def __init__(
        self, listens_on: str, config: HttpConfig, tokens: LoadedTokens | None, clients: AdmittedClients
    ) -> None:
        self._listens_on = listens_on
        self._tokens = tokens
        self._clients = clients
        self.file_tokens = FileTokens(tokens, self._disconnect)
        self.refusal_log = RefusalLog()
        self._access_tokens: AccessTokens | None = None
        self._apply(config)
        self._trust(config.oauth)

    def _apply(self, config: HttpConfig) -> None:
        self._config = config
        self.origins = Origins(self._listens_on, config)
        self.is_open = is_loopback(self._listens_on) and self._tokens is None and config.oauth is None

    def _trust(self, issuer: IssuerConfig | None) -> None:
        """Accept the access tokens of this issuer, and of no other issuer."""
        self._close_access_tokens()
        self._challenge = BearerChallenge(issuer)
        self._access_tokens = None
        if issuer is not None:
            from mcp_workbench.serve.admission.access_tokens import (  # noqa: PLC0415 - takes long to load
                AccessTokens,
            )

            self._access_tokens = AccessTokens(issuer, self._challenge, self._end_streams)

    def _disconnect(self, name: str) -> None:
        self._clients.disconnect(lambda principal: principal.name == name)

    def _end_streams(self, name: str) -> None:
        self._clients.end_streams(lambda principal: principal.name == name)

    @property
    def issuer(self) -> IssuerConfig | None:
        """The OAuth issuer whose access tokens are accepted, if one is configured."""
        return self._config.oauth

    def check(self, headers: Headers, peer: str = "") -> None:
        """Check `Host` and `Origin` only, without asking for a token. Raises Denied."""
        hosts = [value for name, value in headers if name == b"host"]
        origins = [value for name, value in headers if name == b"origin"]
        self._check(hosts, origins, peer)

    def admit(self, headers: Headers, peer: str = "") -> Principal | Awaitable[Principal]:
        """Return the principal of a request, at once if its token is known.

        Raises Denied, now or when awaited. The log names `peer`, the client's address, with a refusal.
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
            file_token = self.file_tokens.by_digest.get(digest)
            if file_token is not None:
                now = time.time()
                if now >= file_token.expires:
                    raise self._challenge.invalid(EXPIRED)
                file_token.used_at = now
                return file_token.principal
            if self._access_tokens is None or token.count(b".") != 2:
                raise self._challenge.invalid("The token is not known here")
        except Denied as denied:
            self._log_refusal(denied, peer)
            raise
        return self._access_tokens.known(digest) or self._verify(self._access_tokens, token, digest, peer)

    def renew_tokens(self, tokens: LoadedTokens) -> None:
        """Replace the tokens of the token file. Clients whose token is gone are disconnected."""
        self._tokens = tokens
        over = self.file_tokens.renew(tokens)
        if over:
            self._clients.disconnect(lambda principal: principal.name in over)

    def reconfigure(self, config: HttpConfig) -> None:
        """Apply a changed configuration. Clients that the old issuer vouched for are disconnected."""
        if config == self._config:
            return
        before = self._config.oauth
        self._apply(config)
        if before != config.oauth:
            self._trust(config.oauth)
            issuer = f"{before.issuer} " if before else None
            # All principals of the old issuer; without one, clients that needed no token.
            self._clients.disconnect(
                lambda principal: principal.name.startswith(issuer) if issuer else not principal.name
            )

    def close(self) -> None:
        """Cancel all timers and fetches."""
        self.file_tokens.close()
        self._close_access_tokens()

    def _close_access_tokens(self) -> None:
        if self._access_tokens is not None:
            self._access_tokens.close()

    def _check(self, hosts: list[bytes], origins: list[bytes], peer: str) -> None:
        try:
            self.origins.check(_only("Host", hosts), _only("Origin", origins))
        except Denied as denied:
            self._log_refusal(denied, peer)
            raise

    async def _verify(self, access_tokens: AccessTokens, token: bytes, digest: bytes, peer: str) -> Principal:
        try:
            return await access_tokens.verify(token, digest)
        except Denied as denied:
            self._log_refusal(denied, peer)
            raise

    def _log_refusal(self, denied: Denied, peer: str) -> None:
        self.refusal_log.log(
            str(denied.status), peer, f"refused with status {denied.status}: {denied.reason}"
        )


def _only(name: str, values: list[bytes]) -> bytes | None:
    if len(values) > 1:
        raise Denied(400, f"The {name} header was sent more than once")
    return values[0] if values else None
