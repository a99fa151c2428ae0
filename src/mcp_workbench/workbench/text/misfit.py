"""Where the arguments of a call do not fit the schema of its tool.

Owns the check, which explains a call that has failed and never refuses one: a server may well take more than
its schema says. It knows the keywords that callers get wrong; where it cannot tell, the arguments fit. What
it does is bounded whatever the schema: no pattern of a server's is run, no reference leaves the schema, and
steps are counted.
"""

from __future__ import annotations

from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import msgspec

from mcp_workbench.wire.message import ABSENT, decode_members
from mcp_workbench.workbench.text.json_pointer import unescape_step
from mcp_workbench.workbench.text.sanitise import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mcp_workbench.wire.message import Body

__all__ = ["misfits"]

LONGEST_ARGUMENTS: Final = 64 * 1024
LONGEST_DEFINITION: Final = 256 * 1024
MOST_STEPS: Final = 5000
MOST_LEVELS: Final = 50
MOST_TOLD: Final = 3
LONGEST_TOLD: Final = 300
LONGEST_NAME: Final = 60

_decode = msgspec.json.Decoder().decode


def misfits(definition: Body, arguments: Body) -> list[str]:
    """What does not fit, each thing in a few words, and not more than a few things; none if all fits, or if
    that cannot be told.
    """
    if len(definition) > LONGEST_DEFINITION or not 0 < len(arguments) <= LONGEST_ARGUMENTS:
        return []
    told: list[str] = []
    try:
        schema = _decode(decode_members(definition).get("inputSchema", ABSENT) or b"{}")
        for problem in _Check(schema).problems(schema, _decode(arguments)):
            if len(told) == MOST_TOLD:
                told.append("and more")
                break
            told.append(problem[:LONGEST_TOLD])
    except (msgspec.DecodeError, RecursionError, _Endless):
        pass  # what was found until then counts
    return told


class _Endless(Exception):
    """The schema asks for more work than it is worth."""


