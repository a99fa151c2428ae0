"""The log of refused HTTP requests, limited because any client can cause refusals.

The limit counts by kind of refusal and not by its text, so that a flood of one kind neither fills the log nor
hides another kind. The texts quote requests: they are shortened, and their control characters escaped.
"""

from __future__ import annotations

import logging
import time
from typing import Final

QUIET_SECONDS: Final = 60.0
"""Time in which a kind of refusal is logged only once per address."""
LINES_PER_KIND: Final = 10
"""Lines about one kind of refusal in that time."""
SHOWN_CHARACTERS: Final = 500
"""How much of a refusal's text a log line shows."""

log = logging.getLogger(__name__)


class _Kind:
    """The recently logged refusals of one kind."""

    def __init__(self, now: float) -> None:
        self.since = now
        self.peers: set[str] = set()
        self.omitted = 0


class RefusalLog:
    """Logs refused requests, a few of each kind."""

    def __init__(self) -> None:
        self._kinds: dict[str, _Kind] = {}

    def log(self, kind: str, peer: str, what: str) -> None:
        """Log that a request was `what`, unless such refusals were logged for this or many addresses."""
        now = time.monotonic()
        known = self._kinds.get(kind)
        omitted_before = 0
        if known is None or now - known.since >= QUIET_SECONDS:
            omitted_before = known.omitted if known is not None else 0
            known = self._kinds[kind] = _Kind(now)
        if peer in known.peers or len(known.peers) >= LINES_PER_KIND:
            known.omitted += 1
            return
        known.peers.add(peer)
        more = f" ({omitted_before:,} more since the last such line)" if omitted_before else ""
        log.warning("a request from %s was %s%s", peer or "an unknown address", _shown(what), more)


def _shown(text: str) -> str:
    """Escape and shorten a text that may quote a request, for a line of the log."""
    safe = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text[:SHOWN_CHARACTERS])
    return safe if len(text) <= SHOWN_CHARACTERS else f"{safe}…"
