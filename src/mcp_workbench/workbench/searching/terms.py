"""The words of an index: which tools have them, what they are worth, and what a query's words stand for.

Owns the postings, and the way from the words of a query to weighted stems: those words themselves, what was
meant by a word that no tool has, and other words for the same thing.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Final

from mcp_workbench.workbench.searching.spelling import SpellingIndex
from mcp_workbench.workbench.searching.stems import stem
from mcp_workbench.workbench.searching.synonyms import synonyms
from mcp_workbench.workbench.searching.words import STOP_WORDS, is_repairable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

__all__ = ["Vocabulary"]

SYNONYM: Final = 0.12
"""What another word for the same thing counts."""
ONE_SLIP: Final = 0.9
TWO_SLIPS: Final = 0.5
GLUED: Final = 0.8
"""What a word counts that may have been meant: by one slip of the finger, by two, by writing two as one."""
LEAST_FOR_TWO: Final = 6
LEAST_GLUED: Final = 3
"""Letters that a word must have to be repaired by two slips, and each of two words that are taken apart: what
is shorter is near to too much."""
MOST_MEANT: Final = 5
"""Words that one mistyped word may stand for."""
PRIOR: Final = 0.25
STOP_WORD_TOOLS: Final = 1000
"""Words of more tools are meant more often, by this power; a stop word is taken to have so many tools."""
LEFT_OVER: Final = 1000
"""Words that may stay filed after they have gone, besides as many as there are."""

_Posting = tuple["array[int]", "array[float]"]


class Vocabulary:
    """Stems with their tools, and words as they are written with their stems."""

    def __init__(self) -> None:
        self.tools = 0
        """How many there are."""
        self._postings: dict[str, _Posting] = {}
        """By stem, the numbers of the tools that have it, ascending, and what it weighs in each."""
        self._stems: dict[str, str] = {}
        """By word."""
        self._uses: dict[str, int] = {}
        """By word, how many groups have it."""
        self._spelling: SpellingIndex | None = None
        self._unfiled: list[str] = []
        """Words that are new since the spelling was last asked for, if it was."""

    def stem_of(self, word: str) -> str:
        """The stem of a word, known or not."""
        found = self._stems.get(word)
        if found is None:
            found = self._stems[word] = stem(word)
        return found

    def post(self, term: str, number: int, weight: float) -> None:
        """Notes what a stem weighs in a tool, whose number is greater than all before."""
        posting = self._postings.get(term)
        if posting is None:
            posting = self._postings[term] = (array("I"), array("f"))
        posting[0].append(number)
        posting[1].append(weight)

    def posting(self, term: str) -> _Posting:
        """The tools that have a stem, and what it weighs in each."""
        return self._postings[term]

    def count(self, words: Sequence[str], tools: int) -> None:
        """Notes that one more group has these words, and so many tools."""
        uses = self._uses
        for word in words:
            if word not in uses:
                uses[word] = 0
                self._unfiled.append(word)
            uses[word] += 1
        if self._spelling is None or len(self._unfiled) > len(uses) + LEFT_OVER:
            self._spelling, self._unfiled = None, []  # it is made of all words when it is next asked for
        self.tools += tools

    def remove(self, words: Sequence[str], first: int, end: int) -> None:
        """Forgets the tools of those numbers, which have these words and no others."""
        for term in {self._stems[word] for word in words}:
            numbers, weights = self._postings[term]
            here = slice(bisect_left(numbers, first), bisect_left(numbers, end))
            del numbers[here], weights[here]
            if not numbers:
                del self._postings[term]
        for word in words:
            self._uses[word] -= 1
            if not self._uses[word]:
                del self._uses[word], self._stems[word]
        self.tools -= end - first

    def renumber(self, new: Sequence[int]) -> None:
        """Gives the tools their new numbers, which are in the same order."""
        for term, (numbers, weights) in self._postings.items():
            self._postings[term] = array("I", [new[number] for number in numbers]), weights

    # --- from the words of a query to stems ---------------------------------------------------------------

    def terms(self, words: Mapping[str, float]) -> dict[str, float]:
        """What to look for, with weights: stems that some tool has."""
        meant: dict[str, float] = {}
        for word, weight in words.items():
            for term, share in self._meant(word):
                meant[term] = meant.get(term, 0.0) + weight * share
        for word, following in pairwise(words):
            if (together := word + following) in self._uses:
                term = self._stems[together]
                meant[term] = meant.get(term, 0.0) + GLUED * min(words[word], words[following])
        rarity = {term: self._rarity(term) for term in meant}
        terms = {term: weight * rarity[term] for term, weight in meant.items()}
        for term, weight in meant.items():
            for other in synonyms(term):
                if other in self._postings:
                    # No more than the word itself would: a rare synonym of a common word says little.
                    worth = SYNONYM * weight * min(self._rarity(other), rarity[term])
                    if worth > terms.get(other, 0.0):
                        terms[other] = worth
        return terms

    def put_right(self, word: str) -> str:
        """A word that no tool has, as it was most likely meant; any other as it is."""
        folded = word.casefold()
        if stem(folded) in self._postings or not is_repairable(folded):
            return word
        near = self._near(folded, 1) or (self._near(folded, 2) if len(folded) >= LEAST_FOR_TWO else [])
        uses = [
            (-self._uses.get(other, STOP_WORD_TOOLS), other)
            for other in near
            if other in self._uses or other in STOP_WORDS
        ]
        return min(uses, default=(0, word))[1]

    def _rarity(self, term: str) -> float:
        having = len(self._postings[term][0])
        return log(1 + (self.tools - having + 0.5) / (having + 0.5))

    def _meant(self, word: str) -> Collection[tuple[str, float]]:
        term = self._stems.get(word) or stem(word)
        if term in self._postings:
            return ((term, 1.0),)
        if not is_repairable(word):
            return ()
        return self._apart(word) or self._repaired(word)

    def _apart(self, word: str) -> list[tuple[str, float]]:
        """Two words that were written as one."""
        best: list[str] = []
        for place in range(LEAST_GLUED, len(word) - LEAST_GLUED + 1):
            parts = [word[:place], word[place:]]
            if not all(part in self._uses for part in parts):
                continue
            if not best or self._fewest(parts) > self._fewest(best):
                best = parts
        return [(self._stems[part], GLUED) for part in best]

    def _fewest(self, words: Iterable[str]) -> int:
        return min(len(self._postings[self._stems[word]][0]) for word in words)

    def _repaired(self, word: str) -> list[tuple[str, float]]:
        """The stems that were meant by a mistyped word, the likely ones more."""
        share, near = ONE_SLIP, self._near(word, 1) or self._near(stem(word), 1)
        if not near and len(word) >= LEAST_FOR_TWO:
            share, near = TWO_SLIPS, self._near(word, 2)
        likely: dict[str, float] = {}
        for other in near:
            term = "" if other in STOP_WORDS else self._stems.get(other, other)
            having = len(self._postings[term][0]) if term else STOP_WORD_TOOLS
            likely[term] = having**PRIOR
        best = sorted(likely.items(), key=lambda item: (-item[1], item[0]))[:MOST_MEANT]
        return [(term, share * weight / best[0][1]) for term, weight in best if term]

    def _near(self, word: str, slips: int) -> list[str]:
        return [
            other
            for other in self._filed().near(word, slips)
            if other in self._uses or other in self._postings or other in STOP_WORDS
        ]

    def _filed(self) -> SpellingIndex:
        if self._spelling is None or self._spelling.size > 2 * len(self._uses) + LEFT_OVER:
            self._spelling = SpellingIndex()
            self._unfiled = [*sorted(STOP_WORDS), *self._uses]
        if self._unfiled:
            stems = [term for word in self._unfiled if (term := stem(word)) not in self._uses]
            self._spelling.add(filter(is_repairable, dict.fromkeys((*self._unfiled, *stems))))
            self._unfiled = []
        return self._spelling
