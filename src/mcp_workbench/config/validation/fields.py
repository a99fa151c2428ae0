"""Checks one object of the file against the struct that describes it: its keys, then the value of each.

Owns unknown and missing keys, types, units, and the wording "should be …". msgspec checks the values against
the types of the model; its messages are not used, because they may quote a secret value.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_origin

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from msgspec.structs import FieldInfo

    from mcp_workbench.config.validation.problems import Place, Problems

_HOUR_SECONDS = 3600

LONG_WAIT = "more than an hour: the unit is seconds (other clients count milliseconds)"
"""The warning about a time-out that is probably meant in milliseconds."""

_KINDS = {
    bool: "a boolean",
    dict: "an object",
    float: "a number",
    int: "a number",
    list: "a list",
    str: "a string",
    type(None): "null",
}


def kind_of(value: object) -> str:
    """Return the JSON word for the type of a value, with its article: "a list"."""
    return _KINDS[type(value)]


def as_object(value: object, place: Place, example: str, problems: Problems) -> dict[str, object] | None:
    """Return the value if it is an object; otherwise report a problem and return None."""
    if isinstance(value, dict):
        return value
    problems.add(place, f"should be an object, not {kind_of(value)}", f"Write {example}")
    return None


def check_keys(
    entry: dict[str, object], known: Collection[str], place: Place, problems: Problems
) -> dict[str, str]:
    """Report the unknown keys of an entry. Return how the entry spells each known key, slips included."""
    meant: dict[str, str] = {}
    for key in entry:
        if key in known:
            meant[key] = key
        elif (suggestion := _report_unknown(key, known, place, problems)) is not None:
            meant.setdefault(suggestion, key)
    return meant


def _report_unknown(key: str, known: Collection[str], place: Place, problems: Problems) -> str | None:
    """Report an unknown key. Return the known key that it is a slip of, if it is one."""
    from mcp_workbench.config.validation.suggest import ADVICE, meant_key, right_place  # noqa: PLC0415 - rare

    if key in ADVICE:
        problems.warn((*place, key), f"the workbench ignores this key; {ADVICE[key]}")
    elif (suggestion := meant_key(key, known)) is not None:
        problems.add((*place, key), "unknown key", f'Did you mean "{suggestion}"? Write it exactly so.')
        return suggestion
    elif (level := right_place(key)) is not None:
        problems.warn((*place, key), f"the workbench ignores this key here; it belongs {level}")
    else:
        problems.warn((*place, key), "the workbench does not know this key and ignores it")
    return None


def plain_fields(struct: type[msgspec.Struct]) -> list[FieldInfo]:
    """Return the fields that `convert_fields` reads: those whose metadata has an `expected` for its message.

    The other fields hold objects, which have rules and readers of their own.
    """
    return [field for field in _fields(struct) if "expected" in (_meta(field.type).extra or {})]


def report_missing(
    struct: type[msgspec.Struct], meant: dict[str, str], place: Place, problems: Problems
) -> None:
    """Report each required key of a struct that the file lacks, with the example of the model."""
    for field in _fields(struct):
        if field.required and field.encode_name not in meant:
            remedy = _example(field.encode_name, _meta(field.type))
            problems.add((*place, field.encode_name), "is missing", remedy)


def convert_fields(
    entry: dict[str, object], fields: Iterable[FieldInfo], place: Place, problems: Problems
) -> dict[str, Any]:
    """Return the values of the fields that the entry has, by Python name; report each that does not fit."""
    converted = {}
    for field in fields:
        key = field.encode_name
        if key in entry:
            try:
                converted[field.name] = msgspec.convert(entry[key], field.type)
            except (msgspec.ValidationError, UnicodeEncodeError):
                # Half of a character cannot be compared with the values that a key may have.
                _report_misfit(key, entry[key], field.type, (*place, key), problems)
    return converted


def is_long_wait(seconds: float) -> bool:
    """Whether a time-out is more than an hour: a number this large is probably meant in milliseconds."""
    return seconds > _HOUR_SECONDS


def warn_of_long_wait(seconds: float, place: Place, problems: Problems) -> None:
    """Warn of a time-out that is probably meant in milliseconds."""
    if is_long_wait(seconds):
        problems.warn(place, LONG_WAIT)


def _report_misfit(key: str, value: object, annotation: Any, place: Place, problems: Problems) -> None:
    bare, meta = get_args(annotation)[0], _meta(annotation)
    if isinstance(value, (list, dict)) and _takes(bare, type(value)):
        for step, item in enumerate(value) if isinstance(value, list) else value.items():
            if not isinstance(item, str):
                what = f"should be a string, not {kind_of(item)}"
                problems.add((*place, step), what, "Put the value in double quotes.")
        return
    expected = meta.extra["expected"]
    kind = kind_of(value)
    what = f"should be {expected}" if expected.startswith(kind) else f"should be {expected}, not {kind}"
    problems.add(place, what, _example(key, meta))


@cache  # msgspec resolves the annotations at every call, and a file may have many toolboxes
def _fields(struct: type[msgspec.Struct]) -> tuple[FieldInfo, ...]:
    return msgspec.structs.fields(struct)


def _meta(annotation: Any) -> Any:
    """Return the `Meta` of a field. The metadata of the field's base type, if any, stands before it."""
    return get_args(annotation)[-1]


def _example(key: str, meta: Any) -> str:
    return f'Write for example "{key}": {json.dumps(meta.examples[0])}'


def _takes(annotation: Any, container: type) -> bool:
    """Whether the annotation, or one side of its union, is a list (or an object) of strings."""
    return get_origin(annotation) is container or any(
        get_origin(side) is container for side in get_args(annotation)
    )
