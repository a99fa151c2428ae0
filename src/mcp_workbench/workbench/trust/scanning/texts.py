"""Collects what a model reads in a tool's definition: every text, with the place where it stands."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from mcp_workbench.protocol.lists import UNREAD_MEMBERS
from mcp_workbench.workbench.trust.digests import is_twice, pairs_of, parsed_value

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
    twice: tuple[tuple[str, str], ...]
    """Members that their object has twice: pairs of the place and the name."""


def texts_of(definition: msgspec.Raw | bytes) -> ToolTexts:
    """Return the texts of a definition in their order. A definition that is not JSON is one text.

    If an object has two members of one name, the texts of both are returned.
    """
    raw = bytes(definition)
    twice: tuple[tuple[str, str], ...] = ()
    try:
        value = whole = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = whole = _decode_all(raw)
        twice = tuple(_members_twice(whole))
    else:
        if _may_lose_members(raw, value):
            whole = _decode_all(raw)
            twice = tuple(_members_twice(whole))
    name = value.get("name") if isinstance(value, dict) else None
    parameters: set[str] = set()
    texts = tuple(_walk(whole, parameters))
    return ToolTexts(name if isinstance(name, str) else "", frozenset(parameters), texts, twice)


def _may_lose_members(raw: bytes, value: Any) -> bool:
    """Whether a decoded value may have fewer members than its JSON, which has some twice then.

    Each member has a colon. Written again, the value has as many colons as the JSON, unless a member is
    lost, or the JSON spells a colon with digits. That is much cheaper than to look at each member.
    """
    try:
        return b"\\u003" in raw or raw.count(b":") != msgspec.json.encode(value).count(b":")
    except (ValueError, OverflowError, RecursionError):
        return True


def _decode_all(raw: bytes) -> Any:
    """Decode JSON with all members that an object has twice, also if msgspec refuses it."""
    text = raw.decode(errors="replace")
    try:
        return parsed_value(text)
    except (ValueError, RecursionError):
        return text


def _members_twice(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the place and name of each member that its object has twice."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(f"{place}.{key}" if place else key, member) for key, member in value.items()]
        elif is_twice(value):
            pairs = pairs_of(value)
            names = Counter(name for name, _ in pairs)
            yield from ((place, name) for name, count in names.items() if count > 1)
            waiting += [(f"{place}.{key}" if place else key, member) for key, member in pairs]
        elif isinstance(value, list):
            waiting += [(f"{place}[{index}]", member) for index, member in enumerate(value)]


def _walk(value: Any, parameters: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the texts depth first, without recursion, because a server decides how deep its schema is."""
    if isinstance(value, dict):
        value = {key: member for key, member in value.items() if key not in UNREAD_MEMBERS}
    waiting: list[tuple[str, Any, bool]] = [("", value, False)]
    while waiting:
        place, value, are_properties = waiting.pop()
        if isinstance(value, str):
            yield place, value
        elif isinstance(value, dict) or is_twice(value):
            members = value.items() if isinstance(value, dict) else pairs_of(value)
            names = value if isinstance(value, dict) else [name for name, _ in members]
            if are_properties:
                parameters.update(map(str.lower, names))
            for key in names:
                if _is_language(key):
                    yield f"{place} (a name)", key
            waiting += [
                (
                    f"{place}.{key}" if place else key,
                    member,
                    key in ("properties", "$defs") and not are_properties,
                )
                for key, member in reversed(members)
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
