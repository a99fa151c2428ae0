"""Splits a line of bash as far as it is typed, and quotes what bash is to insert. Nothing is expanded.

bash passes the raw line. It breaks words at characters such as `:` and `=` (COMP_WORDBREAKS), and inserts a
candidate after the last of them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,=@%+-:")
_SPECIAL_IN_QUOTES: Final = frozenset('"$`\\!')


class TypedLine(NamedTuple):
    """The words before the cursor, and the word at the cursor."""

    words: list[str]
    current: str
    kept: int
    """Characters of the current word before the place at which bash inserts."""
    quote: str
    """The quote that is still open; empty if there is none."""


def read_line(line: str, breaks: str) -> TypedLine:
    """Split a line that ends at the cursor. A command before it, as in `a | b`, is left out."""
    words: list[str] = []
    word: list[str] | None = None
    kept = 0
    quote = ""
    at = 0
    while at < len(line):
        character = line[at]
        at += 1
        if quote:
            if character == quote:
                quote = ""
            elif character == "\\" and quote == '"' and line[at : at + 1] in _SPECIAL_IN_QUOTES:
                word = [*(word or []), line[at : at + 1]]
                at += 1
            else:
                word = [*(word or []), character]
        elif character == "\\":
            word = [*(word or []), line[at : at + 1]]
            at += 1
        elif character in "'\"":
            quote, word = character, word or []
            kept = len(word)
        elif character.isspace() or character in ";|&()<>":
            if word is not None:
                words.append("".join(word))
            if not character.isspace():
                words = []
            word, kept = None, 0
        else:
            word = [*(word or []), character]
            if character in breaks:
                kept = len(word)
    return TypedLine(words, "".join(word or []), kept, quote)


def escaped(text: str, quote: str) -> str | None:
    """Return a text as bash reads it back, inside of a quote or without one; None if it cannot be written."""
    if quote == "'":
        return None if "'" in text else text
    if quote == '"':
        return None if _SPECIAL_IN_QUOTES & set(text) else text
    return "".join(character if character in _PLAIN else f"\\{character}" for character in text)
