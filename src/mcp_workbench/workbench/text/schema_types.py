"""Writes a JSON Schema as a short type: `string`, `"a"|"b"`, `{x: number, y?: number}[]`.

Owns the notation and its limits: a server's schema may be anything, refer to itself, or expand without end.
Knows nothing of tools.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.text.json_pointer import unescape_step
from mcp_workbench.workbench.text.shortening import MORE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Schema = dict[str, Any]
    Refs = frozenset[str]

__all__ = ["Field", "SchemaTypes", "display_name", "literal"]

MAX_DEPTH: Final = 3
"""Objects within objects that are shown; deeper ones are just `object`."""
MAX_SCHEMAS: Final = 100
"""Schemas that are read for one type: references can make millions out of a few lines."""
FIELDS_CHARACTERS: Final = 360
"""Length of the properties of one object."""
CHOICES_CHARACTERS: Final = 160
"""Length of the alternatives of one type."""
TYPE_CHARACTERS: Final = 400
"""Length of a whole type with all its parts."""

ANY: Final = "any"
NULL: Final = "null"

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][\w.\-/:]*", re.ASCII)
_WORD: Final = re.compile(r"[a-zA-Z][\w\-]{0,20}", re.ASCII)
_PLAIN_FORMATS: Final = frozenset({"string", "text", "password"})

Field = tuple[str, bool, object]
"""A property's name, whether it is required, and its schema."""


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
        self._has_omitted = False

    def write(self, schema: object) -> str:
        """Return the type of a schema, as precise as the limits allow."""
        for depth in range(MAX_DEPTH, -1, -1):
            self._left, self._has_omitted = MAX_SCHEMAS, False
            kinds = self._alternatives(schema, depth, frozenset())
            if len(kinds) > 1 and isinstance(schema, dict) and schema.get("default", ...) is None:
                # A parameter whose default is null is better left out than given as null.
                kinds = [kind for kind in kinds if kind != NULL]
            text = _joined(kinds)
            # All names with less detail say more than some of the names.
            if len(text) <= TYPE_CHARACTERS and (depth <= 1 or not self._has_omitted):
                return text
        return ANY

    def fields(self, schema: object) -> list[Field]:
        """Return the properties of an object, the required ones first."""
        return list(_fields(self.resolved(schema)))

    def resolved(self, schema: object) -> Schema:
        """Return a schema with its references and parts merged; empty if it says nothing."""
        return self._resolved(schema, frozenset())[0]

    def _alternatives(self, schema: object, depth: int, refs: Refs) -> list[str]:
        self._left -= 1
        if schema is False:
            return ["never"]
        found, refs = self._resolved(schema, refs)
        if self._left < 0 or not found:
            return [ANY]
        if "const" in found:
            return [_short_literal(found["const"])]
        if isinstance(values := found.get("enum"), list) and values:
            return [_short_literal(value) for value in values[:MAX_SCHEMAS]]
        choices = found.get("anyOf") or found.get("oneOf")
        if isinstance(choices, list) and choices and not found.get("properties"):
            kinds = [
                kind for choice in choices[:MAX_SCHEMAS] for kind in self._alternatives(choice, depth, refs)
            ]
            if ANY not in kinds or "type" not in found:
                return kinds
        kinds = found.get("type", ())
        if isinstance(kinds, list):
            return [self._of_kind(kind, found, depth, refs) for kind in kinds] or [ANY]
        return [self._of_kind(kinds, found, depth, refs)]

    def _of_kind(self, kind: object, schema: Schema, depth: int, refs: Refs) -> str:
        if kind == "object" or (not kind and ("properties" in schema or "additionalProperties" in schema)):
            return self._object(schema, depth, refs)
        if kind == "array" or (not kind and ("items" in schema or "prefixItems" in schema)):
            return self._array(schema, depth, refs)
        if not isinstance(kind, str) or not _WORD.fullmatch(kind):
            return ANY
        form = schema.get("format")
        if kind == "string" and isinstance(form, str) and _WORD.fullmatch(form):
            return kind if form in _PLAIN_FORMATS else f"{kind}:{form}"
        return kind

    def _object(self, schema: Schema, depth: int, refs: Refs) -> str:
        if depth <= 0:
            return "object"
        fields: list[str] = []
        space = FIELDS_CHARACTERS
        for name, is_required, inner in _fields(schema):
            mark = "" if is_required else "?"
            field = f"{display_name(name)}{mark}: {self._inner(inner, depth - 1, refs)}"
            space -= len(field) + 2
            if space < 0 or self._left < 0:
                fields.append(MORE)
                self._has_omitted = True
                break
            fields.append(field)
        others = schema.get("additionalProperties")
        if isinstance(others, dict) and others:
            fields.append(f"[key]: {self._inner(others, depth - 1, refs)}")
        return f"{{{', '.join(fields)}}}" if fields else "object"

    def _array(self, schema: Schema, depth: int, refs: Refs) -> str:
        items = schema.get("prefixItems") or schema.get("items", True)
        if isinstance(items, list):
            return f"[{', '.join(self._inner(item, depth, refs) for item in items[:MAX_SCHEMAS])}]"
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


def _fields(schema: Schema) -> Iterator[Field]:
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


def _short_literal(value: object) -> str:
    text = literal(value)
    return text if len(text) <= CHOICES_CHARACTERS else "string" if isinstance(value, str) else ANY


def _joined(kinds: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(kinds))
    if ANY in distinct:
        return ANY
    shown: list[str] = []
    space = CHOICES_CHARACTERS
    for kind in distinct:
        space -= len(kind) + 1
        if shown and space < 0:
            return "|".join([*shown, MORE])
        shown.append(kind)
    return "|".join(shown)
