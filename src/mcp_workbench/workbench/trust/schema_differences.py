"""What changed between two JSON Schemas, in words such as `+ parameter "note": string, required`.

Owns the words for the parts of a schema. Every keyword is compared, unknown ones too, so that a schema which
says something in an unusual place does not look unchanged. The order of `required`, `enum` and `type` has no
meaning.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from mcp_workbench.workbench.trust.word_differences import Change, text_changes

if TYPE_CHECKING:
    from collections.abc import Iterator

ABSENT: Final = object()
"""Stands for a value that is not there; None is JSON's null."""
MAX_DEPTH: Final = 40
"""Schemas within schemas that are compared part by part. What is deeper is compared as a whole."""

_TEXTS: Final = frozenset({"description", "title", "$comment"})
_MAPS: Final = frozenset({"$defs", "definitions", "patternProperties", "dependentSchemas"})
"""Keywords with schemas by name."""
_VALUES: Final = frozenset({"const", "default", "dependentRequired", "example", "examples"})
"""Keywords with values that are compared as a whole."""

_Object = dict[str, object]


def value_changes(what: str, old: object, new: object, *, is_text: bool = False) -> Iterator[Change]:
    """Yield the difference of two values that are compared as a whole, or as texts."""
    if is_text and _are(str, old, new):
        yield from text_changes(what, "" if old is ABSENT else str(old), "" if new is ABSENT else str(new))
    elif to_json(old) != to_json(new):
        yield _change(what, to_json(old), to_json(new))


def to_json(value: object) -> str:
    """Return a value as JSON with sorted keys; nothing if it is absent."""
    return "" if value is ABSENT else json.dumps(value, ensure_ascii=False, sort_keys=True)


class SchemaComparison:
    """Compares two versions of a tool's schema. `noun` is what a property is called, such as `parameter`."""

    def __init__(self, member: str, noun: str) -> None:
        self._member = member
        self._noun = noun

    def changes(self, old: object, new: object) -> Iterator[Change]:
        """Yield the differences of the two schemas. Each may be absent."""
        yield from self._compare("", old, new, 0)

    def _compare(self, path: str, old: object, new: object, depth: int) -> Iterator[Change]:
        """Yield the differences of the schemas that `path` leads to."""
        if depth > MAX_DEPTH or not _are(dict, old, new):
            yield from value_changes(self._what(path), old, new)
            return
        before, after = _object(old), _object(new)
        # The properties come last, because they can be many.
        for keyword in sorted({*before, *after}, key=lambda keyword: (keyword == "properties", keyword)):
            yield from self._compare_keyword(path, keyword, before, after, depth)

    def _compare_keyword(
        self, path: str, keyword: str, before: _Object, after: _Object, depth: int
    ) -> Iterator[Change]:
        old, new = before.get(keyword, ABSENT), after.get(keyword, ABSENT)
        what = f"{self._what(path)}, {keyword}"
        if keyword == "properties" and _are(dict, old, new):
            yield from self._compare_properties(path, before, after, depth)
        elif keyword == "required" and _are(list, old, new):
            # Of names that are no properties: the others are told with their properties.
            yield from _set_changes(
                what, _required(before) - _names(before), _required(after) - _names(after)
            )
        elif keyword == "enum" and _are(list, old, new):
            yield from _set_changes(f"{self._what(path)}, value", _values(old), _values(new))
        elif keyword == "type" and _are((str, list), old, new):
            if _values(old) != _values(new):
                yield _change(what, _type_words(old), _type_words(new))
        elif keyword not in _VALUES and _are(list, old, new):
            yield from self._compare_items(_joined(path, keyword), _list(old), _list(new), depth)
        elif keyword not in _VALUES and _are(dict, old, new):
            yield from self._compare_parts(path, keyword, old, new, depth)
        else:
            yield from value_changes(what, old, new, is_text=keyword in _TEXTS)

    def _compare_properties(self, path: str, before: _Object, after: _Object, depth: int) -> Iterator[Change]:
        olds, news = _object(before.get("properties")), _object(after.get("properties"))
        for name in [*news, *(name for name in olds if name not in news)]:
            inner = _joined(path, name)
            old, new = olds.get(name, ABSENT), news.get(name, ABSENT)
            needs = [_need(name, side) for side in (before, after)]
            if old is ABSENT or new is ABSENT:
                words = [_words_of(*side) for side in zip((old, new), needs, strict=True)]
                yield _change(self._what(inner), *words)
            elif needs[0] != needs[1]:
                yield _change(self._what(inner), *needs)
            if new is not ABSENT:
                yield from self._compare(inner, _typed(new) if old is ABSENT else old, new, depth + 1)

    def _compare_items(
        self, path: str, olds: list[object], news: list[object], depth: int
    ) -> Iterator[Change]:
        for index in range(max(len(olds), len(news))):
            old, new = (side[index] if index < len(side) else ABSENT for side in (olds, news))
            if old is ABSENT or new is ABSENT:
                yield from value_changes(self._what(f"{path}[{index}]"), old, new)
            else:
                yield from self._compare(f"{path}[{index}]", old, new, depth + 1)

    def _compare_parts(
        self, path: str, keyword: str, old: object, new: object, depth: int
    ) -> Iterator[Change]:
        if keyword == "items":
            yield from self._compare(f"{path}[]", old, new, depth + 1)
        elif keyword not in _MAPS:
            yield from self._compare(_joined(path, keyword), old, new, depth + 1)
        else:
            olds, news = _object(old), _object(new)
            for name in [*news, *(name for name in olds if name not in news)]:
                inner = _joined(_joined(path, keyword), name)
                yield from self._compare(inner, olds.get(name, ABSENT), news.get(name, ABSENT), depth + 1)

    def _what(self, path: str) -> str:
        return f"{self._noun} {json.dumps(path, ensure_ascii=False)}" if path else self._member


