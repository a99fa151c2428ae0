"""What a JSON Schema says in words about its properties, with a path to each."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.workbench.text.schema_references import SchemaReferences
from mcp_workbench.workbench.text.schema_types import (
    MAX_DEPTH,
    MAX_SCHEMAS,
    choices_of,
    display_name,
    fields_of,
    literal,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_workbench.workbench.text.schema_references import Refs, Schema

MAX_NESTED: Final = 4
"""Lists and alternatives within each other, in which properties are looked for."""


class SchemaText(msgspec.Struct, frozen=True):
    """A description of a property, of the items of a list, or of a value."""

    path: str
    text: str
    is_first: bool
    """Whether nothing else is said about the same property, or about all of it."""
    has_values: bool
    """Whether the schema lists the values that are allowed."""


def texts_of(schema: object) -> Iterator[SchemaText]:
    """Return the descriptions of all properties, the outer ones first."""
    references = SchemaReferences(schema)
    level: list[tuple[str, object]] = [("", schema)]
    for _ in range(MAX_DEPTH + 2):
        inner: list[tuple[str, object]] = []
        for path, owner in level[:MAX_SCHEMAS]:
            parts = list(islice(_parts(references, owner, frozenset(), MAX_NESTED), MAX_SCHEMAS))
            if path:
                yield from _texts(path, parts)
            for part in parts:
                for name, _, field in fields_of(part):
                    inner.append((f"{path}.{display_name(name)}" if path else display_name(name), field))
        level = inner


def _texts(path: str, parts: list[Schema]) -> Iterator[SchemaText]:
    has_values = any("enum" in part or "const" in part for part in parts)
    seen: set[str] = set()
    for part in parts:
        text = part.get("description") or ("const" in part and part.get("title"))
        if isinstance(text, str) and text not in seen:
            seen.add(text)
            place = f"{path} {literal(part['const'])}" if "const" in part and part is not parts[0] else path
            yield SchemaText(place, text, len(seen) == 1 or place != path, has_values)


def _parts(references: SchemaReferences, schema: object, refs: Refs, nested: int) -> Iterator[Schema]:
    """Return a schema, and those of its items, of its other properties and of its alternatives."""
    found, refs = references.resolved(schema, refs)
    yield found
    if nested:
        items = [found.get(key) for key in ("items", "additionalProperties")]
        tuple_ = found.get("prefixItems")
        for inner in [*choices_of(found), *items, *(tuple_ if isinstance(tuple_, list) else ())]:
            if isinstance(inner, dict):
                yield from _parts(references, inner, refs, nested - 1)
