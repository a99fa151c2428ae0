"""How many connections may be open, and which one is closed to make room for another.

Connections are limited for each address only until a request on them is authenticated: behind a reverse proxy
all clients have the same address. A new connection is accepted as long as there is one to close for it.
"""

from __future__ import annotations

import time
from ipaddress import IPv6Address
from math import inf
from typing import Final, Protocol

MAX_CONNECTIONS: Final = 10_000
"""Open connections, where the process may have as many file descriptors."""
OTHER_DESCRIPTORS: Final = 256
"""File descriptors left for servers, files and connections that we open, where there are enough."""
ADDRESS_SHARE: Final = 20
"""One address may have this part of all connections, while no request on them was authenticated."""
LEAST_PER_ADDRESS: Final = 16
SILENT_SECONDS: Final = 1.0
"""After which a connection that has sent no request counts as silent. Before, its request may be on its way:
a proxy, or a burst of one client's, can open hundreds of connections in one moment."""
LAST_DESCRIPTORS: Final = 16
"""File descriptors that connections leave free, whatever uses the others: without one, no connection can be
accepted and no server started."""


class Closable(Protocol):
    """A connection that may have to be closed."""

    peer: str
    """The address of the other side, as `address_group` gives it."""
    descriptor: int
    """The file descriptor of its socket. The system gives each the lowest number that is free."""
    idle_since: float | None
    """When it began to wait for another request; None if it does not."""

    def close_for_another(self) -> None:
        """Close it at once, to make room."""


def allowed_connections(descriptors: int | None) -> int:
    """How many connections may be open in a process with so many file descriptors; None means any number."""
    if descriptors is None:
        return MAX_CONNECTIONS
    return max(1, min(MAX_CONNECTIONS, max(descriptors - OTHER_DESCRIPTORS, descriptors // 2)))


def address_group(host: str) -> str:
    """The address that connections are counted by: for IPv6 the network, for each client has a whole one."""
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
            inf if descriptors is None else descriptors - min(LAST_DESCRIPTORS, descriptors // 8)
        )
        self.per_address = (
            max(LEAST_PER_ADDRESS, most // ADDRESS_SHARE) if per_address is None else per_address
        )
        self._trusted: set[Closable] = set()
        """Connections on which a request was authenticated."""
        self._unknown: dict[Closable, float] = {}
        """All others, and when they last said something, those first that said nothing for longest."""
        self._unknown_of: dict[str, dict[Closable, float]] = {}
        """The same by the address of the peer."""

    def __len__(self) -> int:
        return len(self._trusted) + len(self._unknown)

    @property
    def is_crowded(self) -> bool:
        """Whether half of the connections are taken that there may be."""
        return 2 * len(self) > self.most

    def add(self, connection: Closable) -> bool:
        """Take a new connection in, and close another for it if need be. Returns whether it may stay."""
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
        """The connection that has been silent for longest of an address that has too many."""
        of_peer = self._unknown_of.get(peer, {})
        if len(of_peer) < self.per_address:
            return None
        connection, since = next(iter(of_peer.items()))
        return connection if time.monotonic() - since >= SILENT_SECONDS else None

    def note_request(self, connection: Closable) -> None:
        """Note that the headers of a request have come on a connection."""
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
        """Forget a connection that is closed."""
        self._trusted.discard(connection)
        if connection in self._unknown:
            del self._unknown[connection]
            of_peer = self._unknown_of[connection.peer]
            del of_peer[connection]
            if not of_peer:
                del self._unknown_of[connection.peer]

    def _least_useful(self) -> Closable | None:
        """The connection to close if there are too many: one that did not authenticate, else an idle one."""
        if self._unknown:
            return next(iter(self._unknown))
        idle = [it for it in self._trusted if it.idle_since is not None]
        return min(idle, key=lambda it: it.idle_since or 0.0, default=None)
