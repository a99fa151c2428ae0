"""Finding tools by what somebody wants to do: tools in groups, ranked by BM25 over weighted fields.

Owns the index and the ranking. It is pure: it knows neither servers nor catalogues, reads no files, and asks
no model. The words are `search_words`'s, the repair of mistyped ones `search_repair`'s.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from heapq import nlargest
from math import log
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.workbench.search_entry import Entry, read_entry
from mcp_workbench.workbench.search_query import read_query
from mcp_workbench.workbench.search_repair import Spelling
from mcp_workbench.workbench.search_stems import stem
from mcp_workbench.workbench.search_synonyms import synonyms
from mcp_workbench.workbench.search_words import STOP_WORDS, is_repairable, split_words

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Iterable, Sequence

    from mcp_workbench.workbench.search_meaning import Meaning

__all__ = ["Entry", "Hit", "SearchIndex", "read_entry"]

SATURATION: Final = 1.2
"""How soon more of the same word counts for less: BM25's k1."""
NAME = (3.75, 0.5, 3.0)
"""Of each field: its weight, how far its length counts (BM25's b), and the length that counts as usual."""
SERVER = (1.5, 0.3, 2.0)
TITLE = (1.0, 0.5, 3.0)
FIRST = (1.0, 0.5, 12.0)
REST = (0.6, 0.5, 30.0)
PARAMETER = (0.7, 0.5, 5.0)
PARAMETER_TEXT = (0.5, 0.5, 30.0)
ABOUT = (0.0, 0.5, 20.0)
SYNONYM = 0.1
IDF_POWER = 1.0
PRIOR = 0.25
STOP_DF = 1000
REPAIR1 = 0.8
REPAIR2 = 0.5
REPAIR_MOST = 5
WORDS_READ: Final = 4000
"""Of one text: more says nothing more about a tool."""
QUERY_CHARACTERS: Final = 4000
QUERY_WORDS: Final = 200
SPARE_NUMBERS: Final = 1000


class Hit(msgspec.Struct, frozen=True):
    """A tool that was found: its place among the entries that were given for its group."""

    group: Hashable
    position: int
    score: float


class _Group:
    """Where a group's tools stand in the index, and what has to be undone when it goes."""

    __slots__ = ("count", "first", "key", "place", "words")

    def __init__(self, key: Hashable, place: int) -> None:
        self.key = key
        self.place = place
        """Its place in the order of groups, for ties."""
        self.first = self.count = 0
        self.words: tuple[str, ...] = ()


