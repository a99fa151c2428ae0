"""Which server has sent one client which resource URIs, so that each is read from the server it came from."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from mcp_workbench.workbench.uri_spellings import same_for_all

if TYPE_CHECKING:
    from mcp_workbench.downstream.session import Origin

MOST_PER_SERVER: Final = 4000
"""URIs that are remembered of one server. A bound for all servers would let one make us forget another's."""
DIGEST_BYTES: Final = 16


class EmittedUris:
    """The URIs that servers have sent to one client in results, by server.

    Kept as digests: a URI can have kilobytes, and is only ever compared as a whole. Spellings of one URI that
    clients take for the same have the same digest.
    """

    def __init__(self) -> None:
        self._seen: dict[Origin, OrderedDict[bytes, None]] = {}
        self.incomplete: set[Origin] = set()
        """The servers that have sent more URIs than are remembered, so that any could be theirs."""

    def note(self, origin: Origin, uri: str) -> None:
        """Remember that a server has sent this URI. The one it has not sent for longest is forgotten."""
        seen = self._seen.setdefault(origin, OrderedDict())
        key = _digest(uri)
        seen[key] = None
        seen.move_to_end(key)
        if len(seen) > MOST_PER_SERVER:
            seen.popitem(last=False)
            self.incomplete.add(origin)

    def origins(self, uri: str) -> list[Origin]:
        """The servers that have sent this URI, as far as that is remembered."""
        if not self._seen:
            return []
        key = _digest(uri)
        return [origin for origin, seen in self._seen.items() if key in seen]


def _digest(uri: str) -> bytes:
    from hashlib import blake2b  # noqa: PLC0415 - it loads OpenSSL, and the start does without it

    return blake2b(same_for_all(uri).encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()
