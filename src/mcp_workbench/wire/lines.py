"""Cutting a byte stream into lines. Linear in the size of the stream, and bounded in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LINE_LIMIT = 64 * 1024 * 1024
HEAD_KEPT = 4096


class LineSplitter:
    """Takes chunks, gives back the complete lines in them, without their newline.

    A line longer than `limit` is thrown away as it arrives; only its beginning goes to `on_overlong`,
    so that the request it answers can still be found and failed.
    """

    def __init__(self, on_overlong: Callable[[bytes], None], limit: int = LINE_LIMIT) -> None:
        self._on_overlong = on_overlong
        self._limit = limit
        self._held: list[bytes] = []
        self._size = 0
        self._dropping = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes."""
        end = chunk.find(b"\n")
        if end < 0:
            self._hold(chunk)
            return []
        self._hold(chunk[:end] if end else b"")
        first = self._release()
        *lines, rest = chunk[end + 1 :].split(b"\n")
        if rest:
            self._hold(rest)
        if first is not None:
            lines.insert(0, first)
        return lines

    def finish(self) -> bytes:
        """What was left without a newline when the stream ended."""
        return self._release() or b""

    def _hold(self, part: bytes) -> None:
        if self._dropping:
            return
        self._size += len(part)
        self._held.append(part)
        if self._size > self._limit:
            head = b"".join(self._held)[:HEAD_KEPT]
            self._held.clear()
            self._dropping = True
            self._on_overlong(head)

    def _release(self) -> bytes | None:
        dropped = self._dropping
        line = self._held[0] if len(self._held) == 1 else b"".join(self._held)
        self._held.clear()
        self._size = 0
        self._dropping = False
        return None if dropped else line
