"""Holds all servers back while nobody takes what they say: they wait, and memory does not fill."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_workbench.downstream.connection import Connection


class FlowControl:
    """The connections that are up, and whether what comes from them is read."""

    def __init__(self) -> None:
        self._connections: set[Connection] = set()
        self._is_closed = False

    @property
    def waiting(self) -> int:
        """How many bytes wait for servers to read them."""
        return sum(connection.waiting for connection in self._connections)

    def add(self, connection: Connection) -> None:
        """A connection is up."""
        self._connections.add(connection)
        if self._is_closed:
            connection.pause()

    def remove(self, connection: Connection) -> None:
        """It has ended."""
        self._connections.discard(connection)

    def close(self) -> None:
        """Reads no further."""
        self._is_closed = True
        for connection in self._connections:
            connection.pause()

    def open(self) -> None:
        """Reads on."""
        self._is_closed = False
        for connection in self._connections:
            connection.resume()
