"""Decides about the keys of an entry that have no translation: a limit is refused, a decoration ignored."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_workbench.config.entries.our_words import OUR_KEYS
from mcp_workbench.config.entries.vocabulary import (
    DECORATIONS,
    SANDBOX_KEYS,
    TRANSLATED,
    UNKNOWN_LIMIT,
    looks_limiting,
)
from mcp_workbench.config.validation.problems import quoted
from mcp_workbench.config.validation.suggest import ADVICE, meant_key, right_place

if TYPE_CHECKING:
    from mcp_workbench.config.validation.problems import Place, Problems

_PLAIN_KEY = re.compile(r"[\w.$-]+", re.ASCII)


def keep_for_validation(source: dict[str, object], place: Place, problems: Problems) -> dict[str, object]:
    """Return the keys that the usual checks say more about. Report limits, and all ignored keys at once."""
    kept: dict[str, object] = {}
    ignored: list[str] = []
    for key, value in source.items():
        if key in OUR_KEYS or key in TRANSLATED:
            continue
        if value is None or key in DECORATIONS or (key in SANDBOX_KEYS and not value):
            ignored.append(key)
        elif _is_for_validation(key):
            kept[key] = value
        elif looks_limiting(key):
            problems.add((*place, key), UNKNOWN_LIMIT, _instead_of(key))
        else:
            ignored.append(key)
    options = source.get("requestOptions")
    if isinstance(options, dict):
        ignored.extend(f"requestOptions.{key}" for key in options if key != "headers")
    if ignored:
        listed = ", ".join(key if _PLAIN_KEY.fullmatch(key) else quoted(key) for key in ignored)
        problems.warn(place, f"the workbench does not use these keys, and ignores them: {listed}")
    return kept


def _instead_of(key: str) -> str:
    if key in SANDBOX_KEYS:
        return 'Write "sandbox" to confine the server here, or delete this key.'
    return 'Use "toolFilters" to choose the tools, or delete this key.'


def _is_for_validation(key: str) -> bool:
    """Whether a key is a slip, in the wrong place, or one that there is advice about."""
    if key in SANDBOX_KEYS:
        return False
    return key in ADVICE or meant_key(key, OUR_KEYS) is not None or right_place(key) is not None
