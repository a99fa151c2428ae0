"""The parameters in a tool's input schema: where each one is, whether it is required, what it can carry.

Owns how two versions of a parameter compare. `capacity` says what counts as free text.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

import msgspec

from mcp_workbench.workbench.trust.digests import json_digest
from mcp_workbench.workbench.trust.judging.capacity import (
    ANNOTATIONS,
    Capacity,
    LimitReader,
    is_closed,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ITEMS: Final = 0
"""Stands in a path for the items of an array. A number, because a name can be any text."""
OTHERS: Final = 1
"""Stands in a path for members without a fixed name."""
Path = tuple[str | int, ...]

_CONDITIONS: Final = ("anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies")
"""Keywords with schemas that count in some cases."""
_SCHEMAS_BY_NAME: Final = frozenset(("properties", "patternProperties", "dependentSchemas", "dependencies"))
_ITEMS: Final = ("items", "prefixItems", "additionalItems", "unevaluatedItems")
_WALKED: Final = frozenset(
    ("properties", "required", "additionalProperties", "patternProperties", "allOf", *_CONDITIONS, *_ITEMS)
)
"""Keywords whose contents are looked at by themselves."""
_RELATIONS: Final = frozenset(
    (
        *("allOf", "not", "dependentRequired", "$ref", "$dynamicRef", "$recursiveRef"),
        *("patternProperties", "unevaluatedProperties", "propertyNames", "minProperties", *_CONDITIONS),
    )
)
"""Keywords by which a schema can ask for more than its properties show."""


class Need(IntEnum):
    """Whether a parameter has to be given."""

    NEVER = 0
    SOMETIMES = 1
    ALWAYS = 2


class Parameter(msgspec.Struct):
    """A parameter of a tool, or a member of one."""

    need: Need = Need.NEVER
    capacity: Capacity | None = None
    """How much it can carry; None as long as no schema describes it."""
    is_surely_free: bool = True
    limits: list[str] = []
    """What limits it, by digest, in the order of the schema."""

    @property
    def is_free(self) -> bool:
        """Whether it may take any text or any data. A name that is required and not described does."""
        return self.capacity is None or self.capacity >= Capacity.FREE

    def is_wider(self, before: Parameter | None) -> bool:
        """Whether it may take any text or any data, and did not before."""
        if not self.is_free:
            return False
        if before is None or not before.is_free:
            return True
        if before.limits == self.limits:
            return False
        # What was in doubt before may have had limits that are gone now.
        return not before.is_surely_free or self.capacity is Capacity.UNKNOWN


def parameters_of(schema: Any) -> dict[Path, Parameter]:
    """Return the parameters of an input schema by their paths. The empty path is for the whole.

    Raises TooManyParameters or RecursionError.
    """
    walk = _Walk(schema)
    walk.visit(schema, (), (), Need.ALWAYS)
    return walk.found


def relations_of(schema: Any) -> str:
    """Return a digest of what a schema says of its parameters together, such as which need each other."""
    if not isinstance(schema, dict):
        return ""
    return json_digest({key: _bare(key, schema[key]) for key in sorted(_RELATIONS & schema.keys())})


def path_words(path: Path) -> str:
    """Return a path in words, such as `files[].name`."""
    words = ""
    for step in path:
        if step == ITEMS:
            words += "[]"
        else:
            words += f"{'.' if words else ''}{'*' if step == OTHERS else step}"
    return words or "*"


class _Walk:
    """Collects the parameters of a schema, through references and choices."""

    def __init__(self, root: Any) -> None:
        self.found: dict[Path, Parameter] = {}
        self._reader = LimitReader(root)
        self._own: dict[int, str] = {}
        if isinstance(root, dict):
            self.found[()] = Parameter(
                capacity=Capacity.NARROW if is_closed(root) else Capacity.FREE,
                is_surely_free=self._reader.is_surely_free(root),
            )

    def visit(self, schema: Any, path: Path, references: tuple[str, ...], need: Need) -> None:
        """Collect what can be given below a path. `need` is what `required` means there."""
        self._reader.count()
        if not isinstance(schema, dict):
            return
        parameter = self._at(path)
        parameter.limits.append(self._limits(schema))
        if self._reader.is_unread(schema):
            parameter.capacity = Capacity.UNKNOWN
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in references:
            self.visit(self._reader.resolved(reference), path, (*references, reference), need)
        for part in _parts(schema.get("allOf")):
            self.visit(part, path, references, need)
        for keyword in _CONDITIONS:
            for part in _parts(schema.get(keyword), are_named=keyword in _SCHEMAS_BY_NAME):
                self.visit(part, path, references, min(need, Need.SOMETIMES))
        for name in _names(schema.get("required")):
            self._require((*path, name), need)
        for keyword in ("dependentRequired", "dependencies"):
            for names in _parts(schema.get(keyword), are_named=True):
                for name in _names(names):
                    self._require((*path, name), Need.SOMETIMES)
        self._visit_members(schema, path, references)

    def _visit_members(self, schema: dict[str, Any], path: Path, references: tuple[str, ...]) -> None:
        properties = schema.get("properties")
        for name, described in (properties if isinstance(properties, dict) else {}).items():
            self._add((*path, name), described, references)
        others = [*_parts(schema.get("patternProperties"), are_named=True)]
        others += [
            schema[keyword]
            for keyword in ("additionalProperties", "unevaluatedProperties")
            # Without a schema, it is a matter of the object as a whole.
            if isinstance(schema.get(keyword), dict) and schema[keyword]
        ]
        for described in others:
            self._add((*path, OTHERS), described, references)
        for keyword in _ITEMS:
            items = schema.get(keyword)
            for described in items if isinstance(items, list) else [] if items is None else [items]:
                self._add((*path, ITEMS), described, references)

    def _at(self, path: Path) -> Parameter:
        return self.found.setdefault(path, Parameter())

    def _require(self, path: Path, need: Need) -> None:
        parameter = self._at(path)
        parameter.need = max(parameter.need, need)

    def _add(self, path: Path, schema: Any, references: tuple[str, ...]) -> None:
        parameter = self._at(path)
        parameter.capacity = max(parameter.capacity or Capacity.NARROW, self._reader.capacity(schema))
        parameter.is_surely_free &= self._reader.is_surely_free(schema)
        self.visit(schema, path, references, Need.ALWAYS)

    def _limits(self, schema: dict[str, Any]) -> str:
        """Return a digest of what limits a value of a schema, without what is looked at by itself."""
        own = self._own.get(id(schema))
        if own is None:
            limits = {
                key: _size(value) if key in _WALKED else value
                for key, value in schema.items()
                if key not in ANNOTATIONS
            }
            whole = self._reader.digest if self._reader.is_unread(schema) else ""
            own = self._own[id(schema)] = json_digest([limits, whole])
        return own


def _size(value: Any) -> Any:
    return len(value) if isinstance(value, list) else value if isinstance(value, bool) else ""


def _parts(value: Any, *, are_named: bool = False) -> Iterable[Any]:
    """Return the schemas under a keyword: several in a list, one for each name, or one."""
    if isinstance(value, list):
        return value
    if are_named and isinstance(value, dict):
        return value.values()
    return () if value is None else (value,)


def _names(value: Any) -> Iterator[str]:
    return (name for name in value if isinstance(name, str)) if isinstance(value, list) else iter(())


def _bare(keyword: str, value: Any) -> Any:
    """Return the value of a keyword without texts for people."""
    if isinstance(value, list):
        return [_bare("", one) for one in value]
    if not isinstance(value, dict):
        return value
    if keyword in _SCHEMAS_BY_NAME:
        return {name: _bare("", one) for name, one in value.items()}
    return {key: _bare(key, one) for key, one in value.items() if key not in ANNOTATIONS}
