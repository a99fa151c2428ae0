"""Collects what a model reads in a tool's definition: every text, with the place where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from mcp_workbench.protocol.lists import UNREAD_MEMBERS

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_LANGUAGE: Final = frozenset(
    {"type", "format", "pattern", "$ref", "$schema", "$id", "$anchor", "contentEncoding", "required"}
)
"""Members that have no language in them, unless somebody hides some there."""
MIN_HIDDEN_WORDS: Final = 6
"""So many words, where none belong, are read as language."""


class ToolTexts(NamedTuple):
    """The texts of one definition, and the names in it."""

    name: str
    parameters: frozenset[str]
    """Names of the parameters at any depth, in small letters."""
    texts: tuple[tuple[str, str], ...]
    """Pairs of a place, such as `inputSchema.properties.path.description`, and the text there."""


def texts_of(definition: msgspec.Raw | bytes) -> ToolTexts:
    """Return the texts of a definition in their order. A definition that is not JSON is one text."""
    try:
        value = msgspec.json.decode(definition)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = _decode_leniently(bytes(definition))
    name = value.get("name") if isinstance(value, dict) else None
    parameters: set[str] = set()
    texts = tuple(_walk(value, parameters))
    return ToolTexts(name if isinstance(name, str) else "", frozenset(parameters), texts)


def _decode_leniently(raw: bytes) -> Any:
    from json import loads  # noqa: PLC0415 - for definitions that msgspec refuses, such as with lone surrogates

    text = raw.decode(errors="replace")
    try:
        return loads(text, strict=False)
    except (ValueError, RecursionError):
        return text


def _walk(value: Any, parameters: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the texts depth first, without recursion, because a server decides how deep its schema is."""
    if isinstance(value, dict):
        value = {key: member for key, member in value.items() if key not in UNREAD_MEMBERS}
    waiting: list[tuple[str, Any, bool]] = [("", value, False)]
    while waiting:
        place, value, are_properties = waiting.pop()
        if isinstance(value, str):
            yield place, value
        elif isinstance(value, dict):
            if are_properties:
                parameters.update(map(str.lower, value))
            for key in value:
                if _is_language(key):
                    yield f"{place} (a name)", key
            waiting += [
                (
                    f"{place}.{key}" if place else key,
                    member,
                    key in ("properties", "$defs") and not are_properties,
                )
                for key, member in reversed(value.items())
                if are_properties or key not in _NO_LANGUAGE or _is_language(member)
            ]
        elif isinstance(value, list):
            waiting += [
                (f"{place}[{index}]", member, False)
                for index, member in reversed(list(enumerate(value)))
                if isinstance(member, str | dict | list)
            ]


def _is_language(value: Any) -> bool:
    """Whether there are words where a name or a keyword of a schema belongs."""
    if isinstance(value, str):
        return value.count(" ") >= MIN_HIDDEN_WORDS
    return isinstance(value, list) and any(map(_is_language, value))
