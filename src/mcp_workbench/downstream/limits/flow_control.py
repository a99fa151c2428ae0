"""Backpressure for all servers: while clients do not read, what servers send is not read either."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_workbench.downstream.connection import Connection


class FlowControl:
    """The connections that are up, and whether what they send is read."""

    def __init__(self) -> None:
        self._connections: set[Connection] = set()
        self._is_closed = False

    @property
    def waiting(self) -> int:
        """Number of bytes that wait for servers to read them."""
        return sum(connection.waiting for connection in self._connections)

    def add(self, connection: Connection) -> None:
        """Add a connection, which is paused at once if reading is stopped."""
        self._connections.add(connection)
        if self._is_closed:
            connection.pause()

    def remove(self, connection: Connection) -> None:
        """Remove a connection that has ended."""
        self._connections.discard(connection)

    def close(self) -> None:
        """Stop reading from all servers."""
        self._is_closed = True
        for connection in self._connections:
            connection.pause()

    def open(self) -> None:
        """Read from all servers again."""
        self._is_closed = False
        for connection in self._connections:
            connection.resume()
