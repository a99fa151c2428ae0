"""Writes a JSON Schema as a short type: `string`, `"a"|"b"`, `integer(1..100)`, `{x: number, y?: number}[]`.

Owns the notation, and what cannot be said in it. Knows nothing of tools. `schema_references` merges
references and parts before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeGuard

from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.text.schema_references import SchemaReferences
from mcp_workbench.workbench.text.shortening import MORE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcp_workbench.workbench.text.schema_references import Refs, Schema

__all__ = ["Field", "Inexpressible", "SchemaTypes", "choices_of", "display_name", "fields_of", "literal"]

MAX_DEPTH: Final = 3
"""Objects within objects that a type may have. Deeper ones are hard to read on one line."""
MAX_SCHEMAS: Final = 200
"""Schemas that are read for one type: references can make millions out of a few lines."""
TYPE_CHARACTERS: Final = 2000
"""Length of a whole type with all its parts."""
PATTERN_CHARACTERS: Final = 40
"""Length of a regular expression that is written into a type."""
DEFAULT_CHARACTERS: Final = 24
"""Length of a default value; a longer one is only marked."""
MAX_PLAIN_BOUND: Final = 2**31 - 2
"""The largest bound that is certainly meant, and not the largest number of an integer type."""

ANY: Final = "any"
NULL: Final = "null"

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_](?:[\w.\-/:]*[\w.\-/])?", re.ASCII)
_WORD: Final = re.compile(r"[a-zA-Z][\w\-]{0,20}", re.ASCII)
_PLAIN_FORMATS: Final = frozenset({"string", "text", "password"})
_UNSAID: Final = (
    "$dynamicRef",
    "$recursiveRef",
    "$ref",  # to itself, or to nothing that is known
    "additionalItems",
    "allOf",  # of parts that contradict each other
    "contains",
    "contentEncoding",
    "contentMediaType",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "if",
    "maxProperties",
    "minProperties",
    "multipleOf",
    "not",
    "patternProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
)
"""Keywords for which there is no notation. `false` as their value says nothing that a model needs."""
_ONLY_WITH_TYPE: Final = (
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "pattern",
    "required",
)
"""Keywords that are written behind a type, and cannot be said without one."""
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
        self._references = SchemaReferences(document)
        self._left = 0

    def write(self, schema: object) -> str:
        """Return the type of a schema. Raises Inexpressible."""
        self._left = MAX_SCHEMAS
        kinds = self._alternatives(schema, MAX_DEPTH, frozenset())
        if len(kinds) > 1 and isinstance(schema, dict) and schema.get("default", ...) is None:
            # A parameter whose default is null is better left out than given as null.
            kinds = [kind for kind in kinds if kind != NULL]
        text = _joined(kinds) + self._default(schema)
        if len(text) > TYPE_CHARACTERS:
            raise Inexpressible
        return text

    def fields(self, schema: object) -> list[Field]:
        """Return the properties of an object, the required ones first. Raises Inexpressible."""
        found, _ = self._references.resolved(schema)
        _refuse_unsaid(found)
        fields = list(fields_of(found))
        if fields and (choices_of(found) or _is_said(found.get("additionalProperties"))):
            raise Inexpressible
        return fields

    def _alternatives(self, schema: object, depth: int, refs: Refs) -> list[str]:
        self._left -= 1
        if schema is False:
            return ["never"]
        found, refs = self._references.resolved(schema, refs)
        if self._left < 0:
            raise Inexpressible
        _refuse_unsaid(found)
        if "const" in found:
            return [literal(found["const"])]
        if isinstance(values := found.get("enum"), list) and values:
            return [literal(value) for value in values]
        if choices := choices_of(found):
            return self._either(found, choices, depth, refs)
        kinds = found.get("type", ())
        if isinstance(kinds, list):
            return [self._of_kind(kind, found, depth, refs) for kind in kinds] or [ANY]
        return [self._of_kind(kinds, found, depth, refs)]

    def _either(self, schema: Schema, choices: list[object], depth: int, refs: Refs) -> list[str]:
        if _has(schema, *_ONLY_WITH_TYPE, "properties", "items", "prefixItems"):
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
            if _has(schema, *_ONLY_WITH_TYPE):
                raise Inexpressible
            return ANY
        return kind + (_form(schema) if kind == "string" else "") + _bounds(kind, schema)

    def _object(self, schema: Schema, depth: int, refs: Refs) -> str:
        fields: list[str] = []
        for name, is_required, inner in fields_of(schema):
            if depth <= 0 or self._left < 0:
                raise Inexpressible
            mark, kind = "" if is_required else "?", self._inner(inner, depth - 1, refs)
            fields.append(f"{display_name(name)}{mark}: {kind}{self._default(inner)}")
        if _is_said(others := schema.get("additionalProperties")):
            fields.append(f"[key]: {self._inner(others, depth - 1, refs)}")
        return f"{{{', '.join(fields)}}}" if fields else "object"

    def _array(self, schema: Schema, depth: int, refs: Refs) -> str:
        items = schema.get("prefixItems") or schema.get("items", True)
        if isinstance(items, list):
            if items is not schema.get("items") and _is_said(schema.get("items")):
                raise Inexpressible
            return f"[{', '.join(self._inner(item, depth, refs) for item in items)}]"
        kinds = list(dict.fromkeys(self._alternatives(items, depth, refs)))
        return f"{kinds[0]}[]" if len(kinds) == 1 else f"({_joined(kinds)})[]"

    def _inner(self, schema: object, depth: int, refs: Refs) -> str:
        return _joined(self._alternatives(schema, depth, refs))

    def _default(self, schema: object) -> str:
        value = self._references.resolved(schema)[0].get("default")
        if value is None:
            return ""
        text = literal(value)
        return f" = {text if len(text) <= DEFAULT_CHARACTERS else MORE}"


def choices_of(schema: Schema) -> list[object]:
    """Return the alternatives of a schema; empty if it has none."""
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


def _has(schema: Schema, *keys: str) -> bool:
    return any(schema.get(key) not in (None, [], {}, "") for key in keys)


def _refuse_unsaid(schema: Schema) -> None:
    if any(schema.get(key, False) is not False for key in _UNSAID) or (
        schema.get("anyOf") and schema.get("oneOf")
    ):
        raise Inexpressible


def _is_said(schema: object) -> bool:
    """Whether a schema for all other items or properties says something about them."""
    return isinstance(schema, dict) and bool(schema)


def _form(schema: Schema) -> str:
    """Return the format of a string, and its pattern."""
    form, pattern = schema.get("format"), schema.get("pattern")
    said = ""
    if isinstance(form, str) and _WORD.fullmatch(form) and form not in _PLAIN_FORMATS:
        said = f":{form}"
    if isinstance(pattern, str) and pattern:
        if len(pattern) > PATTERN_CHARACTERS:
            raise Inexpressible
        said += f":/{pattern}/"
    return said


def _bounds(kind: str, schema: Schema) -> str:
    """Return the bounds of a number or of a length, as `(1..100)`, or `(>0..)` without the bound itself."""
    if kind not in _BOUNDS:
        return ""
    lowest, highest = _BOUNDS[kind]
    low, high = (_bound(schema, lowest, ">"), _bound(schema, highest, "<"))
    if kind in ("string", "array") and low == "0":
        low = ""
    return f"({low}..{high})" if low or high else ""


def _bound(schema: Schema, key: str, sign: str) -> str:
    value, exclusive = schema.get(key), schema.get(f"exclusive{key.capitalize()}")
    if _is_number(exclusive):
        if _is_number(value) and not _is_limit_of_a_type(value):
            raise Inexpressible  # two bounds on one side
        value, exclusive = exclusive, True
    if not _is_number(value) or _is_limit_of_a_type(value):
        return ""
    return f"{sign if exclusive is True else ''}{literal(value)}"


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_limit_of_a_type(value: float) -> bool:
    """Whether a bound is the largest or smallest number of an integer type, and says nothing."""
    if abs(value) <= MAX_PLAIN_BOUND:
        return False
    whole = int(abs(value))
    return not (whole & (whole - 1) and whole & (whole + 1))


def _joined(kinds: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(kinds))
    return ANY if ANY in distinct else "|".join(distinct)
