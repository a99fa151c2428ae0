"""Finding tools by what is meant, with the extra `semantic`: sentence vectors mixed with the words' ranking.

Owns what is looked at of tools and queries, and the way from there to vectors. Nothing of the extra is
imported before there is something to learn. An extra that does not work is told of once, and words alone are
searched.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Final

from mcp_workbench.storage.vectors import VectorMemory, key_of
from mcp_workbench.workbench.searching.word_vectors import load_word_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcp_workbench.errors import StrPath
    from mcp_workbench.workbench.searching.entry import Entry
    from mcp_workbench.workbench.searching.tool_vectors import ToolVectors
    from mcp_workbench.workbench.searching.word_vectors import WordVectors

__all__ = ["SemanticIndex"]

log = logging.getLogger(__name__)

LONGEST_TEXT: Final = 2000
"""Characters of a tool or a query that are looked at: a mean of more would say less."""
MOST_PARTS: Final = 12

_LETTERS: Final = re.compile(r"[^\W\d_]+")
_JOINT: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_./:-]+")
_BREAK: Final = re.compile(r"(?<=[.?!;])\s+|,?\s+and\s+|,\s+")


class SemanticIndex:
    """The `SemanticRanking` of an index: what its tools mean, as far as that has been learnt."""

    def __init__(self, cache: StrPath, load: Callable[[], WordVectors] = load_word_vectors) -> None:
        self._memory = VectorMemory(cache)
        self._load = load
        self._waiting: dict[int, str] = {}
        """By number, the texts of tools that have no row yet."""
        self._model: WordVectors | None = None
        self._rows: ToolVectors | None = None
        self._is_broken = False

    def put(self, first: int, entries: Sequence[Entry]) -> None:
        """Tools have come into the index, under numbers from the first on."""
        if not self._is_broken:
            self._waiting.update((first + at, text_of(entry)) for at, entry in enumerate(entries))

    def drop(self, first: int, end: int) -> None:
        """The tools from the first number up to the end have gone."""
        for number in range(first, end):
            self._waiting.pop(number, None)
        if self._rows is not None:
            self._rows.drop(first, end)

    def renumber(self, kept: Sequence[int]) -> None:
        """The index has closed its gaps: these are its tools now, in this order."""
        waiting = self._waiting
        self._waiting = {new: waiting[old] for new, old in enumerate(kept) if old in waiting}
        if self._rows is not None:
            self._rows.renumber(kept)

    def learn(self) -> None:
        """Finds out what the tools mean that have come since. It takes a while: not for the loop."""
        texts = list(dict.fromkeys(self._waiting.values()))
        if not texts:
            return
        try:
            self._take(texts)
        except Exception as error:  # noqa: BLE001 - whatever an extra does must not cost the search
            self._give_up(error)

    def mix(
        self,
        query: str,
        scores: Mapping[int, float],
        among: Iterable[range],
        meant: Callable[[str], str],
    ) -> dict[int, float]:
        """The scores of tools by words, mixed with how near in sense the tools of these ranges are."""
        query = query[:LONGEST_TEXT]
        if self._model is None or self._rows is None or not _LETTERS.search(query):
            return dict(scores)
        is_word = self._model.is_word
        query = _LETTERS.sub(lambda word: word[0] if is_word(word[0]) else meant(word[0]), query)
        return self._rows.mix(self._model.embed([query, *parts_of(query)]), scores, among)

    def _take(self, texts: Sequence[str]) -> None:
        if self._model is None:
            self._model = self._load()
        if self._rows is None:
            from mcp_workbench.workbench.searching.tool_vectors import ToolVectors  # noqa: PLC0415 - needs the extra

            self._rows = ToolVectors(self._model.dimensions)
        vectors = self._vectors(self._model, texts)
        rows = self._model.unpack([vectors[text] for text in self._waiting.values()])
        self._rows.put(list(self._waiting), rows)
        self._waiting = {}

    def _vectors(self, model: WordVectors, texts: Sequence[str]) -> dict[str, bytes]:
        known = self._memory.recall(model.name, model.size)
        keys = {text: key_of(text) for text in texts}
        unknown = [text for text in texts if keys[text] not in known]
        if unknown:
            made = model.pack(model.embed(unknown))
            fresh = {keys[text]: vector for text, vector in zip(unknown, made, strict=True)}
            self._memory.remember(model.name, model.size, fresh)
            known.update(fresh)
        return {text: known[key] for text, key in keys.items()}

    def _give_up(self, error: Exception) -> None:
        log.warning(
            "Tools are searched by words alone, because the extra 'semantic' does not work: %s: %s. "
            "To put it right: pip install --force-reinstall 'mcp-workbench[semantic]'",
            type(error).__name__,
            error,
        )
        self._is_broken = True
        self._model = self._rows = None
        self._waiting = {}


def text_of(entry: Entry) -> str:
    """What is looked at of a tool. Vectors are remembered by it."""
    names = " ".join([name for name, _ in entry.parameters])
    parts = (_spaced(f"{entry.server} {entry.name}") + ".", entry.title, entry.description, _spaced(names))
    return " ".join([part for part in parts if part])[:LONGEST_TEXT]


def parts_of(query: str) -> list[str]:
    """The sentences and clauses of a query that asks for several things; nothing of one that asks for one."""
    parts = [part for part in _BREAK.split(query) if len(part.split()) >= 3]
    return parts[:MOST_PARTS] if len(parts) > 1 else []


def _spaced(names: str) -> str:
    return _JOINT.sub(" ", names)
