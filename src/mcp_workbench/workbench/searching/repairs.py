"""Decides which known words a word may stand for that no tool has.

Owns the rules of repair. Most unknown words of a query are right, and only not about tools: "march" is no
mistyped "match". Without a dictionary, a word counts as right if it is in one of the search's own lists. In
other words, a mistake must be one that people make: they rarely mistype the first letter, and short words are
near to too many others.
"""

from __future__ import annotations

from typing import Final

from mcp_workbench.workbench.searching.query import is_small_talk
from mcp_workbench.workbench.searching.stems import stem
from mcp_workbench.workbench.searching.synonyms import synonyms
from mcp_workbench.workbench.searching.words import STOP_WORDS, has_repairable_letters

__all__ = ["is_likely_mistake", "is_repairable", "stem_to_repair"]

MIN_LETTERS_FOR_TWO_MISTAKES: Final = 8
MIN_LETTERS_FOR_CHANGE: Final = 5
"""In shorter words, the first letter must be right, and no letter may be changed into another."""
MIN_STEM_LETTERS: Final = 5
"""Letters of a stem that is compared in place of its word."""


def is_repairable(word: str) -> bool:
    """Whether a word that no tool has may be mistyped."""
    is_right = word in STOP_WORDS or is_small_talk(word) or bool(synonyms(stem(word)))
    return has_repairable_letters(word) and not is_right


def is_likely_mistake(typed: str, meant: str, mistakes: int) -> bool:
    """Whether a typed word may be meant as another, which is as many mistakes away."""
    starts_right = typed[0] == meant[0] or typed[:2] == meant[1::-1]
    if mistakes > 1:
        return len(typed) >= MIN_LETTERS_FOR_TWO_MISTAKES and starts_right
    is_changed = len(typed) == len(meant) and sorted(typed) != sorted(meant)
    return len(typed) >= MIN_LETTERS_FOR_CHANGE or (starts_right and not is_changed)


def stem_to_repair(word: str) -> str:
    """Return the stem of a mistyped word, or nothing where it is too short to be compared."""
    found = stem(word)
    return found if len(found) >= MIN_STEM_LETTERS else ""
