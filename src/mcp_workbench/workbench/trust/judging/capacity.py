"""How much the value of a parameter can carry, by its schema.

Owns what counts as free text, by which a model could be made to hand out what it knows. The rule is
conservative: what is not recognised as limited is free text.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Any, Final

from mcp_workbench.workbench.trust.digests import json_digest

MAX_VISITS: Final = 20_000
"""Parts of one schema that are looked at, by every way that leads there. One with more is not compared."""
MAX_SHORT_CHARACTERS: Final = 64
"""Length up to which a string is too short to carry much."""
MAX_SHORT_ITEMS: Final = 8
"""So many short strings in an array do not carry much."""

ANNOTATIONS: Final = frozenset(
    (
        *("title", "description", "$comment", "default", "example", "examples"),
        *("deprecated", "readOnly", "writeOnly", "$schema", "$defs", "definitions"),
    )
)
"""Keywords that do not limit a value."""
_NARROW_TYPES: Final = frozenset(("number", "integer", "boolean", "null"))
_TYPES: Final = frozenset(("string", "object", "array", *_NARROW_TYPES))
_FIXED_FORMATS: Final = frozenset(("date", "time", "date-time", "duration", "uuid", "ipv4", "ipv6"))
_UNREAD_REFERENCES: Final = ("$dynamicRef", "$recursiveRef")
_TUPLES: Final = frozenset(("prefixItems", "additionalItems", "unevaluatedItems"))

_ATOM: Final = r"(?:[A-Za-z0-9_:/@, -]|\\[dwDW.+*/-]|\[[^\[\]\\]+\]|\.)"
_SHORT_PATTERN: Final = re.compile(rf"\^(?:{_ATOM}(?:\?|\{{\d{{1,2}}(?:,\d{{1,2}})?\}})?)*+\$")
"""Matches an anchored pattern without groups and alternatives, which repeats nothing without a bound."""
_PARTS_OF_PATTERN: Final = re.compile(rf"{_ATOM}(?:\{{(?:\d+,)?(\d+)\}})?")


class Capacity(IntEnum):
    """How much a value can carry."""

    NARROW = 0
    """A number, a boolean, null or one of some fixed values, or any number of these."""
    SHORT = 1
    """A short text, or an object with named members only, which are looked at by themselves."""
    SEVERAL = 2
    """A few short texts, which an array has at most."""
    FREE = 3
    """Any text or any data, as far as is known."""
    UNKNOWN = 4
    """What a reference leads to that is not followed."""


class TooManyParameters(Exception):
    """The schema has more parts than are looked at."""


class LimitReader:
    """Reads the parts of one schema, through references."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._visits = 0
        # By the identity of the part, which the root keeps alive.
        self._known: dict[int, Capacity] = {}
        self._known_free: dict[int, bool] = {}
        self._resolved: dict[str, Any] = {}
        self._has_bases: bool | None = None
        self._digest = ""

    def count(self) -> None:
        """Count a visit to a part of the schema. Raises TooManyParameters."""
        self._visits += 1
        if self._visits > MAX_VISITS:
            raise TooManyParameters

    @property
    def digest(self) -> str:
        """The digest of the whole schema, for parts that can only be compared as a whole."""
        self._digest = self._digest or json_digest(self._root)
        return self._digest

    def resolved(self, reference: Any) -> Any:
        """Return the part that a reference such as `#/$defs/size` leads to; None if it is not such a one."""
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return None
        if reference not in self._resolved:
            self._resolved[reference] = self._part(reference)
        return self._resolved[reference]

    def _part(self, reference: str) -> Any:
        if self._has_bases is None:
            self._has_bases = _has_bases(self._root)
        part = self._root
        for step in reference[2:].split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            if self._has_bases or not isinstance(part, dict) or key not in part:
                return None
            part = part[key]
        return part

    def is_unread(self, schema: dict[str, Any]) -> bool:
        """Whether a schema refers to something that cannot be found by a plain pointer."""
        if any(keyword in schema for keyword in _UNREAD_REFERENCES):
            return True
        return "$ref" in schema and self.resolved(schema["$ref"]) is None

    def capacity(self, schema: Any) -> Capacity:
        """Return how much a value of a schema can carry. Named members are looked at by themselves."""
        if not isinstance(schema, dict):
            return Capacity.NARROW if schema is False else Capacity.FREE
        key = id(schema)
        if key not in self._known:
            self.count()
            self._known[key] = Capacity.FREE  # for a schema that contains itself
            self._known[key] = self._capacity(schema)
        return self._known[key]

    def _capacity(self, schema: dict[str, Any]) -> Capacity:
        if self.is_unread(schema):
            return Capacity.UNKNOWN
        # Readers differ on whether other keywords count beside a reference, so the largest of all counts.
        parts = [self.resolved(schema["$ref"])] if "$ref" in schema else []
        if not parts and _is_fixed(schema):
            return Capacity.NARROW
        for keyword in ("anyOf", "oneOf", "allOf"):
            if keyword in schema:
                branches = schema[keyword]
                parts += branches if isinstance(branches, list) and branches else [True]
        found = [self.capacity(part) for part in parts]
        if not parts or "type" in schema:
            found.append(self._capacity_of_type(schema))
        return max(found)

    def _capacity_of_type(self, schema: dict[str, Any]) -> Capacity:
        types = types_of(schema)
        if not types:
            return Capacity.FREE
        found = [Capacity.NARROW]
        if "string" in types:
            found.append(Capacity.SHORT if _is_short(schema) else Capacity.FREE)
        if "object" in types:
            found.append(Capacity.SHORT if is_closed(schema) else Capacity.FREE)
        if "array" in types:
            found.append(self._capacity_of_array(schema))
        return max(found)

    def _capacity_of_array(self, schema: dict[str, Any]) -> Capacity:
        items = schema.get("items")
        if not isinstance(items, dict) or not _TUPLES.isdisjoint(schema):
            return Capacity.FREE
        inner = self.capacity(items)
        if inner is Capacity.SHORT:
            is_small = _is_limit(schema.get("maxItems"), MAX_SHORT_ITEMS)
            return Capacity.SEVERAL if is_small else Capacity.FREE
        return inner if inner is Capacity.NARROW else Capacity.FREE

    def is_surely_free(self, schema: Any) -> bool:
        """Whether a value can certainly be any text or any data, so that no change can widen it.

        Where `capacity` is in doubt, it says that a value is free. An approved schema must not gain by that.
        """
        if not isinstance(schema, dict):
            return schema is True
        key = id(schema)
        if key not in self._known_free:
            self.count()
            self._known_free[key] = self._is_surely_free(schema)
        return self._known_free[key]

    def _is_surely_free(self, schema: dict[str, Any]) -> bool:
        keywords = schema.keys() - ANNOTATIONS
        if not keywords:
            return True
        if keywords == {"anyOf"} and isinstance(branches := schema["anyOf"], list):
            return any(map(self.is_surely_free, branches))
        # The arguments of a tool are an object, whether the schema says so or not.
        types = frozenset(("object",)) if schema is self._root else types_of(schema)
        if "string" in types and keywords <= {"type", "minLength", "maxLength", "format"}:
            return not _is_short(schema)
        if "object" in types and keywords <= {"type", "properties", "required", "additionalProperties"}:
            return self.is_surely_free(schema.get("additionalProperties", True))
        if "array" in types and keywords <= {"type", "items", "minItems"}:
            return self.is_surely_free(schema.get("items", True))
        return False


