"""Reads the keys of an entry that choose its tools, in the words of any client.

Owns which values are lists of tools, and what a wrong value means: a problem, because to ignore it would show
more tools than before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_workbench.config.entries.tool_limits import UnclearLimit, both, excluded, included
from mcp_workbench.config.entries.vocabulary import (
    ALLOW_KEYS,
    DENY_KEYS,
    EMPTY_MEANS_ALL,
    TOOLS_KEY,
    looks_limiting,
)
from mcp_workbench.config.validation.fields import kind_of

if TYPE_CHECKING:
    from mcp_workbench.config.entries.dialects import Dialect
    from mcp_workbench.config.entries.tool_limits import Filters
    from mcp_workbench.config.validation.problems import Place, Problems

_REMEDY = 'Write "toolFilters": ["name", "!other"] to choose the tools.'
_GLOB = re.compile(r"[*?[]")


def combine_tool_limits(
    entry: dict[str, object], place: Place, problems: Problems, dialect: Dialect
) -> tuple[str, Filters] | None:
    """Return the filters that all lists of the entry come to, and the first key that is a list.

    None means that the entry has no such list besides `toolFilters`.
    """
    reader = _Reader(place, problems, dialect)
    lists = {key: reader.read(key, entry[key]) for key in entry if _is_limit(key) and entry[key] is not None}
    limits = {key: filters for key, filters in lists.items() if filters is not None}
    if not limits:
        return None
    own = entry.get("toolFilters")
    total = own_filters(own)
    if total is None:
        return None
    for key, filters in limits.items():
        try:
            total = both(total, filters)
        except UnclearLimit as error:
            problems.add((*place, key), f"cannot be combined with the other limits: {error}", _REMEDY)
    return ("toolFilters" if own is not None else next(iter(limits))), total


def _is_limit(key: str) -> bool:
    return key in ALLOW_KEYS or key in DENY_KEYS or key == TOOLS_KEY


def own_filters(value: object) -> Filters | None:
    """Return the `toolFilters` of an entry, all tools if it has none; None if they are wrong.

    Wrong ones have to stay in the entry, so that they are reported when it is checked.
    """
    if value is None:
        return ["*"]
    is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return list(value) if isinstance(value, list) and is_list else None


class _Reader:
    """Reads the values of one entry, and reports those that cannot be understood."""

    def __init__(self, place: Place, problems: Problems, dialect: Dialect) -> None:
        self._place = place
        self._problems = problems
        self._dialect = dialect

    def read(self, key: str, value: object) -> Filters | None:
        """Return the filters of one key, or None if it shows every tool or was refused."""
        if key == TOOLS_KEY and isinstance(value, dict):
            return self._settings(value)
        if not isinstance(value, list):
            self._refuse(key, f"should be a list of the names of tools, not {kind_of(value)}")
            return None
        for index, name in enumerate(value):
            if not isinstance(name, str):
                what = f"should be the name of a tool, not {kind_of(name)}"
                self._problems.add((*self._place, key, index), what, _REMEDY)
                return None
        return self._denied(value) if key in DENY_KEYS else self._allowed(key, value)

    def _denied(self, names: list[str]) -> Filters | None:
        return [excluded(self._bare(name)) for name in names] or None

    def _allowed(self, key: str, names: list[str]) -> Filters | None:
        if (key == TOOLS_KEY and "*" in names) or (key in EMPTY_MEANS_ALL and not names):
            return None
        if self._dialect.is_guess and any(map(_GLOB.search, names)):
            self._refuse(key, "a * ? or [ in the name of a tool means different things in different clients")
            return None
        try:
            return [included(self._bare(name), is_glob=self._dialect.has_globs) for name in names]
        except UnclearLimit as error:
            self._refuse(key, str(error))
            return None

    def _bare(self, name: str) -> str:
        return name.partition("(")[0] if self._dialect.has_arguments else name

    def _settings(self, tools: dict[str, object]) -> Filters | None:
        """Return what settings per tool hide; how often a person is asked about a tool does not matter."""
        hidden = []
        for name, setting in tools.items():
            place = (*self._place, TOOLS_KEY, name)
            if setting is False or (isinstance(setting, dict) and setting.get("enabled") is False):
                hidden.append(excluded(name))
            elif not isinstance(setting, dict) or not isinstance(setting.get("enabled", True), bool):
                what = "is not a setting of a tool that the workbench knows"
                self._problems.add(place, what, _REMEDY)
            for key in setting if isinstance(setting, dict) else ():
                if key != "enabled" and looks_limiting(key):
                    what = "limits the tool in another client, and the workbench does not know how"
                    self._problems.add((*place, key), what, 'Use "toolFilters", or delete this key.')
        return hidden or None

    def _refuse(self, key: str, what: str) -> None:
        self._problems.add((*self._place, key), what, _REMEDY)
