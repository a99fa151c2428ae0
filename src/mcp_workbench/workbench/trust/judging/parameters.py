"""The parameters in a tool's input schema: where each one is, whether it is required, what it can carry.

Owns which parameters count as free text, by which a model could be made to hand out what it knows: strings
without a limit, objects without named members, and anything without a type.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

MAX_PARAMETERS: Final = 5000
"""Parameters of one schema that are looked at, nested ones included. A schema with more is not compared."""
MAX_SHORT_CHARACTERS: Final = 64
"""Length up to which a string is too short to carry much."""

_FIXED_FORMATS: Final = frozenset(("date", "time", "date-time", "duration", "uuid", "ipv4", "ipv6"))
_CHOICES: Final = ("anyOf", "oneOf", "allOf")
_NARROW_TYPES: Final = frozenset(("number", "integer", "boolean", "null"))
# A pattern limits the length if it is anchored on both sides and repeats nothing without a bound.
_BOUNDED_PATTERN: Final = re.compile(r"\^(?:\\.|[^\\*+.]|\.\{)*\$")
_OPEN_REPEAT: Final = re.compile(r"\{\d*,\}")


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of a tool, or a member of one."""

    is_required: bool
    is_free: bool
    """Whether it takes any text or any data."""


class TooManyParameters(Exception):
    """The schema has more parameters than are looked at."""


def parameters_of(schema: Any) -> dict[str, Parameter]:
    """Return the parameters of an input schema by their paths, such as `to` and `files[].name`.

    Raises TooManyParameters.
    """
    found: dict[str, Parameter] = {}
    _Walk(schema, found).visit(schema, "", ())
    return found


class _Walk:
    """Collects the parameters of a schema, through references and choices."""

    def __init__(self, root: Any, found: dict[str, Parameter]) -> None:
        self._root = root
        self._found = found
        self._visits = 0

    def visit(self, schema: Any, path: str, references: tuple[str, ...]) -> None:
        """Collect what can be given below a path."""
        self._visits += 1
        if self._visits > MAX_PARAMETERS:
            raise TooManyParameters
        if not isinstance(schema, dict):
            return
        if isinstance(reference := schema.get("$ref"), str) and reference not in references:
            self.visit(self._resolved(reference), path, (*references, reference))
        for branch in _branches(schema):
            self.visit(branch, path, references)
        required = schema.get("required")
        names = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
        properties = schema.get("properties")
        for name, described in (properties if isinstance(properties, dict) else {}).items():
            self._add(f"{path}.{name}" if path else name, described, references, is_required=name in names)
        # Only where it is a schema: not to say anything means the same as true, and many libraries say one
        # thing in one version and the other in the next.
        if isinstance(others := schema.get("additionalProperties"), dict) and others:
            self._add(f"{path}.*" if path else "*", others, references, is_required=False)
        for keyword in ("items", "prefixItems"):
            items = schema.get(keyword)
            for described in items if isinstance(items, list) else [] if items is None else [items]:
                self._add(f"{path}[]", described, references, is_required=False)

    def _add(self, path: str, schema: Any, references: tuple[str, ...], *, is_required: bool) -> None:
        known = self._found.get(path, Parameter(is_required=False, is_free=False))
        self._found[path] = Parameter(
            is_required=known.is_required or is_required,
            is_free=known.is_free or self._is_free(schema, references),
        )
        self.visit(schema, path, references)

    def _is_free(self, schema: Any, references: tuple[str, ...]) -> bool:
        """Whether a value of this schema can be any text or any data. Members are looked at by themselves."""
        if not isinstance(schema, dict):
            return schema is not False
        if "enum" in schema or "const" in schema:
            return False
        if isinstance(reference := schema.get("$ref"), str):
            if reference in references:
                return False  # looked at where it was first met
            return self._is_free(self._resolved(reference), (*references, reference))
        choices = [schema[keyword] for keyword in ("anyOf", "oneOf") if isinstance(schema.get(keyword), list)]
        if choices:
            return any(self._is_free(branch, references) for branches in choices for branch in branches)
        if isinstance(parts := schema.get("allOf"), list):
            return all(self._is_free(part, references) for part in parts)
        return _is_free_type(schema)

    def _resolved(self, reference: str) -> Any:
        """Return the part of the schema that a reference leads to; True, which is anything, if none."""
        part = self._root
        if not reference.startswith("#"):
            return True
        for step in reference[1:].split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(part, dict) or key not in part:
                return True
            part = part[key]
        return part


def _branches(schema: dict[str, Any]) -> list[Any]:
    found = [branch for key in _CHOICES if isinstance(schema.get(key), list) for branch in schema[key]]
    return [*found, *(schema[keyword] for keyword in ("if", "then", "else") if keyword in schema)]


def _is_free_type(schema: dict[str, Any]) -> bool:
    declared = schema.get("type")
    types = set(declared) if isinstance(declared, list) else {declared}
    if not types <= {"string", "object", "array", *_NARROW_TYPES}:
        return not (declared is None and ("properties" in schema or "items" in schema))
    if "string" in types and not _is_short(schema):
        return True
    if "object" in types and not isinstance(schema.get("properties"), dict):
        return not isinstance(schema.get("additionalProperties"), dict)
    return "array" in types and "items" not in schema and "prefixItems" not in schema


def _is_short(schema: dict[str, Any]) -> bool:
    """Whether a string of this schema cannot carry much."""
    longest = schema.get("maxLength")
    if isinstance(longest, int) and longest <= MAX_SHORT_CHARACTERS:
        return True
    if schema.get("format") in _FIXED_FORMATS:
        return True
    pattern = schema.get("pattern")
    if not isinstance(pattern, str) or _OPEN_REPEAT.search(pattern):
        return False
    return len(pattern) <= MAX_SHORT_CHARACTERS and _BOUNDED_PATTERN.fullmatch(pattern) is not None
