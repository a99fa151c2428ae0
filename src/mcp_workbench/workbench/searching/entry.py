"""Reads from a tool definition what the search uses."""

from __future__ import annotations

from typing import Any, Final

import msgspec

__all__ = ["Entry", "read_entry"]

MAX_PARAMETERS: Final = 100
MAX_VALUES: Final = 20
MAX_DEPTH: Final = 6
"""Levels of a schema that are read; two of them for each level of properties."""
MAX_TEXT_CHARACTERS: Final = 20_000
"""How much of one text is read."""
_NESTING: Final = ("items", "anyOf", "oneOf", "allOf", "additionalProperties")


class Entry(msgspec.Struct, frozen=True):
    """The texts of one tool that are searched."""

    name: str
    server: str
    title: str = ""
    description: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    """Names and descriptions of parameters, nested properties included."""


def read_entry(raw: bytes | msgspec.Raw, server: str) -> Entry:
    """Return the searchable texts of a tool. Invalid parts of its definition are left out."""
    tool = _decode(raw)
    if not isinstance(tool, dict):
        return Entry("", server)
    parameters: list[tuple[str, str]] = []
    _collect(tool.get("inputSchema"), parameters, MAX_DEPTH)
    annotations = tool.get("annotations")
    title = _text(tool.get("title"))
    if not title and isinstance(annotations, dict):
        title = _text(annotations.get("title"))
    name, description = _text(tool.get("name")), _text(tool.get("description"))
    return Entry(name, server, title, description, tuple(parameters))


def _decode(raw: bytes | msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    import json  # noqa: PLC0415 - only for what msgspec refuses: lone surrogates

    try:
        return json.loads(bytes(raw))
    except (ValueError, RecursionError):
        return None


def _collect(schema: object, found: list[tuple[str, str]], depth: int) -> None:
    if not isinstance(schema, dict) or not depth or len(found) >= MAX_PARAMETERS:
        return
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, described in properties.items():
            if len(found) >= MAX_PARAMETERS:
                return
            found.append((name, _about_parameter(described)))
        for described in properties.values():
            _collect(described, found, depth - 1)
    for key in _NESTING:
        nested = schema.get(key)
        for part in nested if isinstance(nested, list) else (nested,):
            _collect(part, found, depth - 1)


def _about_parameter(schema: object) -> str:
    """Return a parameter's description and its allowed values, which often say more."""
    if not isinstance(schema, dict):
        return ""
    text, values = _text(schema.get("description")), schema.get("enum")
    if not isinstance(values, list):
        return text
    return " ".join((text, *[_text(value) for value in values[:MAX_VALUES]]))


def _text(value: object) -> str:
    return value[:MAX_TEXT_CHARACTERS] if isinstance(value, str) else ""
