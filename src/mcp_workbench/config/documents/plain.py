"""Plain data, as JSON has it, and paths into it: what a document holds whatever its format is.

Owns copies with a change in them, which never change the original. Does not know any format.
"""

from __future__ import annotations

import json
import math
from typing import TypeAlias

from mcp_workbench.config.validation.problems import quoted
from mcp_workbench.errors import DocumentError

Step: TypeAlias = str | int
Path: TypeAlias = tuple[Step, ...]


def plain(value: object) -> object:
    """Return a copy of a value as dict, list, str, int, float, bool and None.

    Raises DocumentError for anything that JSON cannot hold.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {str(key): plain(item) for key, item in value.items()}
    raise DocumentError(f"a value of the type {type(value).__name__} cannot be written to a file")


def get(data: object, path: Path) -> object:
    """Return the value at a path. Raises KeyError if there is none."""
    for step in path:
        data = _child(data, step)
    return data


def has(data: object, path: Path) -> bool:
    """Whether there is a value at a path."""
    try:
        get(data, path)
    except KeyError:
        return False
    return True


def reach(data: object, path: Path) -> int:
    """Return how many steps of a path lead to values that exist."""
    for count, step in enumerate(path):
        try:
            data = _child(data, step)
        except KeyError:
            return count
    return len(path)


def with_value(data: object, path: Path, value: object) -> object:
    """Return a copy with a value at a path; the parents that are missing or null become dicts."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if data is None:
        data = {}
    if isinstance(data, dict) and isinstance(step, str):
        return {**data, step: with_value(data.get(step), rest, value)}
    if isinstance(data, list) and isinstance(step, int) and 0 <= step <= len(data):
        present = data[step] if step < len(data) else None
        return [*data[:step], with_value(present, rest, value), *data[step + 1 :]]
    raise DocumentError(f"there is no object for {quoted(str(step))}: another value is in its place")


def without(data: object, path: Path) -> object:
    """Return a copy without the value at a path. Raises KeyError if there is none."""
    step, rest = path[0], path[1:]
    child = _child(data, step)
    if isinstance(data, dict):
        if rest:
            return {**data, step: without(child, rest)}
        return {key: value for key, value in data.items() if key != step}
    if isinstance(data, list) and isinstance(step, int):
        return [*data[:step], *([without(child, rest)] if rest else []), *data[step + 1 :]]
    raise KeyError(step)


def is_same(one: object, other: object) -> bool:
    """Whether two values are equal as JSON, where True is not 1 and the order of keys has no meaning."""
    return one == other and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _child(data: object, step: Step) -> object:
    if isinstance(data, dict) and isinstance(step, str) and step in data:
        return data[step]
    if isinstance(data, list) and isinstance(step, int) and 0 <= step < len(data):
        return data[step]
    raise KeyError(step)
