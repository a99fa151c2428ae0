"""Turns the lists of allowed and forbidden tools that clients have into `toolFilters`, and never widens them.

Owns the escaping of names, and the intersection of several lists. What a filter matches is decided in
`workbench.filters`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_workbench.config.globs import matches

if TYPE_CHECKING:
    from collections.abc import Sequence

_GLOB = re.compile(r"[*?[]")

Filters = list[str]


class UnclearLimit(Exception):
    """A list of tools cannot be written as filters that mean the same; the text says why."""


def included(name: str, *, is_glob: bool) -> str:
    """Return the pattern that shows exactly this tool, or those that the glob of another client means."""
    if name.startswith("!"):
        raise UnclearLimit('a name that starts with "!" would hide the tool instead of showing it')
    return name if is_glob else _GLOB.sub(lambda found: f"[{found[0]}]", name)


def excluded(name: str) -> str:
    """Return the pattern that hides this tool. A `*` in it hides more, whatever the other client means."""
    return f"!{name}"


def both(one: Filters, other: Filters) -> Filters:
    """Return filters that show what both lists show. Raises UnclearLimit if no filters can say that."""
    unwanted = [pattern for pattern in (*one, *other) if pattern.startswith("!")]
    wanted = _common(_wanted(one), _wanted(other))
    if wanted is None:
        return list(dict.fromkeys(unwanted)) or ["*"]
    # Exclusions alone would show everything else.
    return list(dict.fromkeys((*wanted, *unwanted))) if wanted else []


def _wanted(filters: Filters) -> Filters | None:
    """Return the patterns that include tools, or None if the filters show all that they do not exclude."""
    wanted = [pattern for pattern in filters if not pattern.startswith("!")]
    return None if "*" in wanted or (not wanted and filters) else wanted


def _common(one: Filters | None, other: Filters | None) -> Filters | None:
    if one is None or other is None:
        return other if one is None else one
    if set(one) == set(other):
        return one
    for names, patterns in ((one, other), (other, one)):
        if not any(map(_GLOB.search, names)):
            return [name for name in names if _is_shown(name, patterns)]
    raise UnclearLimit("two lists of globs limit the same server")


def _is_shown(name: str, patterns: Sequence[str]) -> bool:
    return any(matches(pattern, name) for pattern in patterns)
