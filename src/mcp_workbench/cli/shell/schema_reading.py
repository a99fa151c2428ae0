"""Reads a JSON Schema for people: which values it allows, which fields an object has, and its type in short.

Unlike a signature for a model, the short type may leave something out: the descriptions are shown beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from mcp_workbench.wire.message import ABSENT, decode_members
from mcp_workbench.workbench.text.schema_references import SchemaReferences
from mcp_workbench.workbench.text.schema_types import fields_of, literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_workbench.workbench.text.schema_types import Field

    Schema = dict[str, Any]

MAX_SCHEMAS: Final = 100
"""Schemas that are read for one type."""
MAX_TYPES_SHOWN: Final = 12
ANY: Final = "any"


class SchemaReader:
    """Reads the schemas of one document, which its references point into."""

    def __init__(self, document: object) -> None:
        self._references = SchemaReferences(document)

    def resolved(self, schema: object) -> Schema:
        """Return a schema with its references and parts merged, as far as they can be."""
        return self._references.resolved(schema)[0]

    def alternatives(self, schema: object) -> list[Schema]:
        """Return the schemas of which one has to fit, each with at most one type."""
        return self._expanded(schema, [MAX_SCHEMAS])

    def _expanded(self, schema: object, left: list[int]) -> list[Schema]:
        """Return the alternatives of a schema. `left` counts how many schemas may still be read."""
        left[0] -= 1
        if left[0] < 0:
            return [{}]  # references can make millions of alternatives out of a few lines
        found = self.resolved(schema)
        choices = found.get("anyOf") or found.get("oneOf")
        if isinstance(choices, list) and choices:
            rest = {key: value for key, value in found.items() if key not in ("anyOf", "oneOf")}
            shown = choices[:MAX_SCHEMAS]
            return [rest | each for choice in shown for each in self._expanded(choice, left)]
        kinds = found.get("type")
        return [found | {"type": kind} for kind in kinds] if isinstance(kinds, list) and kinds else [found]

    def fields(self, schema: object) -> Iterator[Field]:
        """Yield the fields of an object, the required ones first: name, whether required, and schema."""
        return fields_of(self.resolved(schema))

    def kind_of(self, schema: object) -> str:
        """Return the type of a schema in short, such as `string`, `integer|null` or `"a"|"b"`."""
        return self._kind_of(schema, [MAX_SCHEMAS])

    def _kind_of(self, schema: object, left: list[int]) -> str:
        alternatives = self._expanded(schema, left)
        kinds = list(dict.fromkeys(kind for each in alternatives for kind in self._kinds(each, left)))
        if ANY in kinds:
            return ANY
        return "|".join([*kinds[:MAX_TYPES_SHOWN], *(["…"] if len(kinds) > MAX_TYPES_SHOWN else [])])

    def _kinds(self, schema: Schema, left: list[int]) -> Iterator[str]:
        if values := allowed_values(schema):
            yield from map(literal, values)
            return
        kind = kind_in(schema)
        if kind == "array":
            inner = self._kind_of(schema.get("items", True), left)
            yield f"({inner})[]" if "|" in inner else f"{inner}[]"
        else:
            form = schema.get("format")
            yield f"{kind}:{form}" if kind == "string" and isinstance(form, str) else kind or ANY


def input_schema(definition: msgspec.Raw | None) -> object:
    """Return the input schema in a tool's definition; one that allows everything if there is none."""
    raw = ABSENT if definition is None else decode_members(definition).get("inputSchema", ABSENT)
    try:
        return msgspec.json.decode(raw) if raw else {}
    except (msgspec.DecodeError, RecursionError):
        return {}


def kind_in(schema: Schema) -> str | None:
    """Return the type that a schema names, or that its other members imply; None if there is none."""
    kind = schema.get("type")
    if kind is None:
        kind = "object" if "properties" in schema else "array" if "items" in schema else None
    return kind if isinstance(kind, str) else None


def allowed_values(schema: Schema) -> list[object]:
    """Return the only values that a schema allows; empty if it allows more than some."""
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else []
