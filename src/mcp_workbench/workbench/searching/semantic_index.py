"""Ranks tools by meaning, with the extra `semantic`: sentence vectors mixed with the ranking by words.

Owns which texts of tools and queries are embedded, and when. Imports nothing of the extra before there is
something to embed. If the extra does not work, that is logged once, and the search uses words alone.
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

MAX_TEXT_CHARACTERS: Final = 2000
"""How much of a tool or a query is embedded: the mean of more words would say less."""
MAX_QUERY_PARTS: Final = 12
"""Sentences and clauses of a query that are embedded by themselves."""

_LETTERS: Final = re.compile(r"[^\W\d_]+")
_JOINT: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_./:-]+")
_BREAK: Final = re.compile(r"(?<=[.?!;])\s+|,?\s+and\s+|,\s+")


class SemanticIndex:
    """The semantic ranking of an index, for the tools that are embedded so far."""

    def __init__(self, cache: StrPath, load: Callable[[], WordVectors] = load_word_vectors) -> None:
        self._memory = VectorMemory(cache)
        self._load = load
        self._waiting: dict[int, str] = {}
        """The texts of tools that are not embedded yet, by number."""
        self._model: WordVectors | None = None
        self._vectors_by_tool: ToolVectors | None = None
        self._is_broken = False

    def put(self, first: int, entries: Sequence[Entry]) -> None:
        """Add tools to embed, with numbers from `first` on."""
        if not self._is_broken:
            self._waiting.update((first + at, text_of(entry)) for at, entry in enumerate(entries))

    def drop(self, first: int, end: int) -> None:
        """Remove the tools from number `first` up to `end`."""
        for number in range(first, end):
            self._waiting.pop(number, None)
        if self._vectors_by_tool is not None:
            self._vectors_by_tool.drop(first, end)

    def renumber(self, kept: Sequence[int]) -> None:
        """Keep these tools only, and number them in this order."""
        waiting = self._waiting
        self._waiting = {new: waiting[old] for new, old in enumerate(kept) if old in waiting}
        if self._vectors_by_tool is not None:
            self._vectors_by_tool.renumber(kept)

    def learn(self) -> None:
        """Embed the tools that were added. Takes a while: call it in a thread."""
        texts = list(dict.fromkeys(self._waiting.values()))
        if not texts:
            return
        try:
            self._learn(texts)
        except Exception as error:  # noqa: BLE001 - whatever an extra does must not cost the search
            self._disable(error)

    def words(self, query: str) -> list[str]:
        """Return the words of a query that may be corrected, in lower case."""
        return [word.casefold() for word in _LETTERS.findall(query[:MAX_TEXT_CHARACTERS])]

    def mix(
        self,
        query: str,
        scores: Mapping[int, float],
        among: Iterable[range],
        corrected: Callable[[str], str],
    ) -> dict[int, float]:
        """Return the scores by words mixed with the similarity of the tools in these ranges."""
        query = query[:MAX_TEXT_CHARACTERS]
        if self._model is None or self._vectors_by_tool is None or not _LETTERS.search(query):
            return dict(scores)
        is_word = self._model.is_word
        query = _LETTERS.sub(lambda word: word[0] if is_word(word[0]) else corrected(word[0]), query)
        return self._vectors_by_tool.mix(self._model.embed([query, *parts_of(query)]), scores, among)

    def _learn(self, texts: Sequence[str]) -> None:
        if self._model is None:
            self._model = self._load()
        if self._vectors_by_tool is None:
            from mcp_workbench.workbench.searching.tool_vectors import ToolVectors  # noqa: PLC0415 - needs the extra

            self._vectors_by_tool = ToolVectors(self._model.dimensions)
        vectors = self._vectors(self._model, texts)
        rows = self._model.unpack([vectors[text] for text in self._waiting.values()])
        self._vectors_by_tool.put(list(self._waiting), rows)
        self._waiting = {}

    def _vectors(self, model: WordVectors, texts: Sequence[str]) -> dict[str, bytes]:
        known = self._memory.recall(model.name, model.size)
        keys = {text: key_of(text) for text in texts}
        unknown = [text for text in texts if keys[text] not in known]
        if unknown:
            packed = model.pack(model.embed(unknown))
            new = {keys[text]: vector for text, vector in zip(unknown, packed, strict=True)}
            self._memory.remember(model.name, model.size, new)
            known.update(new)
        return {text: known[key] for text, key in keys.items()}

    def _disable(self, error: Exception) -> None:
        log.warning(
            "Tools are searched by words alone, because the extra 'semantic' does not work: %s: %s. "
            "To put it right: pip install --force-reinstall 'workbench-mcp[semantic]'",
            type(error).__name__,
            error,
        )
        self._is_broken = True
        self._model = self._vectors_by_tool = None
        self._waiting = {}


def text_of(entry: Entry) -> str:
    """Return the text of a tool that is embedded. Vectors are cached by it."""
    names = " ".join([name for name, _ in entry.parameters])
    parts = (_spaced(f"{entry.server} {entry.name}") + ".", entry.title, entry.description, _spaced(names))
    return " ".join([part for part in parts if part])[:MAX_TEXT_CHARACTERS]


def parts_of(query: str) -> list[str]:
    """Return the sentences and clauses of a query that asks for several things; empty if it asks for one."""
    parts = [part for part in _BREAK.split(query) if len(part.split()) >= 3]
    return parts[:MAX_QUERY_PARTS] if len(parts) > 1 else []


def _spaced(names: str) -> str:
    return _JOINT.sub(" ", names)
