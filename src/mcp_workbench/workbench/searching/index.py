"""The search index: tools in groups, ranked by BM25 over weighted fields.

Owns the index and the ranking. Pure: knows no servers, reads no files, and asks no model. The other modules
of `searching` read tools and queries, and find what the words of a query stand for.
"""

from __future__ import annotations

from array import array
from heapq import nlargest
from sys import intern
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.workbench.searching.entry import Entry, read_entry
from mcp_workbench.workbench.searching.query import read_query
from mcp_workbench.workbench.searching.terms import Vocabulary
from mcp_workbench.workbench.searching.words import STOP_WORDS, split_words

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Iterator, Mapping, Sequence

    from mcp_workbench.workbench.searching.semantic_ranking import SemanticRanking

__all__ = ["Entry", "Hit", "SearchIndex", "read_entry"]

SATURATION: Final = 1.2
"""How soon repetitions of a word count less: BM25's k1."""
BEST_SENTENCE_WEIGHT: Final = 2.0
"""A query of several sentences asks for several things: how much more a tool's best sentence counts."""
MIN_SHARE: Final = 0.3
"""The share of the best score that a tool must have to be found, for any query."""
MAX_SHARE: Final = 0.55
"""The share of the best score that is enough for any query. A tool that has a word in its description has as
much, where the best has that word in its name."""
TOOLS_PER_SENTENCE: Final = 30
"""Tools that are considered for each sentence, or as many as are asked for."""
MAX_WORDS_PER_TEXT: Final = 2000
"""Words that are read of one text: more say nothing new about a tool."""
SPARE_NUMBERS: Final = 1000
"""Numbers of tools that may be unused before all are numbered anew, besides as many as are in use."""

_Field = tuple[float, float, float]
"""The weight of a field, how much its length counts (BM25's b), and its usual length in words. The usual
length is fixed: with the average of the index, a change of one group would change the weights in all."""
_NAME: Final[_Field] = (3.75, 0.5, 3.0)
_SERVER: Final[_Field] = (1.5, 0.3, 2.0)
_TITLE: Final[_Field] = (1.0, 0.5, 3.0)
_FIRST_SENTENCE: Final[_Field] = (1.0, 0.5, 12.0)
_MORE_SENTENCES: Final[_Field] = (0.6, 0.5, 30.0)
_PARAMETER_NAMES: Final[_Field] = (0.7, 0.5, 5.0)
_PARAMETER_TEXTS: Final[_Field] = (0.5, 0.5, 30.0)


class Hit(msgspec.Struct, frozen=True):
    """A tool that was found: its position among the entries of its group."""

    group: Hashable
    position: int
    score: float


class _Group:
    """The tools of a group in the index, and what has to be removed with it."""

    __slots__ = ("count", "first", "key", "place", "words")

    def __init__(self, key: Hashable, place: int, first: int, count: int) -> None:
        self.key = key
        self.place = place
        """Position in the order of the groups, which decides between equal scores."""
        self.first = first
        """The number of its first tool; the others follow."""
        self.count = count
        self.words: tuple[str, ...] = ()