class SearchIndex:
    """Tools by group, to be searched together or in some of the groups only."""

    def __init__(self, meaning: Meaning | None = None) -> None:
        self._meaning = meaning
        self._groups: dict[Hashable, _Group] = {}
        self._next_place = 0
        self._owners: list[_Group | None] = []
        """By number of a tool."""
        self._live = 0
        self._postings: dict[str, tuple[array[int], array[float]]] = {}
        """By stem, the numbers of the tools that have it, ascending, and what it weighs in each."""
        self._tool_names: list[str] = []
        self._names: dict[str, list[int]] = {}
        """By the letters of a name, the numbers of the tools that are called so."""
        self._stems: dict[str, str] = {}
        """By word as it is written."""
        self._uses: dict[str, int] = {}
        """By word, how many groups have it."""
        self._spelling = Spelling()
        self._fresh: list[str] = [w for w in STOP_WORDS if len(w) > 3]

    def put(self, group: Hashable, entries: Sequence[Entry]) -> None:
        """Takes in a group, in place of what it had."""
        place = self._next_place
        if (old := self._groups.get(group)) is not None:
            place = old.place
            self._remove(old)
        else:
            self._next_place += 1
        added = _Group(group, place)
        self._groups[group] = added
        added.first, added.count = len(self._owners), len(entries)
        words: dict[str, None] = {}
        for number, entry in enumerate(entries, added.first):
            self._owners.append(added)
            self._tool_names.append(entry.name)
            self._names.setdefault(_bare(entry.name), []).append(number)
            for term, weight in self._weights(entry, words).items():
                posting = self._postings.get(term)
                if posting is None:
                    posting = self._postings[term] = (array("I"), array("f"))
                posting[0].append(number)
                posting[1].append(weight / (weight + SATURATION))
        added.words = tuple(words)
        uses = self._uses
        for word in words:
            count = uses.get(word, 0)
            if not count:
                self._fresh.append(word)
            uses[word] = count + 1
        self._live += len(entries)
        if self._meaning is not None:
            self._meaning.put(added.first, entries)

    def drop(self, group: Hashable) -> None:
        """Forgets a group, if there is such a group."""
        if (old := self._groups.pop(group, None)) is not None:
            self._remove(old)

    def _weights(self, entry: Entry, words: dict[str, None]) -> dict[str, float]:
        weights: dict[str, float] = {}
        stems = self._stems
        for (worth, slope, usual), text in _fields(entry):
            if not text or not worth:
                continue
            found = [word for word in split_words(text)[:WORDS_READ] if word not in STOP_WORDS]
            share = worth / (1 - slope + slope * len(found) / usual)
            for word in found:
                words[word] = None
                term = stems.get(word)
                if term is None:
                    term = stems[word] = stem(word)
                weights[term] = weights.get(term, 0.0) + share
        return weights

    def _remove(self, group: _Group) -> None:
        first, end = group.first, group.first + group.count
        for term in {self._stems[word] for word in group.words}:
            numbers, weights = self._postings[term]
            here = slice(bisect_left(numbers, first), bisect_left(numbers, end))
            del numbers[here], weights[here]
            if not numbers:
                del self._postings[term]
        for word in group.words:
            self._uses[word] -= 1
            if not self._uses[word]:
                del self._uses[word], self._stems[word]
        for number in range(first, end):
            bare = _bare(self._tool_names[number])
            self._names[bare].remove(number)
            if not self._names[bare]:
                del self._names[bare]
            self._tool_names[number] = ""
            self._owners[number] = None
        self._live -= group.count
        if self._meaning is not None:
            self._meaning.drop(first, end)
        if len(self._owners) > 2 * self._live + SPARE_NUMBERS:
            self._renumber()

    def _renumber(self) -> None:
        """Closes the gaps that groups left behind; the order stays."""
        kept = [number for number, owner in enumerate(self._owners) if owner is not None]
        if self._meaning is not None:
            self._meaning.renumber(kept)
        numbers = array("I", bytes(4 * len(self._owners)))
        for new, old in enumerate(kept):
            numbers[old] = new
        for group in self._groups.values():
            group.first = numbers[group.first] if group.count else 0
        self._owners = [self._owners[number] for number in kept]
        self._tool_names = [self._tool_names[number] for number in kept]
        for name, called in self._names.items():
            self._names[name] = [numbers[number] for number in called]
        for term, (found, weights) in self._postings.items():
            self._postings[term] = array("I", [numbers[number] for number in found]), weights

    def search(self, query: str, limit: int, groups: Container[Hashable] | None = None) -> list[Hit]:
        """The best tools first, only from the groups given."""
        if limit < 1:
            return []
        query = query[:QUERY_CHARACTERS]
        scores = self._scores(self._query_terms(query))
        if self._meaning is not None:
            among = [owner for key, owner in self._groups.items() if groups is None or key in groups]
            tools = [range(owner.first, owner.first + owner.count) for owner in among]
            scores = self._meaning.mix(query, scores, tools, self._meant)
        self._prefer_names(query.strip(), scores)
        if groups is not None:
            scores = self._within(scores, groups)
        if not scores:
            return []
        least = nlargest(limit, scores.values())[-1]
        found = [(score, number) for number, score in scores.items() if score >= least]
        hits = [
            (-score, owner.place, number - owner.first, owner.key)
            for score, number in found
            if (owner := self._owners[number]) is not None
        ]
        hits.sort(key=lambda hit: hit[:3])
        return [Hit(key, position, -score) for score, _, position, key in hits[:limit]]

    def _scores(self, terms: dict[str, float]) -> dict[int, float]:
        scores: dict[int, float] = {}
        get = scores.get
        for term, weight in terms.items():
            posting = self._postings.get(term)
            if posting is None:
                continue
            for number, worth in zip(*posting, strict=True):
                scores[number] = get(number, 0.0) + weight * worth
        return scores

    def _prefer_names(self, query: str, scores: dict[int, float]) -> None:
        """Somebody who gives the name of a tool wants that tool: exactly so before by its letters alone."""
        named = self._names.get(_bare(query))
        if not named:
            return
        top = max(scores.values(), default=0.0) + 1.0
        for number in named:
            exact = self._tool_names[number] == query
            scores[number] = scores.get(number, 0.0) + (2 * top if exact else top)

    def _within(self, scores: dict[int, float], groups: Container[Hashable]) -> dict[int, float]:
        allowed = {group for key, group in self._groups.items() if key in groups}
        owners = self._owners
        return {number: score for number, score in scores.items() if owners[number] in allowed}

    def _idf(self, term: str) -> float:
        posting = self._postings.get(term)
        if posting is None:
            return 0.0
        df = len(posting[0])
        return log(1 + (self._live - df + 0.5) / (df + 0.5))

    def _is_known(self, word: str) -> bool:
        return word in self._uses or word in STOP_WORDS

    def _near(self, word: str) -> list[tuple[str, int]]:
        if self._fresh:
            self._spelling.add(w for w in self._fresh if is_repairable(w))
            self._fresh = []
        return self._spelling.near(word, self._is_known)

    def _meant(self, written: str) -> str:
        """A word that may be mistyped, as it was most likely meant."""
        word = written.casefold()
        if self._is_known(word) or stem(word) in self._postings or not is_repairable(word):
            return written
        return max(
            ((-slips, self._uses.get(near, STOP_DF), near) for near, slips in self._near(word)),
            default=(0, 0, written),
        )[2]

    def _repair(self, word: str) -> dict[str, float]:
        near = self._near(word)
        if not near:
            return {}
        got: dict[str, float] = {}
        for other, _ in near:
            if other in STOP_WORDS:
                df = STOP_DF
                term = ""
            else:
                term = self._stems[other]
                df = len(self._postings[term][0])
            w = df**PRIOR
            got[term] = max(got.get(term, 0), w)
        top = max(got.values())
        base = REPAIR1 if near[0][1] == 1 else REPAIR2
        best = sorted(got.items(), key=lambda x: (-x[1], x[0]))[:REPAIR_MOST]
        return {t: base * w / top for t, w in best if t}

    def _query_terms(self, query: str) -> dict[str, float]:
        terms: dict[str, float] = {}
        for word, worth in read_query(query).items():
            term = self._stems.get(word) or stem(word)
            if term in self._postings:
                terms[term] = terms.get(term, 0.0) + worth
            elif is_repairable(word):
                for term, w in self._repair(word).items():
                    terms[term] = terms.get(term, 0.0) + w * worth
        out = {}
        for term, n in terms.items():
            out[term] = self._idf(term) ** IDF_POWER * n
        for term, n in terms.items():
            for other in synonyms(term):
                w = SYNONYM * self._idf(other) * n
                if w > out.get(other, 0.0):
                    out[other] = w
        return out


def _fields(entry: Entry) -> Iterable[tuple[tuple[float, float, float], str]]:
    first, _, rest = entry.description.partition(". ")
    return (
        (NAME, entry.name),
        (SERVER, entry.server),
        (TITLE, entry.title),
        (FIRST, first),
        (REST, rest),
        (PARAMETER, " ".join([name for name, _ in entry.parameters])),
        (PARAMETER_TEXT, " ".join([text for _, text in entry.parameters])),
        (ABOUT, entry.about),
    )


def _bare(name: str) -> str:
    """A name without its case and punctuation, if there are any letters then."""
    folded = name.casefold()
    return "".join(filter(str.isalnum, folded)) or folded
