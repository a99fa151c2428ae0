"""Mistyped words: which words of the index somebody may have meant.

Owns finding words that are one or two slips of the finger away (a letter left out, added, changed, or swapped
with its neighbour). What the words found are worth is `search`'s to say.

Two words are one slip apart only if they are equal after leaving out at most one letter of each. So every
word is filed under itself and under all that is left of it without one letter, by hash: chains through flat
arrays, a tenth of the memory of a dictionary of strings. What a hash finds is then compared, so its seed
changes nothing.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

from mcp_workbench.config.edit_distance import edit_distance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["SpellingIndex"]

LONGEST: Final = 24
"""Letters. Longer words are neither filed nor repaired."""
FEWEST_CHAINS: Final = 1024


class SpellingIndex:
    """Words filed by what may become of them."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._heads = array("i", [-1]) * FEWEST_CHAINS
        self._next = array("i")
        self._word_of = array("I")

    @property
    def size(self) -> int:
        """How many words are filed, those included that are in the index no longer."""
        return len(self._words)

    def add(self, words: Iterable[str]) -> None:
        """Files more words."""
        for word in words:
            if len(word) > LONGEST:
                continue
            number = len(self._words)
            self._words.append(word)
            for key in _shortened(word):
                self._word_of.append(number)
                self._chain(len(self._next), hash(key))
        if len(self._next) > len(self._heads):
            self._rechain()

    def _chain(self, link: int, key: int) -> None:
        slot = key % len(self._heads)
        self._next.append(self._heads[slot])
        self._heads[slot] = link

    def _rechain(self) -> None:
        chains = len(self._heads)
        while chains < len(self._next):
            chains *= 2
        self._heads = array("i", [-1]) * chains
        self._next = array("i")
        for word in self._words:
            for key in _shortened(word):
                self._chain(len(self._next), hash(key))

    def near(self, word: str, most: int) -> dict[str, int]:
        """The words that are at most so many slips away, with the number of slips.

        Of those that are two away it is only the ones that lack two letters of the word and one of their own.
        """
        if len(word) > LONGEST:
            return {}
        keys = _shortened(word)
        if most > 1:
            keys = {shorter for key in keys for shorter in _shortened(key)}
        compared = {other: edit_distance(word, other, most) for other in self._filed(keys)}
        return {other: count for other, count in compared.items() if count <= most}

    def _filed(self, keys: Iterable[str]) -> Iterator[str]:
        heads, following, words, word_of = self._heads, self._next, self._words, self._word_of
        chains = len(heads)
        for key in keys:
            link = heads[hash(key) % chains]
            while link >= 0:
                word = words[word_of[link]]
                link = following[link]
                if _is_left_of(key, word):
                    yield word


def _is_left_of(key: str, word: str) -> bool:
    """Whether a word is filed under that key, and not merely under the same hash."""
    if len(key) != len(word) - 1:
        return key == word
    place = 0
    while place < len(key) and key[place] == word[place]:
        place += 1
    return key[place:] == word[place + 1 :]


def _shortened(word: str) -> set[str]:
    return {word, *[word[:place] + word[place + 1 :] for place in range(len(word))]}
