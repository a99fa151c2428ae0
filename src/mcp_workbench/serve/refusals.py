"""The log of refused requests: with the address of the peer, and limited, since anybody can cause a refusal.

The limit counts by kind of refusal and not by its text, so that a flood of one kind neither fills the log nor
hides another kind. Texts come from strangers: they are shortened, and cannot contain control characters.
"""

from __future__ import annotations

import logging
import time
from typing import Final

QUIET_SECONDS: Final = 60.0
"""How long a kind of refusal is logged once for each address."""
LINES_PER_KIND: Final = 10
"""Lines about one kind of refusal in that time."""
SHOWN_CHARACTERS: Final = 500

log = logging.getLogger(__name__)


class _Kind:
    """What was logged about one kind of refusal lately."""

    def __init__(self, now: float) -> None:
        self.since = now
        self.peers: set[str] = set()
        self.left_out = 0


class Refusals:
    """Logs refusals, a few of each kind."""

    def __init__(self) -> None:
        self._kinds: dict[str, _Kind] = {}

    def tell(self, kind: str, peer: str, what: str) -> None:
        """Log that a request was `what`, unless this address was refused like that lately, or many others."""
        now = time.monotonic()
        known = self._kinds.get(kind)
        before = 0
        if known is None or now - known.since >= QUIET_SECONDS:
            before = known.left_out if known is not None else 0
            known = self._kinds[kind] = _Kind(now)
        if peer in known.peers or len(known.peers) >= LINES_PER_KIND:
            known.left_out += 1
            return
        known.peers.add(peer)
        more = f" ({before:,} more since the last such line)" if before else ""
        log.warning("a request from %s was %s%s", peer or "an unknown address", _shown(what), more)


def _shown(text: str) -> str:
    """A text of a stranger's as it may stand in a line of the log."""
    safe = "".join(it if it.isprintable() else f"\\x{ord(it):02x}" for it in text[:SHOWN_CHARACTERS])
    return safe if len(text) <= SHOWN_CHARACTERS else f"{safe}…"
