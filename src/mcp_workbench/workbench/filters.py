"""Which tools of a server a toolbox shows: the meaning of `toolFilters`.

Owns the pattern language: names, globs and `!` exclusions. Where the patterns come from, and what happens to
a hidden tool, is decided elsewhere.
"""

from __future__ import annotations

import re
from fnmatch import translate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

__all__ = ["compile_filters"]


def compile_filters(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Return a test for tool names: a tool is shown if a pattern includes it and none excludes it.

    Exclusions alone show everything else; no patterns at all show nothing.
    """
    wanted = frozenset(pattern for pattern in patterns if not pattern.startswith("!"))
    unwanted = frozenset(pattern[1:] for pattern in patterns if pattern.startswith("!"))
    includes = _any_of(wanted) if wanted or not unwanted else _everything
    excludes = _any_of(unwanted)
    return lambda name: includes(name) and not excludes(name)


def _any_of(patterns: Collection[str]) -> Callable[[str], bool]:
    if "*" in patterns:
        return _everything
    globs = [pattern for pattern in patterns if not _GLOB_CHARACTERS.isdisjoint(pattern)]
    if not globs:
        return patterns.__contains__
    matches_a_glob = re.compile("|".join(map(translate, globs))).match
    # Equality comes first: a tool may really be called "a[b]", which as a glob means "ab".
    return lambda name: name in patterns or matches_a_glob(name) is not None


def _everything(_name: str) -> bool:
    return True


_GLOB_CHARACTERS = frozenset("*?[")
