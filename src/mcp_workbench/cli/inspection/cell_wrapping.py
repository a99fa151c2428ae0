"""Wraps lines for a terminal by the cells that their characters take: two for a Chinese one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells, set_cell_size

if TYPE_CHECKING:
    from collections.abc import Iterator


def wrapped(line: str, columns: int, indent: str) -> list[str]:
    """Return a line in lines that fit, the second and further ones indented. A long word is broken.

    A list of directories is broken behind a colon, so that each directory stays whole.
    """
    lead = line[: len(line) - len(line.lstrip())]
    lines, current = [], lead
    for word in line.split():
        gap = " " if current.strip() else ""
        if cell_len(current) + len(gap) + cell_len(word) <= columns:
            current += gap + word
            continue
        if current.strip():
            lines.append(current)
            current = indent
        *whole, rest = _broken(word, columns - len(indent))
        lines += [indent + part for part in whole]
        current = indent + rest
    return [*lines, current]


def cut(line: str, columns: int) -> str:
    """Return a line with an ellipsis for what does not fit."""
    return line if cell_len(line) <= columns else f"{set_cell_size(line, columns - 1)}…"


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
