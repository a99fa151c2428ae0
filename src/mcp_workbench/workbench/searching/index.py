"""Finding tools by what somebody wants to do: tools in groups, ranked by BM25 over weighted fields.

Owns the index and the ranking. It is pure: it knows neither servers nor catalogues, reads no files, and asks
no model. What a tool says, what a query asks for, and what the words of a query stand for in this index is in
`searching`.
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
"""How soon more of the same word counts for less: BM25's k1."""
BEST_SENTENCE: Final = 2.0
"""A query of several sentences asks for several things: how much more a tool's best sentence counts."""
SENTENCE_BEST: Final = 30
"""Tools that are considered for each sentence, or as many as are wanted."""
WORDS_READ: Final = 2000
"""Of one text: more says nothing more about a tool."""
SPARE_NUMBERS: Final = 1000
"""Numbers of tools that may lie idle before all are numbered anew, besides as many as are in use."""

_Field = tuple[float, float, float]
"""Its weight, how far its length counts (BM25's b), and its usual length in words. The usual length is fixed:
with the average of the index, every change of one group would change the weights in all."""
_NAME: Final[_Field] = (3.75, 0.5, 3.0)
_SERVER: Final[_Field] = (1.5, 0.3, 2.0)
_TITLE: Final[_Field] = (1.0, 0.5, 3.0)
_FIRST_SENTENCE: Final[_Field] = (1.0, 0.5, 12.0)
_MORE_SENTENCES: Final[_Field] = (0.6, 0.5, 30.0)
_PARAMETER_NAMES: Final[_Field] = (0.7, 0.5, 5.0)
_PARAMETER_TEXTS: Final[_Field] = (0.5, 0.5, 30.0)


class Hit(msgspec.Struct, frozen=True):
    """A tool that was found: its place among the entries that were given for its group."""

    group: Hashable
    position: int
    score: float


class _Group:
    """Where the tools of a group stand in the index, and what has to be undone when it goes."""

    __slots__ = ("count", "first", "key", "place", "words")

    def __init__(self, key: Hashable, place: int, first: int, count: int) -> None:
        self.key = key
        self.place = place
        """In the order of the groups, which decides between equals."""
        self.first = first
        """The number of its first tool; the others follow."""
        self.count = count
        self.words: tuple[str, ...] = ()


class SearchIndex:
    """Tools by group, to be searched together or in some of the groups only."""

    def __init__(self, meaning: SemanticRanking | None = None) -> None:
        self._meaning = meaning
        self._groups: dict[Hashable, _Group] = {}
        self._groups_seen = 0
        self._owners: list[_Group | None] = []
        """By number of a tool; None for a number that lies idle."""
        self._tool_names: list[str] = []
        self._called: dict[str, list[int]] = {}
        """By a name's bare letters, the tools that are called so."""
        self._vocabulary = Vocabulary()

    def put(self, group: Hashable, entries: Sequence[Entry]) -> None:
        """Takes in a group, in place of what it had; it keeps its place among the groups then."""
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
            self._called.setdefault(_bare(entry.name), []).append(number)
            for term, weight in self._weights(entry, words).items():
                self._vocabulary.post(term, number, weight / (weight + SATURATION))
        added.words = tuple(words)
        self._vocabulary.count(added.words, len(entries))
        self._groups[group] = added
        if self._meaning is not None:
            self._meaning.put(added.first, entries)

    def drop(self, group: Hashable) -> None:
        """Forgets a group, if there is such a group."""
        if (old := self._groups.pop(group, None)) is not None:
            self._remove(old)

    def search(self, query: str, limit: int, groups: Container[Hashable] | None = None) -> list[Hit]:
        """The best tools first, at most `limit` of them, only from the groups given; any if none are."""
        if limit < 1:
            return []
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
        """What each stem weighs in a tool; adds to the words that its group has."""
        weights: dict[str, float] = {}
        stem_of = self._vocabulary.stem_of
        for (worth, slope, usual), text in _fields(entry):
            found = [word for word in split_words(text)[:WORDS_READ] if word not in STOP_WORDS]
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
        found = (
            self._within(self._sum(terms), allowed)
            for words in read_query(query)
            if (terms := self._vocabulary.terms(words))
        )
        sentences = [scores for scores in found if scores]
        scores = sentences[0] if len(sentences) == 1 else _combined(sentences, max(limit, SENTENCE_BEST))
        if self._meaning is not None:
            among = [group for group in self._groups.values() if allowed is None or group in allowed]
            tools = [range(group.first, group.first + group.count) for group in among]
            scores = self._meaning.mix(query, scores, tools, self._vocabulary.put_right)
        called = self._called.get(_bare(query.strip()), ())
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
        # The longest first: what comes into an empty dictionary need not be looked up there.
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
            self._called[bare].remove(number)
            if not self._called[bare]:
                del self._called[bare]
            self._tool_names[number] = ""
            self._owners[number] = None
        if self._meaning is not None:
            self._meaning.drop(first, end)
        in_use = self._vocabulary.tools
        if len(self._owners) > 2 * in_use + SPARE_NUMBERS:
            self._renumber()

    def _renumber(self) -> None:
        """Closes the gaps that groups have left, in the order that there is."""
        kept = [number for number, owner in enumerate(self._owners) if owner is not None]
        new = array("I", bytes(array("I").itemsize * len(self._owners)))
        for place, number in enumerate(kept):
            new[number] = place
        for group in self._groups.values():
            group.first = new[group.first] if group.count else 0
        self._owners = [self._owners[number] for number in kept]
        self._tool_names = [self._tool_names[number] for number in kept]
        self._called = {name: [new[number] for number in called] for name, called in self._called.items()}
        self._vocabulary.renumber(new)
        if self._meaning is not None:
            self._meaning.renumber(kept)


def _combined(sentences: Sequence[Mapping[int, float]], most: int) -> dict[int, float]:
    """Of the best tools for each sentence: what they score in all, and in their best sentence once more."""
    found: dict[int, None] = {}
    for scores in sentences:
        least = nlargest(most, scores.values())[-1]
        found.update(dict.fromkeys([number for number, score in scores.items() if score >= least]))
    combined: dict[int, float] = {}
    for number in found:
        scored = [scores.get(number, 0.0) for scores in sentences]
        combined[number] = sum(scored) + BEST_SENTENCE * max(scored)
    return combined


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
    """A name without case and punctuation, unless it is nothing but punctuation."""
    folded = name.casefold()
    return "".join(filter(str.isalnum, folded)) or folded
