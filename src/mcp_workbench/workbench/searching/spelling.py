"""Finds the words of the index that a mistyped word may stand for.

Owns finding words that are one or two typing mistakes away: a letter left out, added, changed, or swapped
with its neighbour. `terms` owns what these words are worth.

Two words are one mistake apart only if they are equal after leaving out at most one letter of each. So every
word is stored under itself and under all its forms without one letter, by hash: chains through flat arrays, a
tenth of the memory of a dictionary of strings. Words found by hash are compared, so that the seed of the hash
changes nothing.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

from mcp_workbench.config.edit_distance import edit_distance

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

__all__ = ["SpellingIndex"]

MAX_WORD_LETTERS: Final = 24
"""Longer words are neither stored nor corrected."""
MIN_CHAINS: Final = 1024
"""Hash chains of an empty index."""


class SpellingIndex:
    """Words by the forms that a typing mistake makes of them."""

    def __init__(self, words: Collection[str] = ()) -> None:
        """Create an empty index with room for these words: it then need not grow while they are added."""
        self._words: list[str] = []
        self._next = array("i")
        self._word_of = array("I")
        self._heads = _chains(sum(map(len, words)) + len(words))

    @property
    def size(self) -> int:
        """How many words are stored, including those that the search index no longer has."""
        return len(self._words)

    def add(self, words: Iterable[str]) -> None:
        """Store more words in the index."""
        for word in words:
            if len(word) <= MAX_WORD_LETTERS:
                self._link(word, len(self._words))
                self._words.append(word)
        if len(self._next) > len(self._heads):
            self._grow()

    def _link(self, word: str, number: int) -> None:
        heads, following = self._heads, self._next
        chains = len(heads)
        keys = _shortened(word)
        self._word_of.extend([number] * len(keys))
        for key in keys:
            slot = hash(key) % chains
            following.append(heads[slot])
            heads[slot] = len(following) - 1

    def _grow(self) -> None:
        self._heads, self._next, self._word_of = _chains(len(self._next)), array("i"), array("I")
        for number, word in enumerate(self._words):
            self._link(word, number)

    def near(self, word: str, limit: int) -> dict[str, int]:
        """Return the words that are at most `limit` mistakes away, with their number of mistakes.

        Of words that are two mistakes away, only those are found that lack two letters of the word and one of
        their own.
        """
        if len(word) > MAX_WORD_LETTERS:
            return {}
        keys = _shortened(word)
        if limit > 1:
            keys = {shorter for key in keys for shorter in _shortened(key)}
        compared = {other: edit_distance(word, other, limit) for other in self._candidates(keys)}
        return {other: count for other, count in compared.items() if count <= limit}

    def _candidates(self, keys: Iterable[str]) -> Iterator[str]:
        heads, following, words, word_of = self._heads, self._next, self._words, self._word_of
        chains = len(heads)
        for key in keys:
            link = heads[hash(key) % chains]
            while link >= 0:
                word = words[word_of[link]]
                link = following[link]
                if _is_key_of(key, word):
                    yield word


def _chains(links: int) -> array[int]:
    """Return empty chains, at least as many as there will be links in them."""
    count = MIN_CHAINS
    while count < links:
        count *= 2
    return array("i", [-1]) * count


def _is_key_of(key: str, word: str) -> bool:
    """Whether a word is stored under this key, and not only under the same hash."""
    if len(key) != len(word) - 1:
        return key == word
    place = 0
    while place < len(key) and key[place] == word[place]:
        place += 1
    return key[place:] == word[place + 1 :]


def _shortened(word: str) -> set[str]:
    return {word, *[word[:place] + word[place + 1 :] for place in range(len(word))]}
