"""What the examination of a file has found so far, and how a place in a file is written.

Owns the list of problems and warnings and the spelling of JSON paths. Does not know what is right or wrong.
"""

from __future__ import annotations

import json
from typing import TypeAlias

from mcp_workbench.errors import Problem

Place: TypeAlias = tuple[str | int, ...]


class Problems:
    """Collects problems and warnings; every place is shown with its keys as the file spells them."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.warnings: list[str] = []
        self._spellings: dict[Place, str] = {}
        self._silenced: set[Place] = set()
        # Kept, so that a large file with a mistake in every string is still reported in milliseconds.
        self._prefixes: dict[Place, str] = {}

    def problem(self, place: Place, what: str, remedy: str) -> None:
        if place not in self._silenced:
            self.problems.append(Problem(self._path(place), what, remedy))

    def warn(self, place: Place, text: str) -> None:
        self.warnings.append(f"{self._path(place)}: {text}" if place else text)

    def silence(self, place: Place) -> None:
        """Further problems at this place would only be consequences of those reported."""
        self._silenced.add(place)

    def spell(self, place: Place, key: str) -> None:
        """The last key of this place stands as `key` in the file: what a variable held is not for showing."""
        self._spellings[place] = key

    def _path(self, place: Place) -> str:
        if not place:
            return ""
        above = place[:-1]
        prefix = self._prefixes.get(above)
        if prefix is None:
            prefix = self._prefixes[above] = self._path(above)
        return _join(prefix, self._spellings.get(place, place[-1]))


def _join(parent: str, step: str | int) -> str:
    """`toolboxes.dev.mcpServers.fs.args[1]`; a key that is no plain word is quoted: `toolboxes["my box"]`."""
    if isinstance(step, int):
        return f"{parent}[{step}]"
    if not step.replace("-", "_").isidentifier() or _hides_something(step):
        return f"{parent}[{quoted(step)}]"
    return f"{parent}.{step}" if parent else step


def quoted(key: str) -> str:
    """A key in double quotes, with what cannot be seen written as an escape."""
    return json.dumps(key, ensure_ascii=_hides_something(key))


def _hides_something(key: str) -> bool:
    if not key.isprintable():
        return True
    if key.isascii():
        return False
    from mcp_workbench.config.validation.look_alikes import has_invisible_letters  # noqa: PLC0415 - for few keys

    return has_invisible_letters(key)
