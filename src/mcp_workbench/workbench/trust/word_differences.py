"""Compares two texts word by word, for a person to read. White space between words does not count.

Owns what a change is, which words belong together in it, and how much unchanged text is left out. Hidden
characters are parts of words here: whoever shows a text writes them out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CONTEXT_WORDS: Final = 8
"""Unchanged words that are shown on each side of a change."""
MAX_BRIDGED_WORDS: Final = 2
"""Unchanged words between two changes that count as changed: single words between others are hard to read."""
MAX_COMPARED_WORDS: Final = 1500
"""Words that are aligned one by one. Of longer texts, all between the first and last change has changed."""
OMITTED: Final = "…"

_TOKEN: Final = re.compile(r"(\s*)(\S+)")

Sign = Literal[" ", "-", "+"]
_Token = tuple[str, str]
"""A word, and the line feed or space before it."""


class Run(msgspec.Struct, frozen=True):
    """Words that follow each other and are unchanged (" "), removed ("-") or added ("+")."""

    sign: Sign
    text: str
    """The words with spaces and line feeds between them; an ellipsis stands for unchanged words."""


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One difference between two versions: what it concerns, and its value before and after."""

    sign: Literal["+", "-", "~"]
    what: str
    """What was added, removed or changed, such as `description` or `parameter "note"`."""
    before: str = ""
    after: str = ""
    runs: tuple[Run, ...] = ()
    """The words that were removed from and added to a text; empty for what is no text."""

    @property
    def line(self) -> str:
        """The change in one line; of a text, only which text it is."""
        if self.runs:
            return f"{self.sign} {self.what}"
        values = {"+": self.after, "-": self.before, "~": f"{self.before} → {self.after}"}[self.sign]
        return f"{self.sign} {self.what}: {values}"


def text_changes(what: str, before: str, after: str) -> list[Change]:
    """Return the difference between two texts: one change, or none if their words are the same."""
    runs = tuple(word_runs(before, after))
    if not runs:
        return []
    return [Change("~" if before and after else "+" if after else "-", what, before, after, runs)]


def word_runs(before: str, after: str) -> list[Run]:
    """Return what is removed from and added to a text, in its order, with the words around it.

    Return nothing if the texts have the same words.
    """
    old, new = _tokens(before), _tokens(after)
    if [word for word, _ in old] == [word for word, _ in new]:
        return []
    runs: list[tuple[Sign, list[_Token]]] = []
    for removed, added, same in _bridged(list(_blocks(old, new))):
        runs += (("-", removed), ("+", added), (" ", same))
    runs = [run for run in runs if run[1]]
    last = len(runs) - 1
    return [
        Run(
            sign,
            _shortened(words, is_first=index == 0, is_last=index == last) if sign == " " else _text(words),
        )
        for index, (sign, words) in enumerate(runs)
    ]


_Block = tuple[list[_Token], list[_Token], list[_Token]]
"""Words that are removed, words that are added in their place, and the unchanged ones that follow."""


def _tokens(text: str) -> list[_Token]:
    return [(word, "\n" if "\n" in gap else " ") for gap, word in _TOKEN.findall(text)]


def _blocks(old: Sequence[_Token], new: Sequence[_Token]) -> Iterator[_Block]:
    old_words, new_words = [word for word, _ in old], [word for word, _ in new]
    at_old = at_new = 0
    for start_old, start_new, size in _matches(old_words, new_words):
        yield (
            list(old[at_old:start_old]),
            list(new[at_new:start_new]),
            list(new[start_new : start_new + size]),
        )
        at_old, at_new = start_old + size, start_new + size


def _matches(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return where unchanged words begin in both texts, and how many they are; at the end, both ends."""
    head = next(
        (index for index, (one, other) in enumerate(zip(old, new, strict=False)) if one != other),
        min(len(old), len(new)),
    )
    most = min(len(old), len(new)) - head
    tail = next((index for index in range(most) if old[-1 - index] != new[-1 - index]), most)
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    inner: list[tuple[int, int, int]] = []
    if max(len(middle_old), len(middle_new)) <= MAX_COMPARED_WORDS:
        from difflib import SequenceMatcher  # noqa: PLC0415 - only where texts are compared

        found = SequenceMatcher(None, middle_old, middle_new, autojunk=False).get_matching_blocks()
        inner = [(head + a, head + b, size) for a, b, size in found if size]
    return [
        (0, 0, head),
        *inner,
        (len(old) - tail, len(new) - tail, tail),
    ]


def _bridged(blocks: Sequence[_Block]) -> Iterator[_Block]:
    """Yield the blocks, with few unchanged words between two changes counted as changed."""
    removed: list[_Token] = []
    added: list[_Token] = []
    for index, (less, more, same) in enumerate(blocks):
        removed, added = removed + less, added + more
        is_between = bool(removed or added) and any(less or more for less, more, _ in blocks[index + 1 :])
        if is_between and len(same) <= MAX_BRIDGED_WORDS:
            removed, added = removed + same, added + same
        else:
            yield removed, added, same
            removed, added = [], []


def _shortened(words: Sequence[_Token], *, is_first: bool, is_last: bool) -> str:
    """Return unchanged words as text, without those that are far from a change."""
    before = 0 if is_first else CONTEXT_WORDS
    after = 0 if is_last else CONTEXT_WORDS
    if len(words) <= before + after + 1:
        return _text(words)
    parts = [_text(words[:before]), OMITTED, _text(words[len(words) - after :])]
    return " ".join(part for part in parts if part)


def _text(words: Sequence[_Token]) -> str:
    return "".join(f"{gap if index else ''}{word}" for index, (word, gap) in enumerate(words))
