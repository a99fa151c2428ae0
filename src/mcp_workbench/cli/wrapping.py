"""Wraps and cuts lines for a terminal, by the cells that their characters take: two for a Chinese one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, chop_cells, set_cell_size

if TYPE_CHECKING:
    from collections.abc import Iterator


MIN_PART_CELLS: Final = 10
"""The shortest parts that a word is broken into, however narrow the terminal is."""

_WORD: Final = re.compile(r"(\s*)(\S+)")


def wrap(
    text: str, columns: int, indent: str = "", hanging: str | None = None, *, breaks_words: bool = False
) -> list[str]:
    """Return the lines of a text for a terminal. Second lines of a line are indented by `hanging`.

    What is indented in the text keeps its place. A word that does not fit is not broken by default: it may be
    a path or a command. If words may be broken, a list of directories is broken after a colon.
    """
    lines: list[str] = []
    for line in text.splitlines():
        inner = line[: len(line) - len(line.lstrip())]
        second = (indent if hanging is None else hanging) + inner
        width = max(columns - len(second), MIN_PART_CELLS) if breaks_words else None
        lines += _wrapped(_WORD.findall(line.strip()), columns, indent + inner, second, width)
    return lines


def cut(line: str, columns: int) -> str:
    """Return a line with an ellipsis for what does not fit."""
    return line if cell_len(line) <= columns else f"{set_cell_size(line, columns - 1).rstrip()}…"


def _wrapped(
    words: list[tuple[str, str]], columns: int, first: str, second: str, width: int | None
) -> Iterator[str]:
    """Yield the lines that have these words, each with the white space before it.

    Words are broken into parts of `width` cells, if it is given.
    """
    current, is_empty = first, True
    for gap, word in words:
        if cell_len(current) + len(gap) + cell_len(word) <= columns:
            current, is_empty = current + gap + word, False
            continue
        if not is_empty:
            yield current
            current = second
        *whole, rest = [word] if width is None else _broken(word, width)
        for part in whole:
            yield current + part
            current = second
        current, is_empty = current + rest, False
    yield current.rstrip()


def _broken(word: str, cells: int) -> list[str]:
    """Return the parts of a word, each as long as fits."""
    parts = [""]
    for piece in _pieces(word):
        if cell_len(parts[-1]) + cell_len(piece) <= cells:
            parts[-1] += piece
        else:
            parts += chop_cells(piece, cells)
    return [part for part in parts if part]


def _pieces(word: str) -> Iterator[str]:
    *before, last = word.split(":")
    yield from (f"{piece}:" for piece in before)
    yield last
