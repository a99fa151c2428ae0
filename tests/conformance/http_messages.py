"""HTTP/1.1 messages as the bytes that they are: enough to relay them, and to change a body on the way."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

BODILESS = (202, 204, 304)


@dataclass(frozen=True)
class Head:
    """The first line and the header lines, byte for byte as they came."""

    lines: list[bytes]

    @property
    def status(self) -> int:
        return int(self.lines[0].split()[1])

    @property
    def has_end(self) -> bool:
        """Whether the end of a response can be told without that of the connection."""
        is_sized = self.get("content-length") is not None or self.get("transfer-encoding") is not None
        return is_sized or self.status in BODILESS

    def get(self, name: str) -> bytes | None:
        """A header's value, without the space around it."""
        for line in self.lines[1:]:
            if _is(line, name):
                return line.partition(b":")[2].strip()
        return None

    def changed(self, name: str, change: Callable[[bytes], bytes]) -> Head:
        """With the line of one header changed."""
        return replace(self, lines=[change(line) if _is(line, name) else line for line in self.lines])

    def sized(self, length: int) -> Head:
        """For a body that is sent whole."""
        framed = ("content-length", "transfer-encoding")
        kept = [line for line in self.lines if not any(_is(line, name) for name in framed)]
        return Head([*kept, b"Content-Length: %d" % length])

    def last(self) -> Head:
        """Says that nothing comes after it on its connection."""
        kept = [line for line in self.lines if not _is(line, "connection")]
        return Head([*kept, b"Connection: close"])

    def __bytes__(self) -> bytes:
        return b"\r\n".join([*self.lines, b"", b""])


def _is(line: bytes, name: str) -> bool:
    return line.partition(b":")[0].strip().lower() == name.lower().encode()


async def read_head(stream: asyncio.StreamReader) -> Head | None:
    """None at the end of the connection."""
    try:
        data = await stream.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    return Head(data[:-4].split(b"\r\n"))


@dataclass(frozen=True)
class Piece:
    """A part of a body: as it was framed, and what it says."""

    framed: bytes
    content: bytes


async def read_body(stream: asyncio.StreamReader, head: Head, *, is_response: bool) -> AsyncIterator[Piece]:
    if (head.get("transfer-encoding") or b"").lower() == b"chunked":
        async for piece in _chunks(stream):
            yield piece
    elif (length := head.get("content-length")) is not None:
        left = int(length)
        while left and (data := await stream.read(min(left, 65536))):
            left -= len(data)
            yield Piece(data, data)
    elif is_response and head.status not in BODILESS:
        while data := await stream.read(65536):
            yield Piece(data, data)


async def _chunks(stream: asyncio.StreamReader) -> AsyncIterator[Piece]:
    while True:
        size = await stream.readline()
        length = int(size.split(b";")[0], 16)
        data = await stream.readexactly(length + 2)
        yield Piece(size + data, data[:-2])
        if length == 0:
            return


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)
