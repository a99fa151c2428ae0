"""Tells what a server in a sandbox could have changed, because it is in a place that the server can write to.

Owns following links step by step: a link in such a place is not to be trusted, wherever it leads now.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_LINKS: Final = 40
"""Links that Linux follows in one path. It opens none with more."""


class WritablePlaces:
    """The files and directories of `write` in a sandbox, and whether a path leads through one of them.

    What is in one of them can be used anyway. It must not give more rights: the server may have put a link or
    a script there, to be allowed more at its next start.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        every = [os.path.realpath(path) for path in paths]
        self.granted = [path for path in paths if not any(_is_below(step, every) for step in _steps(path))]
        """The paths that the server could not have put there. The others get no rights of their own."""
        self._places = [os.path.realpath(path) for path in self.granted]

    def lead(self, path: str) -> bool:
        """Whether a path is one of these places, is in one, or leads through one by a link."""
        return any(step in self._places or _is_below(step, self._places) for step in _steps(path))


def _is_below(path: str, places: Sequence[str]) -> bool:
    return any(path.startswith(f"{place.rstrip('/')}/") and path != place for place in places)


def _steps(path: str) -> list[str]:
    """Return every place that an absolute path leads through, as the system follows it.

    The directory of each is free of links. The last one is where the path ends, unless it has too many links.
    """
    steps: list[str] = []
    links = 0
    here = "/"
    names = path.split("/")[::-1]
    while names:
        name = names.pop()
        if name == "..":
            here = os.path.dirname(here)
        elif name not in ("", "."):
            here = os.path.join(here, name)
        steps.append(here)
        if (target := _target(here)) is None:
            continue
        if (links := links + 1) > MAX_LINKS:
            break
        here = "/" if target.startswith("/") else os.path.dirname(here)
        names += target.split("/")[::-1]
    return steps


def _target(path: str) -> str | None:
    """Return where a link leads; None if the path is no link, or cannot be read."""
    try:
        return os.readlink(path)
    except OSError:
        return None
