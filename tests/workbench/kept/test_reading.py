"""Pieces of a text by lines and by bytes."""

from __future__ import annotations

import pytest

from mcp_workbench.workbench.kept.reading import line_at, line_start, piece_of_bytes, piece_of_lines

TEXT = "one\ntwo €\n\nfour".encode()
LONG = b"".join(b"line %d\n" % number for number in range(1, 300_001))


def by_bytes(offset: int, length: int) -> str:
    piece = piece_of_bytes(TEXT, offset, length)
    return TEXT[piece.start : piece.end].decode()


def by_lines(first: int, last: int | None, most: int = 1000) -> str:
    piece = piece_of_lines(TEXT, first, last, most)
    return TEXT[piece.start : piece.end].decode()


@pytest.mark.parametrize(
    ("offset", "length", "text"),
    [
        (0, 3, "one"),
        (0, 9, "one\ntwo "),
        (8, 3, "€"),
        (8, 1, "€"),
        (9, 2, "€"),
        (10, 100, "€\n\nfour"),
        (12, 5, "\nfour"),
        (100, 5, ""),
    ],
)
def test_no_character_is_cut_in_two(offset: int, length: int, text: str) -> None:
    assert by_bytes(offset, length) == text


def test_all_pieces_by_bytes_together_are_the_whole() -> None:
    text = "añ€😀".encode() * 50
    at, pieces = 0, []
    while at < len(text):
        piece = piece_of_bytes(text, at, 5)
        pieces.append(text[piece.start : piece.end].decode())
        at = piece.end
    assert "".join(pieces).encode() == text


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        (1, 1, "one\n"),
        (2, 3, "two €\n\n"),
        (4, None, "four"),
        (4, 9, "four"),
        (5, None, ""),
        (1, None, TEXT.decode()),
    ],
)
def test_lines_come_whole_with_their_ends(first: int, last: int | None, text: str) -> None:
    assert by_lines(first, last) == text


def test_as_many_lines_come_as_there_is_room_for_and_of_a_longer_one_its_beginning() -> None:
    assert by_lines(1, None, most=10) == "one\n"
    assert by_lines(2, None, most=6) == "two "


@pytest.mark.parametrize("number", [1, 2, 100_000, 149_797, 299_999, 300_000])
def test_any_line_of_a_long_text_is_found(number: int) -> None:
    start = line_start(LONG, number)
    assert LONG[start : LONG.index(b"\n", start)] == b"line %d" % number
    assert line_at(LONG, start) == number


def test_beyond_the_last_line_there_is_nothing() -> None:
    assert line_start(LONG, 300_001) == line_start(LONG, 10**12) == len(LONG)
