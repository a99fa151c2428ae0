"""The problems and warnings that were found in a file, and how a place in a file is written.

Owns the two lists and the spelling of JSON paths. Does not know what is right or wrong.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from mcp_workbench.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.errors import Cause

Place: TypeAlias = tuple[str | int, ...]
"""The keys and indexes that lead from the top of a file to a value."""


class Problems:
    """Collects the problems and warnings of one file. Places show the keys as the file spells them."""

    def __init__(self) -> None:
        self.found: list[Problem] = []
        """Problems that make the file unusable."""
        self.warnings: list[str] = []
        self._places: list[Place] = []
        """The place of each problem in `found`."""
        self._warned: list[Place] = []
        """The place of each warning in `warnings`."""
        self._spellings: dict[Place, str] = {}
        self._silenced: set[Place] = set()
        # Cached, so that a large file with a mistake in every string is still reported in milliseconds.
        self._prefixes: dict[Place, str] = {}

    def add(
        self, place: Place, what: str, remedy: str, *, cause: Cause | msgspec.UnsetType = msgspec.UNSET
    ) -> None:
        """Report a problem at a place, with the text that says how to solve it."""
        if place not in self._silenced:
            self.found.append(Problem(self._path(place), what, remedy, cause=cause))
            self._places.append(place)

    def warn(self, place: Place, text: str) -> None:
        """Report what does not stop the start; an empty place stands for the whole file."""
        self.warnings.append(f"{self._path(place)}: {text}" if place else text)
        self._warned.append(place)

    def silence(self, place: Place) -> None:
        """Ignore further problems at a place: they would only be consequences of those reported."""
        self._silenced.add(place)

    def placed(self) -> list[tuple[Place, Problem]]:
        """Return the problems with their places."""
        return list(zip(self._places, self.found, strict=True))

    def find_lines(self, path: str, line_of: Callable[[Place], int | None]) -> None:
        """Add the line to every problem, and `file:line` to every warning, if its place has one."""
        for index, place in enumerate(self._places):
            self.found[index] = msgspec.structs.replace(self.found[index], line=line_of(self._spelled(place)))
        for index, place in enumerate(self._warned):
            if place and (line := line_of(self._spelled(place))) is not None:
                self.warnings[index] = f"{path}:{line}: {self.warnings[index]}"

    def _spelled(self, place: Place) -> Place:
        """Return a place with the keys as the file spells them."""
        if not self._spellings:
            return place
        return tuple(self._spellings.get(place[: depth + 1], step) for depth, step in enumerate(place))

    def spell(self, place: Place, key: str) -> None:
        """Show the last key of a place as the file spells it: the value of a variable in it may be secret."""
        self._spellings[place] = key

    def spelling(self, place: Place) -> str:
        """Return the last key of a place as the file spells it, to be quoted in a remedy."""
        return str(self._spellings.get(place, place[-1]))

    def _path(self, place: Place) -> str:
        if not place:
            return ""
        above = place[:-1]
        prefix = self._prefixes.get(above)
        if prefix is None:
            prefix = self._prefixes[above] = self._path(above)
        return _join(prefix, self._spellings.get(place, place[-1]))


def _join(parent: str, step: str | int) -> str:
    """Return a path such as `toolboxes.dev.args[1]`, or `toolboxes["my box"]` if a key is no plain word."""
    if isinstance(step, int):
        return f"{parent}[{step}]"
    if not step.replace("-", "_").isidentifier() or _hides_something(step):
        return f"{parent}[{quoted(step)}]"
    return f"{parent}.{step}" if parent else step


def quoted(key: str) -> str:
    """Return a key in double quotes, with invisible characters as escapes."""
    return json.dumps(key, ensure_ascii=_hides_something(key))


def _hides_something(key: str) -> bool:
    if not key.isprintable():
        return True
    if key.isascii():
        return False
    from mcp_workbench.config.validation.look_alikes import has_invisible_letters  # noqa: PLC0415 - for few keys

    return has_invisible_letters(key)
