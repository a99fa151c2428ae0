"""The vectors of the tools in the index, and the mixing of their similarity with the scores by words.

Owns the arithmetic of the extra `semantic`, and is the only module of the workbench that needs numpy: it is
imported once the extra is in use. `semantic_index` decides what is embedded and when.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SEMANTIC_WEIGHT: Final = 1.25
"""Weight of the similarity, where the words have 1. From .75 to 1.75 the results hardly differ."""
MIN_SIMILARITY: Final = 0.2
"""How similar a tool must be to the query if it shares no word with it."""


class ToolVectors:
    """A vector for each tool, in the row of the tool's number in the index."""

    def __init__(self, dimensions: int) -> None:
        self._rows = np.zeros((0, dimensions), np.float32)

    def put(self, numbers: Sequence[int], rows: Any) -> None:
        """Set the vectors of tools."""
        self._reach(max(numbers) + 1)
        self._rows[list(numbers)] = rows

    def drop(self, first: int, end: int) -> None:
        """Clear the vectors of the tools from `first` up to `end`."""
        self._rows[first:end] = 0

    def renumber(self, kept: Sequence[int]) -> None:
        """Keep the vectors of these tools, and number them from 0 on."""
        self._reach(max(kept, default=-1) + 1)
        self._rows = self._rows[list(kept)]

    def mix(self, query: Any, scores: Mapping[int, float], among: Iterable[range]) -> dict[int, float]:
        """Return scores for the tools that fit: word scores and similarity, each standardised, added.

        `query` has a row for the whole query and one for each part of it.
        """
        numbers = np.concatenate([np.arange(0), *[np.arange(run.start, run.stop) for run in _joined(among)]])
        if not len(numbers):
            return {}
        self._reach(int(numbers.max()) + 1)
        # Not with BLAS: its threads spin between calls, which costs more than the work itself.
        whole, *parts = np.einsum("tx,qx->qt", self._rows, query)
        similarity = ((whole + np.max(parts, axis=0)) / 2 if parts else whole)[numbers]
        word_scores = np.zeros(len(self._rows), np.float32)
        word_scores[np.fromiter(scores.keys(), int, len(scores))] = np.fromiter(
            scores.values(), float, len(scores)
        )
        word_scores = word_scores[numbers]
        mixed = _standardised(word_scores) + SEMANTIC_WEIGHT * _standardised(similarity)
        mixed -= mixed.min()
        fits = (word_scores > 0) | (similarity >= MIN_SIMILARITY)
        return dict(zip(numbers[fits].tolist(), mixed[fits].tolist(), strict=True))

    def _reach(self, end: int) -> None:
        if end > (has := len(self._rows)):
            grown = np.zeros((max(end, has + has // 2), self._rows.shape[1]), np.float32)
            grown[:has] = self._rows
            self._rows = grown


def _joined(ranges: Iterable[range]) -> list[range]:
    runs: list[range] = []
    for tools in ranges:
        if runs and runs[-1].stop == tools.start:
            runs[-1] = range(runs[-1].start, tools.stop)
        else:
            runs.append(tools)
    return runs


def _standardised(values: Any) -> Any:
    spread = float(values.std())
    return (values - values.mean()) / spread if spread > 1e-6 else values * 0
