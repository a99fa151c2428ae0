"""What an index asks of something that knows what tools mean, such as the extra `semantic`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcp_workbench.workbench.searching.entry import Entry


class SemanticRanking(Protocol):
    """What ranks tools by what is meant, beside their words. It knows them by the numbers of the index."""

    def put(self, first: int, entries: Sequence[Entry]) -> None:
        """Tools have come, under numbers from the first on."""

    def drop(self, first: int, end: int) -> None:
        """The tools from the first number up to the end have gone."""

    def renumber(self, kept: Sequence[int]) -> None:
        """These are the tools now, in this order."""

    def mix(
        self,
        query: str,
        scores: Mapping[int, float],
        among: Iterable[range],
        meant: Callable[[str], str],
    ) -> dict[int, float]:
        """The scores by words, mixed with those by meaning, of tools in these ranges. `meant` gives, for a
        word that may be mistyped, the one that the tools have."""
