"""Stems of English words, by Porter's algorithm of 1980: "creates" and "creation" have the same.

Owns the exceptions too: words of different meaning that the algorithm would give the same stem. A word with
other than English letters is its own stem.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Final

__all__ = ["stem"]

CACHED_WORDS: Final = 1000
"""Words whose stems are cached: queries repeat words."""
_VOWELS: Final = frozenset("aeiou")
_SECOND: Final = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"),
    ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"),
    ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"), ("logi", "log"),
)  # fmt: skip
_THIRD: Final = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""),
    ("ness", ""),
)  # fmt: skip
_FOURTH: Final = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize",
    "ion", "al", "er", "ic", "ou",
)  # fmt: skip

# "general" and "generate" would be "gener", and "news" would be "new". These beginnings are never shortened.
_NEVER_SHORTENED: Final = """
activit animal animat apartment authorit authoriz business canvas cms commitment communit container
contentful conversat customer department designat digital dns ecs edition electronic elevator embed emergenc
engineer ens evening excellen executiv experiment extensiv formation gas general generic gis goods gps
identical importan indices initiativ insider internal internation ios lateral lens liquidit literal means
mls mms multiplicat news objectiv odds officer optimism organic organiz paste performance physical politic
population positiv presentation production projection provider publication rds refinanc responsib setting
several sms sns successiv terminal tls transition tts universal universit unrealiz wedding
"""
_ROOTS: Final = tuple(_NEVER_SHORTENED.split())


@lru_cache(CACHED_WORDS)
def stem(word: str) -> str:
    """Return the stem of a word, which its forms have in common."""
    if len(word) <= 2 or not (word.isascii() and word.isalpha()):
        return word
    found = _porter_stem(word)
    if word.startswith(_ROOTS):
        root = max((root for root in _ROOTS if word.startswith(root)), key=len)
        return max(found, root, key=len)
    return found


def _porter_stem(word: str) -> str:
    word = _past_or_present(_singular(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(_replaced(word, _SECOND), _THIRD)
    for ending in _FOURTH:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if _measure(rest) > 1 and (ending != "ion" or rest[-1] in "st"):
                word = rest
            break
    if word.endswith("e"):
        rest = word[:-1]
        syllables = _measure(rest)
        if syllables > 1 or (syllables == 1 and not _is_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _singular(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_or_present(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    rest = word.removesuffix("ed")
    if rest == word:
        rest = word.removesuffix("ing")
    if rest == word or not _has_vowel(rest):
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if len(rest) > 1 and rest[-1] == rest[-2] and rest[-1] not in "aeioulsz":
        return rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _is_short(rest) else rest


def _replaced(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    for ending, other in endings:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return rest + other if _measure(rest) else word
    return word


def _shape(word: str) -> list[bool]:
    """Return for each letter whether it is a vowel; y is one after a consonant."""
    shape: list[bool] = []
    for letter in word:
        shape.append(letter in _VOWELS or (letter == "y" and bool(shape) and not shape[-1]))
    return shape


def _measure(word: str) -> int:
    """Count how often a vowel is followed by a consonant."""
    shape = _shape(word)
    return sum(vowel and not following for vowel, following in pairwise(shape))


def _has_vowel(word: str) -> bool:
    return any(_shape(word))


def _is_short(word: str) -> bool:
    """Whether a word ends like "fil", in consonant, vowel, consonant: an e may have been removed."""
    return _shape(word)[-3:] == [False, True, False] and word[-1] not in "wxy"
