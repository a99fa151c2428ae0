"""Writes a JSON Schema as a short type: `string`, `"a"|"b"`, `integer(1..100)`, `{x: number, y?: number}[]`.

Owns the notation, and what cannot be said in it. Knows nothing of tools. A server's schema may be anything,
refer to itself, or expand without end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.text.json_pointer import unescape_step

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Schema = dict[str, Any]
    Refs = frozenset[str]

__all__ = ["Field", "Inexpressible", "SchemaTypes", "display_name", "fields_of", "literal"]

MAX_DEPTH: Final = 3
"""Objects within objects that a type may have. Deeper ones are hard to read on one line."""
MAX_SCHEMAS: Final = 200
"""Schemas that are read for one type: references can make millions out of a few lines."""
TYPE_CHARACTERS: Final = 2000
"""Length of a whole type with all its parts."""
PATTERN_CHARACTERS: Final = 40
"""Length of a regular expression that is written into a type."""
MAX_BOUND: Final = 2**31 - 2
"""The largest bound that is written. Larger ones are those of an integer type, and say nothing."""

ANY: Final = "any"
NULL: Final = "null"

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][\w.\-/:]*", re.ASCII)
_WORD: Final = re.compile(r"[a-zA-Z][\w\-]{0,20}", re.ASCII)
_PLAIN_FORMATS: Final = frozenset({"string", "text", "password"})
_UNSAID: Final = (
    "if",
    "not",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "propertyNames",
    "$dynamicRef",
)
"""Keywords for which there is no notation."""
_BOUNDS: Final = {
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
}

Field = tuple[str, bool, object]
"""A property's name, whether it is required, and its schema."""


class Inexpressible(Exception):
    """The schema says something that a short type cannot say."""


def display_name(name: str) -> str:
    """Return the name, as a JSON string if it could be taken for something else."""
    return name if _PLAIN_NAME.fullmatch(name) else literal(name)


def literal(value: object) -> str:
    """Return a value as JSON text."""
    return encode(value).decode()


class SchemaTypes:
    """Writes the types of one schema document, which its references point into."""

    def __init__(self, document: object) -> None:
        self._document = document
        self._left = 0

    def write(self, schema: object) -> str:
        """Return the type of a schema. Raises Inexpressible."""
        self._left = MAX_SCHEMAS
        kinds = self._alternatives(schema, MAX_DEPTH, frozenset())
        if len(kinds) > 1 and isinstance(schema, dict) and schema.get("default", ...) is None:
            # A parameter whose default is null is better left out than given as null.
            kinds = [kind for kind in kinds if kind != NULL]
        text = _joined(kinds)
        if len(text) > TYPE_CHARACTERS:
            raise Inexpressible
        return text

    def fields(self, schema: object) -> list[Field]:
        """Return the properties of an object, the required ones first. Raises Inexpressible."""
        found, _ = self._resolved(schema, frozenset())
        if any(key in found for key in _UNSAID) or (found.get("properties") and _choices(found)):
            raise Inexpressible
        return list(fields_of(found))

    def texts(self, schema: object) -> Iterator[tuple[str, str]]:
        """Return the descriptions of all properties, with a path to each, the outer ones first."""
        level: list[tuple[str, object]] = [("", schema)]
        for _ in range(MAX_DEPTH + 1):
            inner: list[tuple[str, object]] = []
            for path, owner in level[:MAX_SCHEMAS]:
                for name, _, field in self._inner_fields(owner):
                    place = f"{path}.{display_name(name)}" if path else display_name(name)
                    inner.append((place, field))
                    description = field.get("description") if isinstance(field, dict) else None
                    if isinstance(description, str):
                        yield place, description
            level = inner

    def _inner_fields(self, schema: object) -> Iterator[Field]:
        """Return the properties of an object, or of the objects in a list, or of the alternatives."""
        found, refs = self._resolved(schema, frozenset())
        if isinstance(items := found.get("items"), dict):
            found, refs = self._resolved(items, refs)
        yield from fields_of(found)
        for choice in _choices(found):
            yield from fields_of(self._resolved(choice, refs)[0])

    def resolved(self, schema: object) -> Schema:
        """Return a schema with its references and parts merged; empty if it says nothing."""
        return self._resolved(schema, frozenset())[0]

    def _alternatives(self, schema: object, depth: int, refs: Refs) -> list[str]:
        self._left -= 1
        if schema is False:
            return ["never"]
        found, refs = self._resolved(schema, refs)
        if self._left < 0 or any(key in found for key in _UNSAID):
            raise Inexpressible
        if not found:
            if schema and isinstance(schema, dict):
                raise Inexpressible  # a reference to itself, or to nothing
            return [ANY]
        if "const" in found:
            return [literal(found["const"])]
        if isinstance(values := found.get("enum"), list) and values:
            return [literal(value) for value in values]
        if choices := _choices(found):
            return self._either(found, choices, depth, refs)
        kinds = found.get("type", ())
        if isinstance(kinds, list):
            return [self._of_kind(kind, found, depth, refs) for kind in kinds] or [ANY]
        return [self._of_kind(kinds, found, depth, refs)]

    def _either(self, schema: Schema, choices: list[object], depth: int, refs: Refs) -> list[str]:
        if schema.get("properties"):
            raise Inexpressible
        kinds = [kind for choice in choices for kind in self._alternatives(choice, depth, refs)]
        # Several objects differ in what belongs together, which a line does not show well.
        if sum(kind.startswith("{") for kind in kinds) > 1 or (ANY in kinds and "type" in schema):
            raise Inexpressible
        return kinds

    def _of_kind(self, kind: object, schema: Schema, depth: int, refs: Refs) -> str:
        if kind == "object" or (not kind and ("properties" in schema or "additionalProperties" in schema)):
            return self._object(schema, depth, refs)
        if kind == "array" or (not kind and ("items" in schema or "prefixItems" in schema)):
            return self._array(schema, depth, refs) + _bounds("array", schema)
        if not isinstance(kind, str) or not _WORD.fullmatch(kind):
            return ANY
        return kind + (_form(schema) if kind == "string" else "") + _bounds(kind, schema)

    def _object(self, schema: Schema, depth: int, refs: Refs) -> str:
        fields: list[str] = []
        for name, is_required, inner in fields_of(schema):
            if depth <= 0 or self._left < 0:
                raise Inexpressible
            mark = "" if is_required else "?"
            fields.append(f"{display_name(name)}{mark}: {self._inner(inner, depth - 1, refs)}")
        others = schema.get("additionalProperties")
        if isinstance(others, dict) and others:
            fields.append(f"[key]: {self._inner(others, depth - 1, refs)}")
        return f"{{{', '.join(fields)}}}" if fields else "object"

    def _array(self, schema: Schema, depth: int, refs: Refs) -> str:
        items = schema.get("prefixItems") or schema.get("items", True)
        if isinstance(items, list):
            return f"[{', '.join(self._inner(item, depth, refs) for item in items)}]"
        kinds = list(dict.fromkeys(self._alternatives(items, depth, refs)))
        return f"{kinds[0]}[]" if len(kinds) == 1 else f"({_joined(kinds)})[]"

    def _inner(self, schema: object, depth: int, refs: Refs) -> str:
        return _joined(self._alternatives(schema, depth, refs))

    def _resolved(self, schema: object, refs: Refs) -> tuple[Schema, Refs]:
        """Return a schema with its references and parts merged, and the references; empty for a cycle."""
        if not isinstance(schema, dict):
            return {}, refs
        if isinstance(ref := schema.get("$ref"), str):
            if ref in refs or len(refs) > MAX_SCHEMAS:
                return {}, refs
            target, refs = self._resolved(self._target(ref), refs | {ref})
            schema = target | {key: value for key, value in schema.items() if key != "$ref"}
        parts = schema.get("allOf")
        if isinstance(parts, list):
            merged = {key: value for key, value in schema.items() if key != "allOf"}
            for part in parts[:MAX_SCHEMAS]:
                found, refs = self._resolved(part, refs)
                merged = _merged(merged, found)
            schema = merged
        return schema, refs

    def _target(self, ref: str) -> object:
        found = self._document
        if not ref.startswith("#"):
            return None  # a reference to another document, which is not fetched
        for step in filter(None, ref[1:].split("/")):
            key = unescape_step(step)
            found = found.get(key) if isinstance(found, dict) else None
        return found


