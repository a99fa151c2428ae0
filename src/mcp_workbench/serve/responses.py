"""The way out for one HTTP response: what belongs together goes out together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

COPIED: Final = 16 * 1024
"""Bytes up to which a body is copied behind its head."""
_LENGTH: Final = b"\r\ncontent-length: "


class ResponseWriter:
    """A transport, as far as uvicorn needs one for a response.

    A head that says how long its body is waits for that body, which follows at once: written by themselves,
    each would be a call of the system's, and wake the client.
    """

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self._transport = transport
        self._close = close
        self._head = b""
        self._has_begun = False
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        """Takes the head, or a part of the body."""
        if not self._has_begun:
            self._has_begun = True
            if _LENGTH in data:
                self._head = data
                return
        if not self._head:
            self._transport.write(data)
        elif len(data) <= COPIED:
            self._transport.write(self._head + data)
            self._head = b""
        else:
            self._transport.writelines((self._head, data))
            self._head = b""

    def close(self) -> None:
        """Ends the connection with the response."""
        if self._head:
            self._transport.write(self._head)
            self._head = b""
        self._close()
