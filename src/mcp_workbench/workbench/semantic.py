"""Finding tools by what is meant, with the extra `semantic`: sentence vectors mixed with the words' ranking.

Owns when the model is loaded and when tools are given their vectors: beside the loop, before the first search
and before those after a change. Nothing of the extra is imported until then. An extra that is not in order is
told of once, and searches go by words alone.
"""

from __future__ import annotations

import asyncio
import logging
import re
from functools import partial
from typing import TYPE_CHECKING, Final

from mcp_workbench.downstream.vector_memory import VectorMemory, key_of
from mcp_workbench.downstream.word_vectors import is_installed, load_word_vectors
from mcp_workbench.wire.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcp_workbench.downstream.word_vectors import WordVectors
    from mcp_workbench.errors import StrPath
    from mcp_workbench.workbench.search_entry import Entry
    from mcp_workbench.workbench.semantic_rows import Rows

__all__ = ["Senses", "find_senses"]

log = logging.getLogger(__name__)

LONGEST_TEXT: Final = 2000
"""Characters of a tool or a query that are looked at: a mean of more would say less."""
MOST_PARTS: Final = 12
SECONDS_TO_LEARN: Final = 60.0

_LETTERS: Final = re.compile(r"[^\W\d_]+")
_JOINT: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_./:-]+")
_BREAK: Final = re.compile(r"(?<=[.?!;])\s+|,?\s+and\s+|,\s+")


def find_senses(cache: StrPath) -> Senses | None:
    """What a `SearchIndex` takes to search by meaning too; None without the extra."""
    return Senses(VectorMemory(cache), load_word_vectors) if is_installed() else None


class Senses:
    """The `Meaning` of an index: what its tools mean, as far as that has been learnt."""

    def __init__(self, memory: VectorMemory, load: Callable[[], WordVectors]) -> None:
        self._memory = memory
        self._load = load
        self._turn = asyncio.Lock()
        self._waiting: dict[int, str] = {}
        """By number, the texts of tools that have no row yet."""
        self._model: WordVectors | None = None
        self._rows: Rows | None = None
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

    async def prepare(self) -> None:
        """Returns when all the tools can be found by meaning. The work is done beside the loop."""
        async with self._turn:
            while self._waiting:
                texts = list(dict.fromkeys(self._waiting.values()))
                try:
                    self._take(await in_thread(partial(self._work_out, texts), SECONDS_TO_LEARN))
                except Exception as error:  # noqa: BLE001 - whatever an extra does must not cost the search
                    self._give_up(error)

    def learn(self) -> None:
        """The same at once, for those who have no loop."""
        try:
            self._take(self._work_out(list(dict.fromkeys(self._waiting.values()))))
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

    def _work_out(self, texts: Sequence[str]) -> tuple[WordVectors, dict[str, bytes]]:
        model = self._model or self._load()
        known = self._memory.recall(model.name, model.size)
        keys = {text: key_of(text) for text in texts}
        unknown = [text for text in texts if keys[text] not in known]
        if unknown:
            made = model.pack(model.embed(unknown))
            fresh = {keys[text]: vector for text, vector in zip(unknown, made, strict=True)}
            self._memory.remember(model.name, model.size, fresh)
            known.update(fresh)
        return model, {text: known[key] for text, key in keys.items()}

    def _take(self, worked_out: tuple[WordVectors, dict[str, bytes]]) -> None:
        from mcp_workbench.workbench.semantic_rows import Rows  # noqa: PLC0415 - needs the extra

        model, vectors = worked_out
        self._model = model
        if self._rows is None:
            self._rows = Rows(model.dimensions)
        numbers = [number for number, text in self._waiting.items() if text in vectors]
        if numbers:
            rows = model.unpack([vectors[self._waiting[number]] for number in numbers])
            self._rows.put(numbers, rows)
        for number in numbers:
            del self._waiting[number]

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
