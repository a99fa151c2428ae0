"""The tokens of the token file while the workbench runs: who holds them, until when, and when they were used.

Owns what an admission looks up. Reading the file is `config.tokens`; writing the last use, `last_use`.
"""

from __future__ import annotations

import logging
import time
from math import inf
from typing import TYPE_CHECKING, Final

from mcp_workbench.config.model.access import ALL
from mcp_workbench.serve.admission.expiries import Expiries
from mcp_workbench.workbench.principal import Principal

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.config.tokens import LoadedTokens

EXPIRED: Final = "The token has expired. Ask whoever runs this workbench for a new one"

log = logging.getLogger(__name__)


class Holder:
    """Whoever has one token."""

    __slots__ = ("expires", "principal", "used_at")

    def __init__(self, principal: Principal, expires: float, used_at: float) -> None:
        self.principal = principal
        self.expires = expires
        """Seconds since 1970; infinite for a token that does not expire."""
        self.used_at = used_at
        """When a request was last admitted with the token, in seconds since 1970; 0 for never."""


class FileTokens:
    """The holders of tokens by the digests of these."""

    def __init__(self, tokens: LoadedTokens | None, on_expired: Callable[[str], None]) -> None:
        self.holders: dict[bytes, Holder] = {}
        self._on_expired = on_expired
        self._expiries = Expiries(self._expire)
        if tokens is not None:
            self.renew(tokens)

    def renew(self, tokens: LoadedTokens) -> set[str]:
        """Replace all tokens. Returns the names of those who lost one, or may use other toolboxes now."""
        before, now = self.holders, time.time()
        self.holders = {}
        self._expiries.clear()
        for name, token in tokens.tokens.items():
            principal = Principal(name, None if ALL in token.toolboxes else frozenset(token.toolboxes))
            known = before.get(token.digest)
            expires = inf if token.expires is None else token.expires
            self.holders[token.digest] = Holder(principal, expires, known.used_at if known else 0.0)
            if now < expires < inf:
                self._expiries.extend(name, expires)
        # A new token for the same name too: whoever had the old one may still have something open.
        return {
            holder.principal.name
            for digest, holder in before.items()
            if (new := self.holders.get(digest)) is None
            or new.principal != holder.principal
            or new.expires <= now < holder.expires
        }

    def close(self) -> None:
        """Cancel the timers."""
        self._expiries.clear()

    def _expire(self, name: str) -> None:
        log.warning("the token of %s has expired: make a new one with mcp-workbench token %s", name, name)
        self._on_expired(name)
