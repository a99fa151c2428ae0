"""Writes one HTTP response: its head and its body leave in one write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

COPIED_BYTES: Final = 16 * 1024
"""Up to this size a body is copied behind its head; a larger one is passed along."""
_LENGTH: Final = b"\r\ncontent-length: "


class ResponseWriter:
    """The part of a transport that uvicorn needs to write a response.

    A head with a content length waits for its body, which follows at once. Written separately, each would be
    a system call and wake the client.
    """

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self._transport = transport
        self._close = close
        self._head = b""
        self._has_begun = False
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        """Write the head or a part of the body."""
        if not self._has_begun:
            self._has_begun = True
            if _LENGTH in data:
                self._head = data
                return
        if not self._head:
            self._transport.write(data)
        elif len(data) <= COPIED_BYTES:
            self._transport.write(self._head + data)
            self._head = b""
        else:
            self._transport.writelines((self._head, data))
            self._head = b""

    def close(self) -> None:
        """Write a head that has no body, and close the connection."""
        if self._head:
            self._transport.write(self._head)
            self._head = b""
        self._close()
