"""Reads a value as a person types it, by the JSON Schema of what it is for: `5` is a number or a text.

Text stays as it is where the schema wants a string. Where it allows several types, the most precise that fits
is taken.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import msgspec

from mcp_workbench.cli.shell.schema_reading import SchemaReader, allowed_values, kind_in
from mcp_workbench.workbench.text.sanitise import show_name
from mcp_workbench.workbench.text.schema_types import literal
from mcp_workbench.workbench.text.similar_names import similar_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Schema = dict[str, Any]

YES: Final = ("true", "yes", "on", "1")
NO: Final = ("false", "no", "off", "0")

MAX_DEPTH: Final = 20
"""Lists within lists that a single value is read for."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,4000}")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_KINDS: Final = ("null", "boolean", "integer", "number", "array", "object", "string")
"""The types of JSON Schema, in the order in which they are tried."""


class WrongValue(Exception):
    """A text is not a value of the type that is wanted. The message says what is."""


class ValueReader:
    """Reads the values of one schema document, which its references point into."""

    def __init__(self, document: object) -> None:
        self.schemas = SchemaReader(document)
        """Reads the schemas of the document."""

    def read(self, text: str, schema: object) -> object:
        """Return the value that a text stands for. Raises WrongValue."""
        return self._read(text, schema, 0)

    def is_array(self, schema: object) -> bool:
        """Whether a schema wants an array, or allows nothing else but null."""
        kinds = {kind_in(each) for each in self.schemas.alternatives(schema)}
        return "array" in kinds and kinds <= {"array", "null"}

    def _read(self, text: str, schema: object, depth: int) -> object:
        alternatives = self.schemas.alternatives(schema)
        choices = [value for each in alternatives for value in allowed_values(each)]
        for value in choices:
            if text in (value, literal(value)):
                return value
        open_ones = [each for each in alternatives if not allowed_values(each)]
        if choices and not open_ones:
            texts = [value if isinstance(value, str) else literal(value) for value in choices]
            raise WrongValue(f"takes {_listed(texts)}, not '{show_name(text)}'{_guess(text, texts)}")
        kinds = {kind_in(each) for each in alternatives}
        if "string" in kinds and _NUMBER.fullmatch(text) and not _is_json(text):
            return text  # such as 007, which is a number only where nothing but a number will do
        others = [each for each in alternatives if kind_in(each) != "null"]
        for each in sorted(open_ones, key=lambda each: _rank(kind_in(each))):
            try:
                return self._of_kind(text, each, depth, is_alone=len(others) == 1)
            except WrongValue:
                if len(alternatives) == 1:
                    raise
        raise WrongValue(f"takes {self.schemas.kind_of(schema)}, not '{show_name(text)}'")

    def _of_kind(self, text: str, schema: Schema, depth: int, *, is_alone: bool) -> object:
        kind = kind_in(schema)
        if kind == "string":
            return text
        if kind == "array":
            return self._array(text, schema, depth, is_alone=is_alone)
        readers: dict[object, Callable[[str], object]] = {
            "boolean": _boolean if is_alone else _strict_boolean,
            "integer": _integer,
            "number": _number,
            "null": _null,
            "object": _object,
        }
        return readers.get(kind, _anything)(text)

    def _array(self, text: str, schema: Schema, depth: int, *, is_alone: bool) -> object:
        """Return a JSON array, or an array of one item."""
        if text.lstrip().startswith("["):
            try:
                return msgspec.json.decode(text, type=list[Any])
            except msgspec.MsgspecError as error:
                raise WrongValue(f"takes a JSON array: {error}") from None
        if not is_alone or depth >= MAX_DEPTH:
            raise WrongValue(f"takes a JSON array, not '{show_name(text)}'")
        return [self._read(text, schema.get("items", True), depth + 1)]


def _rank(kind: object) -> int:
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


def _boolean(text: str) -> bool:
    if (word := text.lower()) in YES:
        return True
    if word in NO:
        return False
    raise WrongValue(f"takes true or false, not '{show_name(text)}'")


def _strict_boolean(text: str) -> bool:
    if text in ("true", "false"):
        return text == "true"
    raise WrongValue(f"takes true or false, not '{show_name(text)}'")


def _integer(text: str) -> int:
    if _INTEGER.fullmatch(text):
        return int(text)
    raise WrongValue(f"takes an integer, not '{show_name(text)}'")


def _number(text: str) -> object:
    if not _NUMBER.fullmatch(text) or not isfinite(float(text)):
        raise WrongValue(f"takes a number, not '{show_name(text)}'")
    return msgspec.Raw(text.encode()) if _is_json(text) else float(text)  # as JSON with all its digits


def _null(text: str) -> None:
    if text != "null":
        raise WrongValue(f"takes null, not '{show_name(text)}'")


def _object(text: str) -> object:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.MsgspecError:
        raise WrongValue(f"takes a JSON object, not '{show_name(text)}'") from None


def _anything(text: str) -> object:
    """Return what a text is as JSON, else the text: the schema does not say what is wanted."""
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError:
        return text


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except msgspec.MsgspecError:
        return False
    return True


def _listed(texts: Sequence[str]) -> str:
    *others, last = map(show_name, texts)
    return f"{', '.join(others)} or {last}" if others else last


def _guess(text: str, texts: Sequence[str]) -> str:
    near = similar_names(text, texts)
    return f". Did you mean: {', '.join(map(show_name, near))}?" if near else ""
