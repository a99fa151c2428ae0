"""How a value is written as TOML: as a table with a header of its own, or on one line.

Owns the order of lines in a new table. Strings, numbers and keys are written by tomlkit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tomlkit
from tomlkit.items import SingleKey

from mcp_workbench.errors import DocumentError

if TYPE_CHECKING:
    from mcp_workbench.config.documents.plain import Path

MAX_LINE_CHARACTERS = 100
"""Characters of a line with a list on it that could as well take several lines."""


def inline(value: object) -> str:
    """Return a value on one line. Raises DocumentError for null, which TOML does not have."""
    if value is None:
        raise DocumentError("TOML has no null")
    if isinstance(value, dict):
        members = ", ".join(f"{dotted((key,))} = {inline(item)}" for key, item in value.items())
        return f"{{ {members} }}" if members else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    return tomlkit.item(value).as_string()


def pair(path: Path, value: object) -> list[str]:
    """Return the lines of a key and its value. A long list takes a line for each of its items."""
    key = dotted(path)
    line = f"{key} = {inline(value)}"
    if isinstance(value, list) and value and len(line) > MAX_LINE_CHARACTERS:
        return [f"{key} = [", *(f"    {inline(item)}," for item in value), "]"]
    return [line]


def table(path: Path, value: dict[str, object], *, in_array: bool = False) -> list[str]:
    """Return the lines of a table, with an empty line before each of the tables in it.

    A table that has only tables in it needs no header of its own.
    """
    header = dotted(path)
    lines = [f"[[{header}]]"] if in_array else []
    if not lines and not (value and all(isinstance(item, dict) for item in value.values())):
        lines = [f"[{header}]"]
    for key, item in value.items():
        if not isinstance(item, dict):
            lines += pair((key,), item)
    for key, item in value.items():
        if isinstance(item, dict):
            lines += [*([""] if lines else []), *table((*path, key), item)]
    return lines


def dotted(path: Path) -> str:
    """Return a path as a key. Indexes of arrays are left out: a header means the last table of an array."""
    return ".".join(SingleKey(step).as_string() for step in path if isinstance(step, str))
