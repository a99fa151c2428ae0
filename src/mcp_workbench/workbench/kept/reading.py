"""Cuts pieces out of a long text, by lines or by bytes, and never within a character."""

from __future__ import annotations

from typing import Final

import msgspec

PIECE_BYTES: Final = 64 * 1024
_CONTINUES: Final = 0b1000_0000
_TOP_BITS: Final = 0b1100_0000


class Piece(msgspec.Struct, frozen=True):
    """A part of a text, as byte positions in its UTF-8."""

    start: int
    end: int


def piece_of_bytes(text: bytes, offset: int, length: int) -> Piece:
    """Return the piece with these bytes, widened to whole characters, with at least one of them."""
    start = _character_at(text, min(offset, len(text)))
    end = _character_at(text, min(start + length, len(text)))
    if end == start < len(text):
        end = start + 1
        while end < len(text) and text[end] & _TOP_BITS == _CONTINUES:
            end += 1
    return Piece(start, end)


def piece_of_lines(text: bytes, first: int, last: int | None, most: int) -> Piece:
    """Return the piece from one line to another, or to the end, with `most` bytes at most.

    A piece that is too long is cut after a line; a line that is too long is cut itself.
    """
    start = line_start(text, first)
    wanted = len(text) if last is None else line_start(text, last + 1)
    if wanted - start <= most:
        return Piece(start, wanted)
    end = text.rfind(b"\n", start, start + most) + 1
    return Piece(start, end) if end > start else piece_of_bytes(text, start, most)


def line_start(text: bytes, number: int) -> int:
    """Return where a line begins, counted from 1; the end of the text if it has fewer lines."""
    before, at = number - 1, 0
    while (count := text.count(b"\n", at, at + PIECE_BYTES)) < before:
        before -= count
        at += PIECE_BYTES
        if at >= len(text):
            return len(text)
    for _ in range(before):
        at = text.index(b"\n", at) + 1
    return at


def line_at(text: bytes, offset: int) -> int:
    """Return the number of the line that a byte is in, counted from 1."""
    return text.count(b"\n", 0, offset) + 1


def _character_at(text: bytes, at: int) -> int:
    """Return the first byte of the character that a byte belongs to."""
    while 0 < at < len(text) and text[at] & _TOP_BITS == _CONTINUES:
        at -= 1
    return at