def types_of(schema: dict[str, Any]) -> frozenset[str]:
    """Return the types that a schema allows; empty if it has none that can be used."""
    declared = schema.get("type")
    listed = declared if isinstance(declared, list) else [declared]
    types = frozenset(one if isinstance(one, str) else "" for one in listed)
    return types if types <= _TYPES else frozenset()


def is_closed(schema: dict[str, Any]) -> bool:
    """Whether an object of this schema has only members that the schema names."""
    has_more = "patternProperties" in schema or schema.get("unevaluatedProperties", False) is not False
    return schema.get("additionalProperties") is False and not has_more


def _is_fixed(schema: dict[str, Any]) -> bool:
    """Whether a schema lists its values."""
    if isinstance(values := schema.get("enum"), list) and values:
        return True
    # Some libraries write null where nothing was given.
    return "const" in schema and (schema["const"] is not None or schema.get("type") == "null")


def _is_limit(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _is_short(schema: dict[str, Any]) -> bool:
    """Whether a string of this schema cannot carry much."""
    if _is_limit(schema.get("maxLength"), MAX_SHORT_CHARACTERS):
        return True
    shape = schema.get("format")
    if isinstance(shape, str) and shape in _FIXED_FORMATS:
        return True
    pattern = schema.get("pattern")
    if not isinstance(pattern, str) or len(pattern) > MAX_SHORT_CHARACTERS:
        return False
    if _SHORT_PATTERN.fullmatch(pattern) is None:
        return False
    counts = _PARTS_OF_PATTERN.findall(pattern[1:-1])
    return sum(int(count or 1) for count in counts) <= MAX_SHORT_CHARACTERS


def _has_bases(root: Any) -> bool:
    """Whether a part of a schema has an address of its own, so that pointers in it start there."""
    waiting = [*root.values()] if isinstance(root, dict) else []
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if isinstance(part.get("$id"), str):
                return True
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return False
