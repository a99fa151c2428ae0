"""Splits names and texts of any script into the words that the search uses.

Owns what counts as a word, and which words say nothing. `stems`, `terms` and `query` own what a word is worth
and which of its forms are equal.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["STOP_WORDS", "has_repairable_letters", "split_words"]


# Function words, and what people say to an assistant before they name the task.
_SAYING_NOTHING: Final = """
a about above additionally after again all already also am an and another any anyone anything are
aren as at away back be because been before being below between both but by came can cannot cant
could couldn did didn do does doesn doing don done down due during each either else enough
especially etc even ever every everything finally for from further furthermore get give given go
goes going gonna got had has hasn have haven having he hello help her here hers hey hi him his how
however i if im in instead into is isn it its itself ive just kind kindly know lastly let lets like
likely ll lot many may maybe me might mine more moreover most much must my myself need needed needs
nor not of off oh ok okay on once one only onto or other others our ours out over own per perhaps
please possible pretty provide quite rather re really regarding s same see she should shouldn so
some somebody someone something soon such sure t tell than thank thanks that the their theirs them
then there these they thing things this those though through thus to together too under until up
upon us use used using ve very via wanna want wants was wasn way we well were what whatever when
where whether which while who whole whom whose why will wish with within without won would wouldn
yes yet you your yours yourself
"""
STOP_WORDS: Final = frozenset(_SAYING_NOTHING.split())

# A word of more than 40 characters is a key or a blob, and is split.
_ASCII_WORD: Final = re.compile(r"[A-Za-z0-9]{1,40}")
# Beyond ASCII: words keep the vowel signs of Indic scripts, which are not \w. A pictogram is a word.
_ANY_WORD: Final = re.compile(
    r"(?:[^\W_]|[\u0900-\u0dff\u0f00-\u109f\u1780-\u17ff]){1,40}|[\u2190-\u2bff\U0001f000-\U0001faff]"
)
_HUMP: Final = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Scripts that put no spaces between words, and Hangul, whose words carry their particles with them.
_UNSPACED: Final = re.compile(
    r"[\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    r"\uf900-\ufaff\U00020000-\U0003fffd]+"
)
_STRIPPED_CLASS: Final = 10
"""Marks of this combining class and above are removed: accents and vowel points, but not the viramas, nuktas
and voicing marks that distinguish letters."""


def split_words(text: str) -> list[str]:
    """Return the words of a text in order, case-folded. A word like readFile follows its parts as a whole."""
    found = _ASCII_WORD.findall(text) if text.isascii() else _ANY_WORD.findall(_without_marks(text))
    words: list[str] = []
    for word in found:
        if word.islower() and word.isalpha() and word.isascii():
            words.append(word)
        else:
            words += _parts(word)
    return words


def _parts(word: str) -> list[str]:
    folded = word.casefold()
    if word.isascii():
        humps = _HUMP.findall(word)
    elif _UNSPACED.search(word):
        return _in_pairs(folded)
    else:
        humps = "".join([f" {sign}" if sign.isupper() else sign for sign in word]).split()
    if len(humps) < 2 or folded == word:
        return [folded]
    parts = [hump.casefold() for hump in humps]
    return [*(part for part in parts if len(part) > 1 or part.isdigit()), folded]


def _in_pairs(word: str) -> list[str]:
    """Split text without spaces into single characters and pairs of neighbours, which needs no dictionary."""
    pieces: list[str] = []
    at = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > at:
            pieces.append(word[at : run.start()])
        at = run.end()
        characters = run[0]
        pieces += characters
        pieces += [characters[place : place + 2] for place in range(len(characters) - 1)]
    if at < len(word):
        pieces.append(word[at:])
    return pieces


def _without_marks(text: str) -> str:
    spread = unicodedata.normalize("NFKD", text)
    kept = "".join([sign for sign in spread if unicodedata.combining(sign) < _STRIPPED_CLASS])
    return unicodedata.normalize("NFC", kept)


def has_repairable_letters(word: str) -> bool:
    """Whether a typing mistake in a word could be corrected: it must be letters, and not too few."""
    return len(word) >= 3 and word.isalpha() and not _UNSPACED.match(word)
