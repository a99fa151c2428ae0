"""Cutting a byte stream into lines. Linear in the size of the stream, and bounded in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LINE_LIMIT = 64 * 1024 * 1024
EDGE = 4096
"""What is kept of a line that is too long: this much of its beginning, and of its end."""


class LineSplitter:
    """Takes chunks, gives back the complete lines in them, without their newline.

    A line longer than `limit` is thrown away as it arrives. When it ends, its beginning and its end go to
    `on_overlong` in one piece, so that the request it answers can still be found and failed.
    """

    def __init__(self, on_overlong: Callable[[bytes], None], limit: int = LINE_LIMIT) -> None:
        self._on_overlong = on_overlong
        self._limit = limit
        self._held: list[bytes] = []
        self._size = 0
        self._head = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes."""
        end = chunk.find(b"\n")
        if end < 0:
            self._hold(chunk)
            return []
        self._hold(chunk[:end])
        first = self.finish()
        *lines, rest = chunk[end + 1 :].split(b"\n")
        if rest:
            self._hold(rest)
        return lines if first is None else [first, *lines]

    def finish(self) -> bytes | None:
        """What has come since the last newline, or None if that was too long."""
        line = self._held[0] if len(self._held) == 1 else b"".join(self._held)
        head, self._head = self._head, b""
        self._held.clear()
        self._size = 0
        if not head:
            return line
        self._on_overlong(head + line)
        return None

    def _hold(self, part: bytes) -> None:
        self._held.append(part)
        self._size += len(part)
        if self._size > self._limit:
            held = b"".join(self._held)
            tail = len(held) - EDGE
            if not self._head:
                self._head = held[:EDGE]
                tail = max(tail, EDGE)
            self._held[:] = [held[tail:]]