class _Check:
    """One look at one call's arguments."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._steps = 0
        self._found: dict[str, object] = {}
        """Where references lead."""

    def problems(self, schema: object, value: object, path: str = "", level: int = 0) -> Iterator[str]:
        """What is wrong with a value, one thing after the other."""
        self._take_steps(1)
        if level > MOST_LEVELS:
            return
        if schema is False:
            yield f"{_shown(path)} is not allowed"
        if not isinstance(schema, dict):
            return
        if isinstance(reference := schema.get("$ref"), str):
            yield from self.problems(self._follow(reference), value, path, level + 1)
        if (wrong := self._wrong_kind(schema, value) or self._wrong_value(schema, value)) is not None:
            yield f"{_shown(path)} {wrong}"
            return
        if isinstance(value, dict):
            yield from self._problems_of_members(schema, value, path, level)
        elif isinstance(value, list):
            yield from self._problems_of_items(schema, value, path, level)
        for part in _list(schema.get("allOf")):
            yield from self.problems(part, value, path, level + 1)
        for keyword in ("anyOf", "oneOf"):
            if choices := _list(schema.get(keyword)):
                yield from self._problems_of_choice(choices, value, path, level)

    def _problems_of_members(
        self, schema: Mapping[str, object], value: Mapping[str, object], path: str, level: int
    ) -> Iterator[str]:
        required, properties = _list(schema.get("required")), _mapping(schema.get("properties"))
        self._take_steps(len(required) + len(value))
        for name in required:
            if isinstance(name, str) and name not in value:
                yield f"{_shown(_member(path, name))} is missing"
        others = schema.get("additionalProperties", True)
        if "patternProperties" in schema:
            others = True  # they may be meant by a pattern
        for name, member in value.items():
            if name in properties:
                yield from self.problems(properties[name], member, _member(path, name), level + 1)
            elif others is False:
                yield f"{_shown(_member(path, name))} is not known"
            else:
                yield from self.problems(others, member, _member(path, name), level + 1)

    def _problems_of_items(
        self, schema: Mapping[str, object], value: Sequence[object], path: str, level: int
    ) -> Iterator[str]:
        first, others = _list(schema.get("prefixItems")), schema.get("items", True)
        if isinstance(others, list):  # as it was written before there were prefixes
            first, others = others, schema.get("additionalItems", True)
        for at, item in enumerate(value):
            part = first[at] if at < len(first) else others
            yield from self.problems(part, item, f"{path}[{at}]", level + 1)

    def _problems_of_choice(
        self, choices: Sequence[object], value: object, path: str, level: int
    ) -> Iterator[str]:
        """Of exactly one that has to fit, more may: patterns that are not run may tell them apart."""
        for choice in choices:
            if next(self.problems(choice, value, path, level + 1), None) is None:
                return
        kinds = [kind for choice in choices if isinstance(kind := _mapping(choice).get("type"), str)]
        if len(kinds) == len(choices) and not any(_is(kind, value) for kind in kinds):
            yield f"{_shown(path)} {_must_be(kinds, value)}"
        else:
            yield f"{_shown(path)} fits none of its {len(choices)} alternatives"

    def _wrong_kind(self, schema: Mapping[str, object], value: object) -> str | None:
        given = schema.get("type")
        kinds = [given] if isinstance(given, str) else [it for it in _list(given) if isinstance(it, str)]
        self._take_steps(len(kinds))
        return _must_be(kinds, value) if kinds and not any(_is(kind, value) for kind in kinds) else None

    def _wrong_value(self, schema: Mapping[str, object], value: object) -> str | None:
        if isinstance(value, (dict, list, str)):
            least, most, unit = _LENGTHS[type(value)]
            if _is_number(low := schema.get(least)) and len(value) < low:
                return f"must have at least {low} {unit}"
            if _is_number(high := schema.get(most)) and len(value) > high:
                return f"must have at most {high} {unit}"
        allowed = [schema["const"]] if "const" in schema else _list(schema.get("enum"))
        self._take_steps(len(allowed))
        if allowed and not any(_may_be_same(it, value) for it in allowed):
            return "is none of the values that are allowed"
        if _is_number(value):
            for keyword, holds, words in _LIMITS:
                if _is_number(limit := schema.get(keyword)) and not holds(value, limit):
                    return f"must be {words} {limit}"
        return None

    def _follow(self, reference: str) -> object:
        """The part of the schema that is meant; if there is none such in it, one that everything fits."""
        if reference not in self._found:
            self._found[reference] = self._find(reference)
        return self._found[reference]

    def _find(self, reference: str) -> object:
        if reference == "#":
            return self._root
        if not reference.startswith("#/"):
            return True
        part: Any = self._root
        for step in reference[2:].split("/"):
            name = unescape_step(step)
            if isinstance(part, dict) and name in part:
                part = part[name]
            elif isinstance(part, list) and name.isdecimal() and len(name) < 6 and int(name) < len(part):
                part = part[int(name)]
            else:
                return True
        return part

    def _take_steps(self, count: int) -> None:
        self._steps += count
        if self._steps > MOST_STEPS:
            raise _Endless


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_KINDS: Final[Mapping[str, Callable[[object], bool]]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
    "number": _is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}

_LENGTHS: Final = {
    str: ("minLength", "maxLength", "characters"),
    list: ("minItems", "maxItems", "items"),
    dict: ("minProperties", "maxProperties", "members"),
}

_LIMITS: Final = (
    ("minimum", ge, "at least"),
    ("maximum", le, "at most"),
    ("exclusiveMinimum", gt, "more than"),
    ("exclusiveMaximum", lt, "less than"),
)


def _is(kind: str, value: object) -> bool:
    return kind not in _KINDS or _KINDS[kind](value)


def _may_be_same(one: object, other: object) -> bool:
    """To compare large values would take long, and hardly any schema lists such."""
    if isinstance(one, (dict, list)):
        return type(one) is type(other)
    # For Python, true is 1.
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _must_be(kinds: Sequence[str], value: object) -> str:
    is_ = next(kind for kind, holds in _KINDS.items() if holds(value))
    return f"must be {' or '.join(dict.fromkeys(kinds))}, not {is_}"


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _member(path: str, name: str) -> str:
    name = clean_text(name[:LONGEST_NAME])
    return f"{path}.{name}" if path else name


def _shown(path: str) -> str:
    return f"'{path}'" if path else "the whole of them"
