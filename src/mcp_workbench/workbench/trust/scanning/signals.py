"""The signals of the scanner: what attackers have to say in a sentence to get something done.

A signal is something that a sentence says, such as that the user must not be told. Hardly any signal means
harm alone: `rules` says which of them together do. This module finds signals in sentences; what they are
is data in `user_signals` and `action_signals`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from mcp_workbench.workbench.trust.scanning.action_signals import ACTION_SIGNALS
from mcp_workbench.workbench.trust.scanning.phrases import Signal, any_of
from mcp_workbench.workbench.trust.scanning.user_signals import USER_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Iterable

SIGNALS: Final[dict[str, Signal]] = {**USER_SIGNALS, **ACTION_SIGNALS}
"""Everything that sentences are searched for, by name."""


def bits_of(names: Iterable[str]) -> int:
    """Return a set of signals as bits of a number: sets of them are compared many thousand times."""
    return sum(1 << _POSITIONS[name] for name in set(names))


def possible_signals(words: Iterable[str]) -> int:
    """Return the signals that a sentence or a text with these words may have, as bits."""
    bits = 0
    for word in _TRIGGER_WORDS.intersection(words):
        bits |= _BITS_OF_WORDS[word]
    for signal, groups in _SEVERAL_GROUPS:
        if bits & groups == groups:
            bits |= signal
    return bits


def found_signals(sentence: str, wanted: int) -> int:
    """Return which of the wanted signals a sentence has, as bits."""
    found = 0
    while wanted:
        lowest = wanted & -wanted
        wanted ^= lowest
        if _pattern(lowest.bit_length() - 1).search(sentence) is not None:
            found |= lowest
    return found


@cache
def _pattern(position: int) -> re.Pattern[str]:
    from mcp_workbench.config.validation.look_alikes import as_latin  # noqa: PLC0415 - start-up stays lean

    signal = _ORDERED[position]
    # Changed like the sentences: Cyrillic letters that look like Latin ones are Latin.
    return re.compile(as_latin(signal.pattern or any_of(signal.words)))


_ORDERED: Final = tuple(SIGNALS.values())
_POSITIONS: Final = {name: position for position, name in enumerate(SIGNALS)}
ALL_SIGNALS: Final = (1 << len(SIGNALS)) - 1
"""All signals, as bits of one number."""


def _groups() -> tuple[dict[str, int], tuple[tuple[int, int], ...]]:
    """Return the bits of each word, and for each signal that needs words of several groups their bits.

    The bit of a signal's only group is that of the signal.
    """
    by_word: dict[str, int] = {}
    several = []
    unused = 1 << len(SIGNALS)
    for name, signal in SIGNALS.items():
        groups = signal.words.split("&")
        needed = 0
        for group in groups:
            bit = bits_of([name])
            if len(groups) > 1:
                bit, unused = unused, unused << 1
                needed |= bit
            for word in group.split():
                by_word[word] = by_word.get(word, 0) | bit
        if needed:
            several.append((bits_of([name]), needed))
    return by_word, tuple(several)


_BITS_OF_WORDS, _SEVERAL_GROUPS = _groups()
_TRIGGER_WORDS: Final = frozenset(_BITS_OF_WORDS)
