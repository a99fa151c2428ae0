"""The meaning of a pattern for a name: of a tool, a server or a toolbox."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_COMPILED_PATTERNS: Final = 10_000
"""Globs that are remembered in the form in which they are compared. `re` itself remembers 512."""


def matches(pattern: str, name: str) -> bool:
    """Whether a name is the pattern, or matches it as a glob."""
    # Equality comes first: a tool may really be called "a[b]", which as a glob means "ab".
    return name == pattern or _compiled(pattern)(name) is not None


@lru_cache(MAX_COMPILED_PATTERNS)
def _compiled(pattern: str) -> Callable[[str], object]:
    return re.compile(translate(pattern)).match
