"""The meaning of a pattern for a name: of a tool, a server or a toolbox."""

from __future__ import annotations

from fnmatch import fnmatchcase


def matches(pattern: str, name: str) -> bool:
    """Whether a name is the pattern, or matches it as a glob."""
    # Equality comes first: a tool may really be called "a[b]", which as a glob means "ab".
    return name == pattern or fnmatchcase(name, pattern)
