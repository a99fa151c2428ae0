"""Applies the rules of the scanner to one text: which passages have the signals that a rule needs.

Words are compared before patterns are tried, and patterns are tried only on sentences that matter, because a
server may have hundreds of tools and nearly all of them are harmless.
"""

from __future__ import annotations

from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_workbench.workbench.trust.scanning.rules import RULES, ScanRule
from mcp_workbench.workbench.trust.scanning.signals import (
    ALL_SIGNALS,
    bits_of,
    found_signals,
    possible_signals,
)
from mcp_workbench.workbench.trust.scanning.words import (
    MARKS,
    NamesOfTool,
    is_split_into_words,
    may_have_names,
    sentences,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

MIN_CHARACTERS: Final = 8
"""Shorter texts cannot say anything that a rule is about."""
MAX_PASSAGES: Final = 100
"""Passages of one text that meet one rule and are told one by one. The rest of the text is one more."""


class _Prepared(NamedTuple):
    """A rule with its signals as bits."""

    rule: ScanRule
    needs: int
    points: tuple[tuple[int, int], ...]
    """Pairs of a signal and its points."""
    counted: int
    """All signals that count points."""
    unless: int

    def may_be_met(self, signals: int) -> bool:
        """Whether a text meets the rule if it has these signals."""
        if signals & self.needs != self.needs:
            return False
        missing = self.rule.enough
        if missing <= 0:
            return True
        for bit, count in self.points:
            if signals & bit:
                missing -= count
                if missing <= 0:
                    return True
        return False


def may_be_judged(text: str) -> bool:
    """Whether any rule may be met by a readable text, by its words alone."""
    return bool(_possible_rules(text))


def judge(text: str, names: NamesOfTool | None, *, every: bool = False) -> Iterator[tuple[ScanRule, str]]:
    """Yield the rules that a readable text meets, each with the first passage that does, or with every one.

    Of every passage, only the sentences are returned that are needed to meet the rule.
    """
    if len(text) < MIN_CHARACTERS:
        return
    rules = _possible_rules(text)
    if not rules:
        return
    parts = sentences(text, names)
    has_words = is_split_into_words(text)
    passages = [
        _Sentence(part, possible_signals(words_of(part)) if has_words else ALL_SIGNALS) for part in parts
    ]
    windows: dict[int, list[int]] = {}
    """The signals that each passage may have, by the number of its sentences."""
    for rule in rules:
        reach = rule.rule.reach
        if reach not in windows:
            windows[reach] = _windows([passage.possible for passage in passages], reach)
        met = (
            start
            for start, possible in enumerate(windows[reach])
            if rule.may_be_met(possible) and _meets(passages[start : start + reach], rule)
        )
        for start in islice(met, MAX_PASSAGES if every else 1):
            needed = _needed(passages, rule, start) if every else slice(start, start + reach)
            yield rule.rule, " ".join(parts[needed])
        rest = next(met, None) if every else None
        if rest is not None:
            yield rule.rule, " ".join(parts[rest:])


def _needed(passages: list[_Sentence], rule: _Prepared, start: int) -> slice:
    """Return which sentences of a passage that meets a rule are needed: the others may change."""
    end = min(start + rule.rule.reach, len(passages))
    while end - start > 1 and _meets(passages[start + 1 : end], rule):
        start += 1
    while end - start > 1 and _meets(passages[start : end - 1], rule):
        end -= 1
    return slice(start, end)


def _windows(possible: list[int], reach: int) -> list[int]:
    windows = possible
    for distance in range(1, reach):
        windows = [one | other for one, other in zip_longest(windows, possible[distance:], fillvalue=0)]
    return windows


class _Sentence:
    """A sentence, with the signals that it may have by its words, and those that it has."""

    def __init__(self, text: str, possible: int) -> None:
        self._text = text
        self.possible = possible
        self._looked_for = 0
        self._found = 0

    def found(self, wanted: int) -> int:
        """Return which of the wanted signals the sentence has."""
        unknown = wanted & self.possible & ~self._looked_for
        if unknown:
            self._found |= found_signals(self._text, unknown)
            self._looked_for |= unknown
        return self._found & wanted


def _meets(passage: list[_Sentence], rule: _Prepared) -> bool:
    # What is needed first: most passages end here.
    signals = 0
    for wanted in (rule.needs, rule.needs | rule.counted):
        for sentence in passage:
            signals |= sentence.found(wanted)
        if signals & rule.needs != rule.needs:
            return False
    return rule.may_be_met(signals) and not any(sentence.found(rule.unless) for sentence in passage)


def _possible_rules(text: str) -> list[_Prepared]:
    """Return the rules that a readable text may meet, by its words. Names are not marked in it yet."""
    if is_split_into_words(text):
        words = words_of(text)
        signals = possible_signals([*words, *MARKS] if may_have_names(text) else words)
    else:
        signals = ALL_SIGNALS
    return [rule for rule in _RULES if signals & rule.needs == rule.needs and rule.may_be_met(signals)]


def _prepare(rule: ScanRule) -> _Prepared:
    points = tuple((bits_of([signal]), count) for signal, count in rule.points.items())
    return _Prepared(rule, bits_of(rule.needs), points, bits_of(rule.points), bits_of(rule.unless))


_RULES: Final = tuple(map(_prepare, RULES))
