"""The form of the signals of the scanner.

Patterns see sentences as `words.sentences` writes them: in small letters, with marks before names. They
have no unbounded gap, and so take linear time.
"""

from __future__ import annotations

from typing import NamedTuple


class Signal(NamedTuple):
    """Something that a sentence says: it has certain words, and matches a pattern if there is one."""

    words: str
    """Words of which a sentence in the Latin alphabet needs one; with `&` between, one of each group."""
    pattern: str = ""


def any_of(words: str) -> str:
    """Return a pattern for any of the words; `_` in a word is a space."""
    return rf"\b(?:{'|'.join(words.split()).replace('_', ' ')})\b"
