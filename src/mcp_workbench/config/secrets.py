"""Keeps values that may be secret out of what people read.

Owns the masking of text. Does not decide which values are secret: see `load`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Shorter values ("true", "8080") stand in too many innocent texts to be worth hiding.
SHORTEST_SECRET = 6

PIECE = 1024 * 1024


class Secrets:
    """Replaces each secret value by its label."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._labels = dict(_with_spellings(labels))
        self._pattern: re.Pattern[str] | None = None

    def __or__(self, others: Secrets) -> Secrets:
        both = Secrets({})
        both._labels = self._labels | others._labels
        return both

    def occur_in(self, data: bytes) -> bool:
        """Whether one of them stands in a text, given in UTF-8 and looked at in pieces: it may be long."""
        sought = [value.encode(errors="replace") for value in self._labels]
        overlap = max(map(len, sought), default=0)
        pieces = (data[at : at + PIECE + overlap] for at in range(0, len(data), PIECE))
        return any(value in piece for piece in pieces for value in sought)

    def mask(self, text: str) -> str:
        # Several times as fast as the pattern, and nearly all texts hold none.
        if not any(value in text for value in self._labels):
            return text
        if self._pattern is None:
            longest_first = sorted(self._labels, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))
        return self._pattern.sub(lambda match: self._labels[match[0]], text)


def _with_spellings(labels: Mapping[str, str]) -> dict[str, str]:
    """A value also reaches a log line by line, or as it is spelled in JSON."""
    lines = {line: label for value, label in labels.items() for line in value.splitlines()} | dict(labels)
    secret = {value: label for value, label in lines.items() if len(value) >= SHORTEST_SECRET}
    return {
        spelling: label
        for value, label in secret.items()
        for spelling in (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    }
