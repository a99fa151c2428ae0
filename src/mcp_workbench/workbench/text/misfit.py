"""Finds where the arguments of a call do not fit the schema of its tool.

Explains a call that has failed and never refuses one: a server may accept more than its schema says. Knows
the keywords that callers get wrong; in doubt the arguments fit. The work is bounded whatever the schema: no
pattern of a server is run, no reference leaves the schema, and steps are counted.
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

MAX_ARGUMENTS_BYTES: Final = 64 * 1024
MAX_DEFINITION_BYTES: Final = 256 * 1024
MAX_STEPS: Final = 5000
MAX_LEVELS: Final = 50
MAX_PROBLEMS: Final = 3
MAX_PROBLEM_CHARACTERS: Final = 300
MAX_NAME_CHARACTERS: Final = 60

_decode = msgspec.json.Decoder().decode


def misfits(definition: Body, arguments: Body) -> list[str]:
    """Return what does not fit, a few short problems; empty if all fits or that is not known."""
    if len(definition) > MAX_DEFINITION_BYTES or not 0 < len(arguments) <= MAX_ARGUMENTS_BYTES:
        return []
    problems: list[str] = []
    try:
        schema = _decode(decode_members(definition).get("inputSchema", ABSENT) or b"{}")
        for problem in _Check(schema).problems(schema, _decode(arguments)):
            if len(problems) == MAX_PROBLEMS:
                problems.append("and more")
                break
            problems.append(problem[:MAX_PROBLEM_CHARACTERS])
    except (msgspec.DecodeError, RecursionError, _TooManySteps):
        pass  # the problems found until then count
    return problems


class _TooManySteps(Exception):
    """Checking against the schema takes more steps than it is worth."""


class _Check:
    """One check of the arguments of a call."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._steps = 0
        self._targets: dict[str, object] = {}
        """The parts of the schema that references lead to."""

    def problems(self, schema: object, value: object, path: str = "", level: int = 0) -> Iterator[str]:
        """Yield what is wrong with a value, one problem after another."""
        self._count_steps(1)
        if level > MAX_LEVELS:
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
        self._count_steps(len(required) + len(value))
        for name in required:
            if isinstance(name, str) and name not in value:
                yield f"{_shown(_member(path, name))} is missing"
        others = schema.get("additionalProperties", True)
        if "patternProperties" in schema:
            others = True  # a pattern, which is not run, may allow them
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
        if isinstance(others, list):  # the older form of `prefixItems`
            first, others = others, schema.get("additionalItems", True)
        for at, item in enumerate(value):
            part = first[at] if at < len(first) else others
            yield from self.problems(part, item, f"{path}[{at}]", level + 1)

    def _problems_of_choice(
        self, choices: Sequence[object], value: object, path: str, level: int
    ) -> Iterator[str]:
        """Yield a problem if no alternative fits.

        Several may fit a `oneOf`: patterns, which are not run, may distinguish them.
        """
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
        kinds = (
            [given] if isinstance(given, str) else [kind for kind in _list(given) if isinstance(kind, str)]
        )
        self._count_steps(len(kinds))
        return _must_be(kinds, value) if kinds and not any(_is(kind, value) for kind in kinds) else None

    def _wrong_value(self, schema: Mapping[str, object], value: object) -> str | None:
        if isinstance(value, (dict, list, str)):
            least, most, unit = _LENGTHS[type(value)]
            if _is_number(low := schema.get(least)) and len(value) < low:
                return f"must have at least {low} {unit}"
            if _is_number(high := schema.get(most)) and len(value) > high:
                return f"must have at most {high} {unit}"
        allowed = [schema["const"]] if "const" in schema else _list(schema.get("enum"))
        self._count_steps(len(allowed))
        if allowed and not any(_may_be_same(choice, value) for choice in allowed):
            return "is none of the values that are allowed"
        if _is_number(value):
            for keyword, holds, words in _LIMITS:
                if _is_number(limit := schema.get(keyword)) and not holds(value, limit):
                    return f"must be {words} {limit}"
        return None

    def _follow(self, reference: str) -> object:
        """Return the part of the schema that a reference leads to; True, which all fits, if there is none."""
        if reference not in self._targets:
            self._targets[reference] = self._find(reference)
        return self._targets[reference]

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

    def _count_steps(self, count: int) -> None:
        self._steps += count
        if self._steps > MAX_STEPS:
            raise _TooManySteps


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
    """Whether a value may equal one in the schema. Large values are not compared: that takes long."""
    if isinstance(one, (dict, list)):
        return type(one) is type(other)
    # In Python, True equals 1.
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _must_be(kinds: Sequence[str], value: object) -> str:
    actual = next(kind for kind, holds in _KINDS.items() if holds(value))
    return f"must be {' or '.join(dict.fromkeys(kinds))}, not {actual}"


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _member(path: str, name: str) -> str:
    name = clean_text(name[:MAX_NAME_CHARACTERS])
    return f"{path}.{name}" if path else name


def _shown(path: str) -> str:
    return f"'{path}'" if path else "the whole of them"
