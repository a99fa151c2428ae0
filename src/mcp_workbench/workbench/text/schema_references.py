"""Merges the references and parts of a JSON Schema into one schema.

What cannot be merged stays under its keyword (`$ref`, `allOf`), so that a reader sees that there is more. A
server's schema may be anything, refer to itself, or expand without end. Nothing is fetched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_workbench.workbench.text.json_pointer import unescape_step

if TYPE_CHECKING:
    Schema = dict[str, Any]
    Refs = frozenset[str]

MAX_PARTS: Final = 200
"""Parts that are merged into one schema, and references that are followed on the way to it."""

ANNOTATIONS: Final = frozenset(
    {
        "$comment",
        "$defs",
        "$id",
        "$schema",
        "default",
        "definitions",
        "deprecated",
        "description",
        "example",
        "examples",
        "readOnly",
        "title",
        "writeOnly",
    }
)
"""Keywords that allow and forbid nothing. If two parts have one, the outer part's is taken."""


class SchemaReferences:
    """Resolves the references of one schema document, which they point into."""

    def __init__(self, document: object) -> None:
        self._document = document

    def resolved(self, schema: object, refs: Refs = frozenset()) -> tuple[Schema, Refs]:
        """Return a schema with its references and parts merged, and the references that were followed.

        `refs` are those followed so far, which are not followed again.
        """
        if not isinstance(schema, dict):
            return {}, refs
        if "$ref" in schema:
            ref = schema["$ref"]
            if not isinstance(ref, str) or ref in refs or len(refs) >= MAX_PARTS:
                return schema, refs
            target = self._target(ref)
            if not isinstance(target, dict):
                return schema, refs
            found, refs = self.resolved(target, refs | {ref})
            schema = _merged({key: value for key, value in schema.items() if key != "$ref"}, found)
        if isinstance(parts := schema.get("allOf"), list):
            schema, refs = self._with_parts(
                {key: value for key, value in schema.items() if key != "allOf"}, parts, refs
            )
        return schema, refs

    def _with_parts(self, schema: Schema, parts: list[object], refs: Refs) -> tuple[Schema, Refs]:
        for part in parts[:MAX_PARTS]:
            # With the references of the parts before: each is followed once, or it could take for ever.
            found, refs = self.resolved(part, refs)
            schema = _merged(schema, found)
            if "allOf" in schema or "$ref" in schema:
                break
        if len(parts) > MAX_PARTS or any(part is False for part in parts):
            schema = schema | {"allOf": parts}
        return schema, refs

    def _target(self, ref: str) -> object:
        if ref != "#" and not ref.startswith("#/"):
            return None  # a reference to another document, or to an anchor
        found = self._document
        for step in filter(None, ref[1:].split("/")):
            key = unescape_step(step)
            found = found.get(key) if isinstance(found, dict) else None
        return found


def _merged(one: Schema, other: Schema) -> Schema:
    """Return a schema that says what both say. If it cannot be said in one, `allOf` holds them."""
    merged = other | one
    for key in one.keys() & other.keys() - ANNOTATIONS:
        mine, theirs = one[key], other[key]
        if mine == theirs:
            continue
        if key == "properties" and isinstance(mine, dict) and isinstance(theirs, dict):
            if any(mine[name] != theirs[name] for name in mine.keys() & theirs.keys()):
                merged["allOf"] = [one, other]
            merged[key] = theirs | mine
        elif key == "required" and isinstance(mine, list) and isinstance(theirs, list):
            merged[key] = mine + theirs
        else:
            merged["allOf"] = [one, other]
    return merged