class SearchIndex:
    """Tools by group, searched together or in some of the groups only."""

    def __init__(self, semantic_ranking: SemanticRanking | None = None) -> None:
        self._semantic_ranking = semantic_ranking
        self._groups: dict[Hashable, _Group] = {}
        self._groups_seen = 0
        self._owners: list[_Group | None] = []
        """The group of each tool, by the tool's number; None for a number that is unused."""
        self._tool_names: list[str] = []
        self._by_name: dict[str, list[int]] = {}
        """The numbers of tools by the bare letters of their names."""
        self._vocabulary = Vocabulary()

    def put(self, group: Hashable, entries: Sequence[Entry]) -> None:
        """Add a group, or replace it. A replaced group keeps its position among the groups."""
        if (old := self._groups.get(group)) is not None:
            self._remove(old)
            place = old.place
        else:
            place = self._groups_seen
            self._groups_seen += 1
        added = _Group(group, place, len(self._owners), len(entries))
        words: dict[str, None] = {}
        for number, entry in enumerate(entries, added.first):
            self._owners.append(added)
            self._tool_names.append(entry.name)
            self._by_name.setdefault(_bare(entry.name), []).append(number)
            for term, weight in self._weights(entry, words).items():
                self._vocabulary.post(term, number, weight / (weight + SATURATION))
        added.words = tuple(words)
        self._vocabulary.count(added.words, len(entries))
        self._groups[group] = added
        if self._semantic_ranking is not None:
            self._semantic_ranking.put(added.first, entries)

    def drop(self, group: Hashable) -> None:
        """Remove a group, if it is in the index."""
        if (old := self._groups.pop(group, None)) is not None:
            self._remove(old)

    def is_ready(self, query: str) -> bool:
        """Whether a search for a query can begin without `prepare`."""
        if self._vocabulary.is_spelling_ready:
            return True
        words = {word for sentence in read_query(query) for word in sentence}
        if self._semantic_ranking is not None:
            words.update(self._semantic_ranking.words(query))
        return not any(map(self._vocabulary.is_unknown, words))

    def prepare(self) -> Iterator[None]:
        """Learn how words are spelled, in short steps. Takes a while with thousands of tools."""
        return self._vocabulary.prepare_spelling()

    def search(self, query: str, limit: int, groups: Container[Hashable] | None = None) -> list[Hit]:
        """Return the best tools first, at most `limit`, of the given groups; of all groups by default.

        Tools are left out whose scores fall far behind the best.
        """
        if limit < 1:
            return []
        if not self.is_ready(query):
            for _ in self.prepare():
                pass
        scores = self._scores(query, limit, self._allowed(groups))
        if not scores:
            return []
        least = nlargest(limit, scores.values())[-1]
        found = [
            (-score, owner.place, number - owner.first, owner.key)
            for number, score in scores.items()
            if score >= least and (owner := self._owners[number]) is not None
        ]
        found.sort(key=lambda hit: hit[:3])
        return [Hit(key, position, -score) for score, _, position, key in found[:limit]]

    def _weights(self, entry: Entry, words: dict[str, None]) -> dict[str, float]:
        """Return the weight of each stem in a tool; adds the tool's words to `words`."""
        weights: dict[str, float] = {}
        stem_of = self._vocabulary.stem_of
        for (worth, slope, usual), text in _fields(entry):
            found = [word for word in split_words(text)[:MAX_WORDS_PER_TEXT] if word not in STOP_WORDS]
            share = worth / (1 - slope + slope * len(found) / usual)
            for word in found:
                if word not in words:
                    words[intern(word)] = None  # most groups have the same words
                term = stem_of(word)
                weights[term] = weights.get(term, 0.0) + share
        return weights

    def _allowed(self, groups: Container[Hashable] | None) -> Container[_Group | None] | None:
        return None if groups is None else {group for key, group in self._groups.items() if key in groups}

    def _scores(self, query: str, limit: int, allowed: Container[_Group | None] | None) -> dict[int, float]:
        asked = [terms for words in read_query(query) if (terms := self._vocabulary.terms(words))]
        found = [(self._within(self._sum(terms), allowed), sum(terms.values())) for terms in asked]
        sentences = [scores for scores, _ in found if scores]
        scores = sentences[0] if len(sentences) == 1 else _combined(sentences, max(limit, TOOLS_PER_SENTENCE))
        most = _total([full for scores, full in found if scores])
        coverage = max(scores.values(), default=0.0) / most if most else 0.0
        if self._semantic_ranking is not None:
            among = [group for group in self._groups.values() if allowed is None or group in allowed]
            tools = [range(group.first, group.first + group.count) for group in among]
            scores = self._semantic_ranking.mix(query, scores, tools, self._vocabulary.corrected)
        scores = _without_tail(scores, coverage)
        called = self._by_name.get(_bare(query.strip()), ())
        more = max(scores.values(), default=0.0) + 1.0
        for number in self._within(dict.fromkeys(called, 0.0), allowed):
            is_exact = self._tool_names[number] == query.strip()
            scores[number] = scores.get(number, 0.0) + (2 * more if is_exact else more)
        return scores

    def _within(self, scores: dict[int, float], allowed: Container[_Group | None] | None) -> dict[int, float]:
        if allowed is None:
            return scores
        owners = self._owners
        return {number: score for number, score in scores.items() if owners[number] in allowed}

    def _sum(self, terms: Mapping[str, float]) -> dict[int, float]:
        # The longest first: filling an empty dictionary needs no lookups.
        postings = sorted(
            ((*self._vocabulary.posting(term), weight) for term, weight in terms.items()),
            key=lambda posting: -len(posting[0]),
        )
        scores: dict[int, float] = {}
        get = scores.get
        for numbers, weights, factor in postings:
            if scores:
                for number, weight in zip(numbers, weights, strict=True):
                    scores[number] = get(number, 0.0) + factor * weight
            else:
                scores.update(zip(numbers, [factor * weight for weight in weights], strict=True))
        return scores

    def _remove(self, group: _Group) -> None:
        first, end = group.first, group.first + group.count
        self._vocabulary.remove(group.words, first, end)
        for number in range(first, end):
            bare = _bare(self._tool_names[number])
            self._by_name[bare].remove(number)
            if not self._by_name[bare]:
                del self._by_name[bare]
            self._tool_names[number] = ""
            self._owners[number] = None
        if self._semantic_ranking is not None:
            self._semantic_ranking.drop(first, end)
        in_use = self._vocabulary.tools
        if len(self._owners) > 2 * in_use + SPARE_NUMBERS:
            self._renumber()

    def _renumber(self) -> None:
        """Close the gaps that removed groups have left, keeping the order."""
        kept = [number for number, owner in enumerate(self._owners) if owner is not None]
        new = array("I", bytes(array("I").itemsize * len(self._owners)))
        for place, number in enumerate(kept):
            new[number] = place
        for group in self._groups.values():
            group.first = new[group.first] if group.count else 0
        self._owners = [self._owners[number] for number in kept]
        self._tool_names = [self._tool_names[number] for number in kept]
        self._by_name = {name: [new[number] for number in called] for name, called in self._by_name.items()}
        self._vocabulary.renumber(new)
        if self._semantic_ranking is not None:
            self._semantic_ranking.renumber(kept)


