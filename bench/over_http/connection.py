"""One HTTP connection as bytes: a request out, a response in. As thin as Python allows, and knows no MCP."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING, NamedTuple

from bench import process

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.process import TargetFailed

HOST = "127.0.0.1"
FIRST_BUFFER = 256 * 1024
"""Grows with the longest response, which is not timed the first time."""
END_OF_HEAD = b"\r\n\r\n"


class Response(NamedTuple):
    """All of an answer."""

    status: int
    headers: dict[str, str]
    """By their names in small letters."""
    body: bytes


class Connection:
    """Has one request on it at a time, and is kept for the next one."""

    def __init__(self, port: int, fail: Callable[[str], TargetFailed]) -> None:
        """Raises ConnectionRefusedError if nobody listens."""
        self._fail = fail
        self._socket = socket.create_connection((HOST, port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Not `settimeout`, which would have every call ask the system twice.
        patience = struct.pack("ll", *divmod(int(process.PATIENCE * 1e6), 1_000_000))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, patience)
        self._buffer = bytearray(FIRST_BUFFER)
        self._view = memoryview(self._buffer)
        self.length = 0
        """Bytes of the response that are there."""
        self._whole = 0
        """Bytes that it has in all, once that is known."""
        self.latest_id = 0
        """For whoever has several: the id of the request that it has on it."""

    def fileno(self) -> int:
        """What the system calls it."""
        return self._socket.fileno()

    def close(self) -> None:
        """Ends it."""
        self._socket.close()

    def send(self, request: bytes) -> None:
        """Sends a request, when the one before is answered."""
        self.length = self._whole = 0
        try:
            self._socket.sendall(request)
        except OSError as error:
            raise self._fail(f"takes no request: {error}") from None

    def receive(self, usual: int = 0) -> bool:
        """Takes what there is of the response, at least something; whether it is whole with that. One of the
        usual length is not looked at for it.
        """
        if self.length == len(self._buffer):
            self._buffer = self._buffer + bytearray(len(self._buffer))
            self._view = memoryview(self._buffer)
        try:
            count = self._socket.recv_into(self._view[self.length :])
        except BlockingIOError:
            raise self._fail(f"did not answer within {process.PATIENCE:g} s") from None
        except OSError as error:
            raise self._fail(f"ended the connection: {error}") from None
        if not count:
            raise self._fail("ended the connection")
        self.length += count
        if self.length == usual:
            return True
        self._whole = self._whole or self._find_whole()
        return 0 < self._whole <= self.length

    def exchange(self, request: bytes) -> Response:
        """Sends a request, and takes the whole of its response."""
        self.send(request)
        while not self.receive():
            pass
        head, _, body = bytes(self._view[: self.length]).partition(END_OF_HEAD)
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return Response(int(first.split()[1]), headers, body)

    def part(self, start: int, length: int) -> bytes:
        """Some of the response."""
        return bytes(self._view[start : start + length])

    def _find_whole(self) -> int:
        end = self._buffer.find(END_OF_HEAD, 0, self.length)
        if end < 0:
            return 0
        lines = bytes(self._view[:end]).lower().split(b"\r\n")
        for line in lines:
            if line.startswith(b"content-length:"):
                return end + len(END_OF_HEAD) + int(line.partition(b":")[2])
        raise self._fail(f"answered without a length: {b', '.join(lines).decode('latin-1')}")
