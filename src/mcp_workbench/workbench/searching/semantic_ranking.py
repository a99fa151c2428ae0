"""The interface between the search index and a ranking by meaning, such as the extra `semantic`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcp_workbench.workbench.searching.entry import Entry


class SemanticRanking(Protocol):
    """Ranks tools by meaning, in addition to their words. Tools have the numbers of the index."""

    def put(self, first: int, entries: Sequence[Entry]) -> None:
        """Add tools, with numbers from `first` on."""

    def drop(self, first: int, end: int) -> None:
        """Remove the tools from number `first` up to `end`."""

    def renumber(self, kept: Sequence[int]) -> None:
        """Keep these tools only, and number them in this order."""

    def words(self, query: str) -> Iterable[str]:
        """Return the words of a query that `mix` may ask to be corrected, in lower case."""

    def mix(
        self,
        query: str,
        scores: Mapping[int, float],
        among: Iterable[range],
        corrected: Callable[[str], str],
    ) -> dict[int, float]:
        """Return the scores by words mixed with those by meaning, for tools in these ranges.

        `corrected` returns, for a word that may be mistyped, the word that the tools have.
        """