def _combined(sentences: Sequence[Mapping[int, float]], most: int) -> dict[int, float]:
    """Combine the scores of sentences, for the best tools of each: their sum, and the best once more."""
    found: dict[int, None] = {}
    for scores in sentences:
        least = nlargest(most, scores.values())[-1]
        found.update(dict.fromkeys([number for number, score in scores.items() if score >= least]))
    combined: dict[int, float] = {}
    for number in found:
        combined[number] = _total([scores.get(number, 0.0) for scores in sentences])
    return combined


def _total(scored: Sequence[float]) -> float:
    """Return the score for a query, of the scores for each of its sentences."""
    return scored[0] if len(scored) == 1 else sum(scored) + BEST_SENTENCE_WEIGHT * max(scored, default=0.0)


def _without_tail(scores: dict[int, float], coverage: float) -> dict[int, float]:
    """Leave out the tools that fall far behind the best, which has this share of what the query asks for.

    If it has most of that, tools with half its score are about something else. If it has little, the query is
    vague or asks for several things, and others may be meant as well.
    """
    least = max(scores.values(), default=0.0) * min(max(coverage, MIN_SHARE), MAX_SHARE)
    return {number: score for number, score in scores.items() if score >= least}


def _fields(entry: Entry) -> Iterator[tuple[_Field, str]]:
    first, _, more = entry.description.partition(". ")
    fields = (
        (_NAME, entry.name),
        (_SERVER, entry.server),
        (_TITLE, entry.title),
        (_FIRST_SENTENCE, first),
        (_MORE_SENTENCES, more),
        (_PARAMETER_NAMES, " ".join([name for name, _ in entry.parameters])),
        (_PARAMETER_TEXTS, " ".join([text for _, text in entry.parameters])),
    )
    return (field for field in fields if field[1])


def _bare(name: str) -> str:
    """Return a name without case and punctuation, unless it is nothing but punctuation."""
    folded = name.casefold()
    return "".join(filter(str.isalnum, folded)) or folded
