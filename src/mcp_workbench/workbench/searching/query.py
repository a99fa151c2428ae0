"""Reads a query as words with weights.

Owns which words of a query describe the tool, and which are only values to call it with: quoted text,
addresses, paths and numbers. Knows no index.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from mcp_workbench.workbench.searching.stems import stem
from mcp_workbench.workbench.searching.words import STOP_WORDS, split_words

__all__ = ["is_small_talk", "read_query"]

MAX_QUERY_CHARACTERS: Final = 4000
"""How much of a query is read."""
MAX_WORDS: Final = 100
"""Words of one sentence that are read."""
MAX_SENTENCES: Final = 10
"""Sentences of a query; the rest of it belongs to the last one."""
VALUE_WEIGHT: Final = 0.3
"""What a word of a value counts, such as a quoted text or a path."""
NUMBER_WEIGHT: Final = 0.1
"""What a number in a query counts."""
REPEATED_WEIGHT: Final = 0.5
"""What a word counts when it is repeated."""
SMALL_TALK_WEIGHT: Final = 0.6
"""What small talk counts in a long query. In a short query every word is meant."""
LONG_QUERY_WORDS: Final = 5
"""A query with as many words is long."""
# Common English words of any request. In a small index they are rare, and would seem to matter.
_SMALL_TALK: Final = """
able accurate active actual actually advance allow allowing appreciate appropriate area aspect assist
assistance attend available based basic become believe better boost bring budget business busy care
certain choose company comprehensive concept consider consist contain convenient cool curious currently
daily day days decide detailed different difficult easily easy effective effectively efficient engage
enhance enjoy ensure essential exact exactly exciting existing expand experience explore face family feel
feeling few focus follow following friend friends full fun general good great greatly happen hard hear
heard high highly hope idea ideas important improve include included includes including increase
individual interest interested interesting involve keep kinds lately learn level long look looking looks
love main make making manner mean mention month months mood nature necessary next nice numerous organize
part particular party person personal point popular potential potentially prefer prepare previous
professional provide purpose put quick quickly ready real reason receive recent recently relate related
relevant require required requirement respective right seem several significant similar simple simply
special specific specifically specified start stay stuck subject suit suitable surprise take taking talk
think today tomorrow trouble try trying turn two understand unique upcoming useful usual valuable variety
various vary wait week weekend weeks witness wonder wondering work working world year years
"""


@cache
def _small_talk() -> frozenset[str]:
    return frozenset(map(stem, _SMALL_TALK.split()))


def is_small_talk(word: str) -> bool:
    """Whether a word, or a form of it, is common in requests of any kind."""
    return stem(word) in _small_talk()


@cache
def _values() -> re.Pattern[str]:
    quoted = (rf"{start}[^{end}\n]{{1,200}}{end}" for start, end in ('""', "“”", "«»", "``"))
    apostrophes = r"(?<!\w)'[^'\n]{1,200}'(?!\w)"
    address, mail, path = r"\b[a-z]{2,20}://\S+", r"\S{1,64}@\S+", r"(?<!\S)[~.]{0,2}(?:/[\w.-]+){2,}"
    return re.compile("|".join((*quoted, apostrophes, address, mail, path)))


@cache
def _sentence_end() -> re.Pattern[str]:
    return re.compile(r"[.?!;]+\s+|\n+|[\u3002\uff01\uff1b\uff1f]")


def read_query(query: str) -> list[dict[str, float]]:
    """Return the words that count of each sentence, each with how much it says about the tool."""
    # Values go first: the end of an address or a quotation is not the end of a sentence.
    sentences: list[dict[str, float]] = [{}]
    at = 0
    for value in _values().finditer(query := query[:MAX_QUERY_CHARACTERS]):
        _read(query[at : value.start()], sentences)
        _count(value[0], VALUE_WEIGHT, sentences[-1])
        at = value.end()
    _read(query[at:], sentences)
    is_long = sum(map(len, sentences)) >= LONG_QUERY_WORDS
    return [_weighed(words) if is_long else words for words in sentences]


def _read(text: str, sentences: list[dict[str, float]]) -> None:
    first, *more = _sentence_end().split(text)
    _count(first, 1.0, sentences[-1])
    for sentence in more:
        if len(sentences) < MAX_SENTENCES and sentences[-1]:
            sentences.append({})
        _count(sentence, 1.0, sentences[-1])


def _weighed(words: dict[str, float]) -> dict[str, float]:
    return {
        word: weight * SMALL_TALK_WEIGHT if is_small_talk(word) else weight for word, weight in words.items()
    }


def _count(text: str, weight: float, words: dict[str, float]) -> None:
    for word in split_words(text):
        if word in STOP_WORDS or (len(word) == 1 and word.isascii() and word.isalpha()):
            continue
        if len(words) >= MAX_WORDS:
            return
        worth = weight * NUMBER_WEIGHT if word.isdigit() else weight
        had = words.get(word)
        words[word] = worth if had is None else max(had, worth) + REPEATED_WEIGHT * min(had, worth)
