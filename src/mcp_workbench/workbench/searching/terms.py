"""The words of an index: which tools have them, and what the words of a query stand for.

Owns the postings, and the mapping from the words of a query to weighted stems: the words themselves,
corrections of words that no tool has, and synonyms.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Final

from mcp_workbench.workbench.searching.repairs import is_likely_mistake, is_repairable, stem_to_repair
from mcp_workbench.workbench.searching.spelling import SpellingIndex
from mcp_workbench.workbench.searching.stems import stem
from mcp_workbench.workbench.searching.synonyms import synonyms
from mcp_workbench.workbench.searching.words import STOP_WORDS, has_repairable_letters

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

__all__ = ["Vocabulary"]

SYNONYM_WEIGHT: Final = 0.12
"""What a synonym counts, where the word itself counts 1."""
ONE_MISTAKE_WEIGHT: Final = 0.9
"""What a correction of one typing mistake counts."""
TWO_MISTAKES_WEIGHT: Final = 0.5
"""What a correction of two typing mistakes counts."""
JOINED_WEIGHT: Final = 0.8
"""What two words count that were written as one, or one that was written as two."""
MIN_JOINED_LETTERS: Final = 3
"""Letters that each of two words must have that were written as one."""
MAX_CORRECTIONS: Final = 5
"""Words that one mistyped word may stand for."""
FREQUENCY_POWER: Final = 0.25
"""Words of more tools are meant more often, by this power."""
STOP_WORD_TOOLS: Final = 1000
"""A stop word counts as a word of so many tools."""
SPARE_WORDS: Final = 1000
"""Removed words that may stay in the spelling index, besides as many as there are."""
SPELLING_STEP_WORDS: Final = 50
"""Words that are added to the spelling index in a step, in about a millisecond."""

_Posting = tuple["array[int]", "array[float]"]


class Vocabulary:
    """Stems with their tools, and words with their stems."""

    def __init__(self) -> None:
        self.tools = 0
        """The number of tools in the index."""
        self._postings: dict[str, _Posting] = {}
        """By stem: the numbers of the tools that have it, ascending, and its weight in each."""
        self._stems: dict[str, str] = {}
        """The stem of each word in the index."""
        self._uses: dict[str, int] = {}
        """By word: how many groups have it."""
        self._spelling: SpellingIndex | None = None
        self._unindexed: list[str] = []
        """Words that were added since the spelling index was last brought up to date."""

    def stem_of(self, word: str) -> str:
        """Return the stem of a word, known or not."""
        found = self._stems.get(word)
        if found is None:
            found = self._stems[word] = stem(word)
        return found

    def post(self, term: str, number: int, weight: float) -> None:
        """Add the weight of a stem in a tool, whose number is greater than all before."""
        posting = self._postings.get(term)
        if posting is None:
            posting = self._postings[term] = (array("I"), array("f"))
        posting[0].append(number)
        posting[1].append(weight)

    def posting(self, term: str) -> _Posting:
        """Return the tools that have a stem, and its weight in each."""
        return self._postings[term]

    def count(self, words: Sequence[str], tools: int) -> None:
        """Count one more group with these words and this number of tools."""
        uses = self._uses
        for word in words:
            if word not in uses:
                uses[word] = 0
                self._unindexed.append(word)
            uses[word] += 1
        if self._spelling is None or len(self._unindexed) > len(uses) + SPARE_WORDS:
            self._spelling, self._unindexed = None, []  # rebuilt from all words when it is needed
        self.tools += tools

    def remove(self, words: Sequence[str], first: int, end: int) -> None:
        """Remove the tools with these numbers, which have these words and no others."""
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
        """Give the tools their new numbers, which are in the same order."""
        for term, (numbers, weights) in self._postings.items():
            self._postings[term] = array("I", [new[number] for number in numbers]), weights

    # --- from the words of a query to stems ---------------------------------------------------------------

    def terms(self, words: Mapping[str, float]) -> dict[str, float]:
        """Return the stems to search for, with weights. Some tool has each of them."""
        meant: dict[str, float] = {}
        for word, weight in words.items():
            for term, share in self._meant(word):
                meant[term] = meant.get(term, 0.0) + weight * share
        for word, following in pairwise(words):
            if (together := word + following) in self._uses:
                term = self._stems[together]
                meant[term] = meant.get(term, 0.0) + JOINED_WEIGHT * min(words[word], words[following])
        rarity = {term: self._rarity(term) for term in meant}
        terms = {term: weight * rarity[term] for term, weight in meant.items()}
        for term, weight in meant.items():
            for other in synonyms(term):
                if other in self._postings:
                    # No more than the word itself would: a rare synonym of a common word says little.
                    worth = SYNONYM_WEIGHT * weight * min(self._rarity(other), rarity[term])
                    if worth > terms.get(other, 0.0):
                        terms[other] = worth
        return terms

    def corrected(self, word: str) -> str:
        """Return the likely correction of a word that no tool has; any other word as it is."""
        folded = word.casefold()
        if not self.is_unknown(folded):
            return word
        uses = [
            (-self._uses.get(other, STOP_WORD_TOOLS), other)
            for other in self._near(folded, 1) or self._near(folded, 2)
            if other in self._uses or other in STOP_WORDS
        ]
        return min(uses, default=(0, word))[1]

    @property
    def is_spelling_ready(self) -> bool:
        """Whether mistyped words can be repaired without `prepare_spelling`."""
        return self._spelling is not None and not self._unindexed

    def is_unknown(self, word: str) -> bool:
        """Whether no tool has a word of a query, so that it may be mistyped."""
        return stem(word) not in self._postings and is_repairable(word) and not self._split(word)

    def prepare_spelling(self) -> Iterator[None]:
        """Bring the spelling index up to date, in short steps. Without a search meanwhile."""
        spelling = self._spelling
        if spelling is None or spelling.size > 2 * len(self._uses) + SPARE_WORDS:
            spelling, self._unindexed = None, [*sorted(STOP_WORDS), *self._uses]
        stems = [term for word in self._unindexed if (term := self._stems.get(word, word)) not in self._uses]
        words = list(filter(has_repairable_letters, dict.fromkeys((*self._unindexed, *stems))))
        spelling = spelling or SpellingIndex(words)
        for start in range(0, len(words), SPELLING_STEP_WORDS):
            spelling.add(words[start : start + SPELLING_STEP_WORDS])
            yield
        self._spelling, self._unindexed = spelling, []

    def _rarity(self, term: str) -> float:
        tools_with = len(self._postings[term][0])
        return log(1 + (self.tools - tools_with + 0.5) / (tools_with + 0.5))

    def _meant(self, word: str) -> Collection[tuple[str, float]]:
        term = self._stems.get(word) or stem(word)
        if term in self._postings:
            return ((term, 1.0),)
        if not is_repairable(word):
            return ()
        return self._split(word) or self._repaired(word)

    def _split(self, word: str) -> list[tuple[str, float]]:
        """Return the stems of two words that were written as one."""
        best: list[str] = []
        for place in range(MIN_JOINED_LETTERS, len(word) - MIN_JOINED_LETTERS + 1):
            parts = [word[:place], word[place:]]
            if not all(part in self._uses for part in parts):
                continue
            if not best or self._fewest(parts) > self._fewest(best):
                best = parts
        return [(self._stems[part], JOINED_WEIGHT) for part in best]

    def _fewest(self, words: Iterable[str]) -> int:
        return min(len(self._postings[self._stems[word]][0]) for word in words)

    def _repaired(self, word: str) -> list[tuple[str, float]]:
        """Return the stems that a mistyped word may stand for, the likely ones with more weight."""
        share, near = ONE_MISTAKE_WEIGHT, self._near(word, 1) or self._near(stem_to_repair(word), 1)
        if not near:
            share, near = TWO_MISTAKES_WEIGHT, self._near(word, 2)
        likely: dict[str, float] = {}
        for other in near:
            term = "" if other in STOP_WORDS else self._stems.get(other, other)
            tools_with = len(self._postings[term][0]) if term else STOP_WORD_TOOLS
            likely[term] = tools_with**FREQUENCY_POWER
        best = sorted(likely.items(), key=lambda item: (-item[1], item[0]))[:MAX_CORRECTIONS]
        return [(term, share * weight / best[0][1]) for term, weight in best if term]

    def _near(self, word: str, mistakes: int) -> list[str]:
        near = {} if self._spelling is None else self._spelling.near(word, mistakes)
        return [
            other
            for other in near
            if is_likely_mistake(word, other, mistakes)
            and (other in self._uses or other in self._postings or other in STOP_WORDS)
        ]