def _change(what: str, before: str, after: str) -> Change:
    return Change("~" if before and after else "+" if after else "-", what, before, after)


def _set_changes(what: str, old: set[str], new: set[str]) -> Iterator[Change]:
    yield from (Change("+", what, after=value) for value in sorted(new - old))
    yield from (Change("-", what, before=value) for value in sorted(old - new))


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _are(kind: type | tuple[type, ...], *values: object) -> bool:
    """Whether all values are of a type, or absent."""
    return all(value is ABSENT or isinstance(value, kind) for value in values)


def _object(value: object) -> _Object:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _values(value: object) -> set[str]:
    """Return the items of a list, or the value itself, as JSON: to Python, 1 and true are equal."""
    return (
        set()
        if value is ABSENT
        else {to_json(item) for item in (value if isinstance(value, list) else [value])}
    )


def _required(schema: _Object) -> set[str]:
    return {to_json(name) for name in _list(schema.get("required"))}


def _names(schema: _Object) -> set[str]:
    return {to_json(name) for name in _object(schema.get("properties"))}


def _need(name: str, schema: _Object) -> str:
    return "required" if to_json(name) in _required(schema) else "optional"


def _words_of(schema: object, need: str) -> str:
    """Return a property that was added or removed in a few words; nothing if it is absent."""
    if schema is ABSENT:
        return ""
    words = _type_words(_object(schema).get("type", ABSENT)) if isinstance(schema, dict) else to_json(schema)
    return f"{words or 'any type'}, {need}"


def _type_words(value: object) -> str:
    """Return the type of a schema: `string`, or `string or null`; nothing if it has none."""
    items = value if isinstance(value, list) else [value]
    return " or ".join(item if isinstance(item, str) else to_json(item) for item in items)


def _typed(schema: object) -> object:
    """Return what the words about a new property have said of its schema: its type, or all of it."""
    if not isinstance(schema, dict):
        return schema
    return (
        {"type": schema["type"]} if _are((str, list), schema.get("type", ABSENT)) and "type" in schema else {}
    )
