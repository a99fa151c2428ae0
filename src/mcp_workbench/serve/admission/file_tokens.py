"""The tokens of the token file while the workbench runs: principal, expiry and last use of each.

Owns what an admission looks up. `config.tokens` reads the file; `last_use` writes the times of last use.
"""

from __future__ import annotations

import logging
import time
from math import inf
from typing import TYPE_CHECKING, Final

from mcp_workbench.config.model.access import ALL
from mcp_workbench.config.model.policy import NO_POLICY
from mcp_workbench.serve.admission.expiry_timers import ExpiryTimers
from mcp_workbench.workbench.principal import Principal

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.config.tokens import LoadedTokens

EXPIRED: Final = "The token has expired. Ask the operator of this workbench for a new one"

log = logging.getLogger(__name__)


class FileToken:
    """A token of the token file: its principal, its expiry and its last use."""

    __slots__ = ("expires", "principal", "used_at")

    def __init__(self, principal: Principal, expires: float, used_at: float) -> None:
        self.principal = principal
        self.expires = expires
        """Seconds since 1970; infinite for a token that does not expire."""
        self.used_at = used_at
        """When a request was last admitted with the token, in seconds since 1970; 0 for never."""


class FileTokens:
    """The tokens of the token file by their digests."""

    def __init__(self, tokens: LoadedTokens | None, on_expired: Callable[[str], None]) -> None:
        self.by_digest: dict[bytes, FileToken] = {}
        self._on_expired = on_expired
        self._expiries = ExpiryTimers(self._expire)
        if tokens is not None:
            self.renew(tokens)

    def renew(self, tokens: LoadedTokens) -> set[str]:
        """Replace all tokens. Returns the names that lost a token or may use other toolboxes now.

        A changed policy takes effect with the next request, and ends no session.
        """
        before, now = self.by_digest, time.time()
        self.by_digest = {}
        self._expiries.clear()
        for name, token in tokens.tokens.items():
            toolboxes = None if ALL in token.toolboxes else frozenset(token.toolboxes)
            principal = Principal(name, toolboxes, None if token.policy == NO_POLICY else token.policy)
            known = before.get(token.digest)
            expires = inf if token.expires is None else token.expires
            self.by_digest[token.digest] = FileToken(principal, expires, known.used_at if known else 0.0)
            if now < expires < inf:
                self._expiries.extend(name, expires)
        # A name that got a new token counts too: a client with the old token may still have a stream open.
        return {
            old.principal.name
            for digest, old in before.items()
            if (new := self.by_digest.get(digest)) is None
            or (new.principal.name, new.principal.toolboxes) != (old.principal.name, old.principal.toolboxes)
            or new.expires <= now < old.expires
        }

    def close(self) -> None:
        """Cancel the timers of tokens that would expire."""
        self._expiries.clear()

    def _expire(self, name: str) -> None:
        log.warning("the token of %s has expired: make a new one with mcp-workbench token %s", name, name)
        self._on_expired(name)