def _choices(schema: Schema) -> list[object]:
    choices = schema.get("anyOf") or schema.get("oneOf")
    return choices[:MAX_SCHEMAS] if isinstance(choices, list) else []


def fields_of(schema: Schema) -> Iterator[Field]:
    """Yield the properties of a resolved schema, the required ones first."""
    properties, names = schema.get("properties"), schema.get("required")
    properties = properties if isinstance(properties, dict) else {}
    required = {name: None for name in names if isinstance(name, str)} if isinstance(names, list) else {}
    yield from ((name, True, inner) for name, inner in properties.items() if name in required)
    yield from ((name, True, True) for name in required if name not in properties)
    yield from ((name, False, inner) for name, inner in properties.items() if name not in required)


def _merged(one: Schema, other: Schema) -> Schema:
    merged = other | one
    if isinstance(one.get("properties"), dict) and isinstance(other.get("properties"), dict):
        merged["properties"] = other["properties"] | one["properties"]
    if isinstance(one.get("required"), list) and isinstance(other.get("required"), list):
        merged["required"] = one["required"] + other["required"]
    return merged


def _form(schema: Schema) -> str:
    """Return the format of a string, or its pattern."""
    form, pattern = schema.get("format"), schema.get("pattern")
    if isinstance(pattern, str) and pattern:
        if len(pattern) > PATTERN_CHARACTERS:
            raise Inexpressible
        return f":/{pattern}/"
    if isinstance(form, str) and _WORD.fullmatch(form) and form not in _PLAIN_FORMATS:
        return f":{form}"
    return ""


def _bounds(kind: str, schema: Schema) -> str:
    """Return the bounds of a number or of a length, as `(1..100)`; nothing if they hardly bound it."""
    if kind not in _BOUNDS:
        return ""
    low, high = (_bound(schema.get(key)) for key in _BOUNDS[kind])
    if kind in ("string", "array") and low in ("0", "1"):
        low = ""  # hardly anybody gives an empty text
    return f"({low}..{high})" if low or high else ""


def _bound(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return literal(value) if abs(value) <= MAX_BOUND else ""


def _joined(kinds: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(kinds))
    return ANY if ANY in distinct else "|".join(distinct)
