"""How many HTTP connections may be open, and which connection is closed to make space for another.

Connections are limited per address only until a request on them is authenticated: behind a reverse proxy all
clients have the same address. A new connection is accepted as long as another can be closed for it.
"""

from __future__ import annotations

import time
from ipaddress import IPv6Address
from math import inf
from typing import Final, Protocol

MAX_CONNECTIONS: Final = 10_000
"""Open connections, if the process may have as many file descriptors."""
OTHER_DESCRIPTORS: Final = 256
"""File descriptors left for servers, files and our own connections, if there are enough."""
ADDRESS_SHARE: Final = 20
"""An address may use one part in this many of all connections, until a request on them is authenticated."""
MIN_PER_ADDRESS: Final = 16
"""Unauthenticated connections that an address may always have."""
SILENT_SECONDS: Final = 1.0
"""A connection without a request counts as silent after this time. Before, its request may be on its way: a
proxy or a client may open hundreds of connections at once."""
RESERVED_DESCRIPTORS: Final = 16
"""File descriptors that connections leave free: without one, no connection can be accepted and no server
started."""


class Closable(Protocol):
    """A connection that can be closed to make space for another."""

    peer: str
    """The client's address, as `address_group` returns it."""
    descriptor: int
    """The file descriptor of its socket. The system assigns the lowest free number."""
    idle_since: float | None
    """When the connection began to wait for another request; None while it serves one."""

    def close_for_another(self) -> None:
        """Close this connection at once, to make space for another."""


def allowed_connections(descriptors: int | None) -> int:
    """Return how many connections may be open, given the number of file descriptors; None means unlimited."""
    if descriptors is None:
        return MAX_CONNECTIONS
    return max(1, min(MAX_CONNECTIONS, max(descriptors - OTHER_DESCRIPTORS, descriptors // 2)))


def address_group(host: str) -> str:
    """Return the address by which connections are counted; for IPv6 the client's whole network."""
    if ":" not in host:
        return host
    address = IPv6Address(host.partition("%")[0])
    return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))


class ConnectionLimits:
    """The open connections, and the limits on their number."""

    def __init__(
        self, most: int = MAX_CONNECTIONS, per_address: int | None = None, descriptors: int | None = None
    ) -> None:
        self.most = most
        self._descriptors = (
            inf if descriptors is None else descriptors - min(RESERVED_DESCRIPTORS, descriptors // 8)
        )
        self.per_address = max(MIN_PER_ADDRESS, most // ADDRESS_SHARE) if per_address is None else per_address
        self._trusted: set[Closable] = set()
        """Connections on which a request was authenticated."""
        self._unknown: dict[Closable, float] = {}
        """All other connections and the time of their last request, the longest silent first."""
        self._unknown_of: dict[str, dict[Closable, float]] = {}
        """The unauthenticated connections by the address of the client."""

    def __len__(self) -> int:
        return len(self._trusted) + len(self._unknown)

    @property
    def is_crowded(self) -> bool:
        """Whether more than half of the allowed connections are open."""
        return 2 * len(self) > self.most

    def add(self, connection: Closable) -> bool:
        """Add a new connection, and close another for it if needed. Returns whether it may stay open."""
        other = self._silent_of(connection.peer)
        is_full = False
        if other is None and (
            is_full := len(self) >= self.most or connection.descriptor >= self._descriptors
        ):
            other = self._least_useful()
        if other is not None:
            self.remove(other)
            other.close_for_another()
        elif is_full:
            return False
        self._unknown[connection] = now = time.monotonic()
        self._unknown_of.setdefault(connection.peer, {})[connection] = now
        return True

    def _silent_of(self, peer: str) -> Closable | None:
        """Return the longest silent connection of an address that has too many."""
        of_peer = self._unknown_of.get(peer, {})
        if len(of_peer) < self.per_address:
            return None
        connection, since = next(iter(of_peer.items()))
        return connection if time.monotonic() - since >= SILENT_SECONDS else None

    def note_request(self, connection: Closable) -> None:
        """Note that the headers of a request have arrived on a connection."""
        if connection in self._unknown:
            now = time.monotonic()
            for order in (self._unknown, self._unknown_of[connection.peer]):
                del order[connection]
                order[connection] = now

    def trust(self, connection: Closable) -> None:
        """Note that a request on a connection was authenticated."""
        if connection in self._unknown:
            self.remove(connection)
            self._trusted.add(connection)

    def remove(self, connection: Closable) -> None:
        """Remove a connection that is closed."""
        self._trusted.discard(connection)
        if connection in self._unknown:
            del self._unknown[connection]
            of_peer = self._unknown_of[connection.peer]
            del of_peer[connection]
            if not of_peer:
                del self._unknown_of[connection.peer]

    def _least_useful(self) -> Closable | None:
        """Return the connection to close if there are too many: an unauthenticated one, else an idle one."""
        if self._unknown:
            return next(iter(self._unknown))
        idle = [connection for connection in self._trusted if connection.idle_since is not None]
        return min(idle, key=lambda connection: connection.idle_since or 0.0, default=None)
