"""The vectors of the tools that can be searched, row by row, and the mixing of senses with words.

Owns the arithmetic of the extra `semantic`, and is the one module of the workbench that needs numpy: it is
imported once the extra is in use. What texts mean, and when that is found out, is decided elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

WEIGHT: Final = 1.25
"""Of the sense, where the words have 1. From .75 to 1.75 it makes no difference that counts."""
LEAST: Final = 0.2
"""How near in sense a tool must be that shares no word with the query."""


class ToolVectors:
    """A row for each tool, under the number that the index gives it."""

    def __init__(self, dimensions: int) -> None:
        self._rows = np.zeros((0, dimensions), np.float32)

    def put(self, numbers: Sequence[int], rows: Any) -> None:
        """Takes in what tools mean."""
        self._reach(max(numbers) + 1)
        self._rows[list(numbers)] = rows

    def drop(self, first: int, end: int) -> None:
        """Forgets the tools from the first up to the end."""
        self._rows[first:end] = 0

    def renumber(self, kept: Sequence[int]) -> None:
        """Gives those that are kept the numbers from 0 on."""
        self._reach(max(kept, default=-1) + 1)
        self._rows = self._rows[list(kept)]

    def mix(self, query: Any, words: Mapping[int, float], among: Iterable[range]) -> dict[int, float]:
        """Scores for the tools that fit: the words' scores and the nearness to the query, each taken as how
        far it stands out. The query is a row for the whole and one for each part of it."""
        numbers = np.concatenate([np.arange(0), *[np.arange(run.start, run.stop) for run in _joined(among)]])
        if not len(numbers):
            return {}
        self._reach(int(numbers.max()) + 1)
        # Not with BLAS: its threads spin between calls, which takes longer than the work of one.
        whole, *parts = np.einsum("tx,qx->qt", self._rows, query)
        sense = ((whole + np.max(parts, axis=0)) / 2 if parts else whole)[numbers]
        said = np.zeros(len(self._rows), np.float32)
        said[np.fromiter(words.keys(), int, len(words))] = np.fromiter(words.values(), float, len(words))
        said = said[numbers]
        mixed = _standing_out(said) + WEIGHT * _standing_out(sense)
        mixed -= mixed.min()
        fits = (said > 0) | (sense >= LEAST)
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


def _standing_out(scores: Any) -> Any:
    spread = float(scores.std())
    return (scores - scores.mean()) / spread if spread > 1e-6 else scores * 0
