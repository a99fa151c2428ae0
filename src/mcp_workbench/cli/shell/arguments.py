"""The arguments of a call as a person writes them: `key=value` words, a JSON object, a file or stdin.

Owns the notation. `values` reads what stands behind a key by the input schema of the tool.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from mcp_workbench.cli.shell.schema_reading import SchemaReader
from mcp_workbench.cli.shell.values import ValueReader, WrongValue
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.text.sanitise import show_name
from mcp_workbench.workbench.text.similar_names import similar_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Json = dict[str, Any]

STDIN: Final = "-"
FORM: Final = "write key=value, key:=JSON or key=@FILE"
JSON_FORM: Final = "write --args before a JSON object, or key=value"

_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class WrongArguments(Exception):
    """What a person wrote cannot be read as arguments. The message says what is wrong with it."""


class Assignment(NamedTuple):
    """A word `key=value`, or `key:=JSON`. The value is what it says, or the content of a file."""

    key: str
    value: str
    is_json: bool


class WrittenArguments(msgspec.Struct, frozen=True):
    """The arguments of a call as a person wrote them, before the input schema is known."""

    given: dict[str, msgspec.Raw]
    """The members of JSON objects: of `--args`, and of stdin."""
    assignments: list[Assignment]

    def read(self, schema: object) -> Json:
        """Return the arguments, with the values of words read by the schema. Raises WrongArguments."""
        reader = _AssignmentReader(schema)
        for assignment in self.assignments:
            reader.take(assignment)
        return self.given | reader.values


def read_written(words: Sequence[str], given: str | None) -> WrittenArguments:
    """Read the words of a command line, the value of `--args`, and the files that they name.

    May wait for stdin, so it must not be called in an event loop. Raises WrongArguments.
    """
    members: dict[str, msgspec.Raw] = {}
    if given is not None:
        members |= _object(_text_of(given) if given == STDIN or given[:1] == "@" else given)
    assignments = []
    for word in words:
        if word == STDIN:
            members |= _object(_text_of(STDIN))
        else:
            assignments.append(_split(word))
    return WrittenArguments(members, assignments)


def warnings(arguments: Json, schema: object) -> Iterator[str]:
    """Yield what the schema does not expect. The server has the last word on it."""
    found = SchemaReader(schema).resolved(schema)
    properties = found.get("properties")
    names = list(properties) if isinstance(properties, dict) else []
    others = found.get("additionalProperties", ...)
    is_open = isinstance(others, dict) or others is True or "patternProperties" in found
    if not names:
        is_open = others is not False  # the schema says nothing about any argument
    for name in arguments:
        near = similar_names(name, [each for each in names if each not in arguments])
        if name in names or (is_open and not near):
            continue
        guess = f" Did you mean: {', '.join(map(show_name, near))}?" if near else ""
        yield f"the tool has no argument '{show_name(name)}'.{guess}"
    required = found.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in arguments:
            yield f"the tool needs the argument '{show_name(str(name))}'"


class _AssignmentReader:
    """Reads `key=value` words by the input schema of a tool."""

    def __init__(self, schema: object) -> None:
        self._schema = schema
        self._reader = ValueReader(schema)
        self.values: Json = {}

    def take(self, assignment: Assignment) -> None:
        """Add the value of a word. Raises WrongArguments."""
        key, value, is_json = assignment
        steps = self._steps(key)
        holder, schema = self.values, self._schema
        for step in steps[:-1]:
            schema = self._property(schema, step)
            inner = holder.setdefault(step, {})
            if not isinstance(inner, dict):
                raise WrongArguments(f"'{show_name(key)}': '{show_name(step)}' has a value already")
            holder = inner
        name = steps[-1]
        schema = self._property(schema, name)
        try:
            read = _json(value) if is_json else self._reader.read(value, schema)
        except WrongValue as error:
            raise WrongArguments(f"'{show_name(key)}' {error}") from None
        if name not in holder:
            holder[name] = read
        elif isinstance(holder[name], list) and isinstance(read, list) and self._reader.is_array(schema):
            holder[name] = holder[name] + read
        else:
            raise WrongArguments(f"'{show_name(key)}' is given twice, and takes one value")

    def _steps(self, key: str) -> list[str]:
        """Return the keys that lead to a value: `a.b` is one key if the tool has it, else `b` inside `a`."""
        steps: list[str] = []
        schema = self._schema
        while True:
            first, dot, rest = key.partition(".")
            properties = self._reader.schemas.resolved(schema).get("properties")
            names = properties if isinstance(properties, dict) else {}
            if key in names or not dot or first not in names or not rest:
                return [*steps, key]
            steps.append(first)
            schema, key = names[first], rest

    def _property(self, schema: object, name: str) -> object:
        found = self._reader.schemas.resolved(schema)
        properties = found.get("properties")
        if isinstance(properties, dict) and name in properties:
            return properties[name]
        others = found.get("additionalProperties", True)
        return others if isinstance(others, dict) else True


def _split(word: str) -> Assignment:
    if not _is_unicode(word):
        raise WrongArguments(f"'{show_name(word)}' is not text in UTF-8")
    key, equals, value = word.partition("=")
    is_json = key.endswith(":")
    key = key.removesuffix(":") if is_json else key
    if not equals or not key:
        form = JSON_FORM if word.lstrip().startswith("{") else FORM
        raise WrongArguments(f"'{show_name(word)}' is not an argument: {form}")
    if value.startswith("@@"):
        return Assignment(key, value[1:], is_json)
    return Assignment(key, _text_of(value) if value.startswith("@") else value, is_json)


def _text_of(source: str) -> str:
    """Return the text of `@FILE`, or of stdin."""
    try:
        if source in (STDIN, f"@{STDIN}"):
            return "" if sys.stdin is None else sys.stdin.buffer.read().decode()
        return Path(source[1:]).expanduser().read_text(encoding="utf-8")
    except OSError as error:
        raise WrongArguments(f"{show_name(source)} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        name = "stdin" if source == STDIN else show_name(source)
        raise WrongArguments(f"{name} is not text in UTF-8") from None


def _object(text: str) -> dict[str, msgspec.Raw]:
    if not text.strip():
        raise WrongArguments("the arguments are empty: write a JSON object")
    if not _is_unicode(text):
        raise WrongArguments("the arguments are not text in UTF-8")
    try:
        return _decode_object(text)
    except msgspec.MsgspecError as error:
        raise WrongArguments(f"the arguments are not a JSON object: {error}") from None


def _is_unicode(text: str) -> bool:
    """Whether a text of the command line was UTF-8: Python keeps other bytes as lone surrogates."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _json(text: str) -> object:
    try:
        value = msgspec.json.decode(text)
    except msgspec.MsgspecError as error:
        raise WrongValue(f"is not JSON: {error}") from None
    # Numbers keep their digits. Lists may have to be joined.
    return value if isinstance(value, list) else msgspec.Raw(text.encode())


def encoded(arguments: Json) -> msgspec.Raw:
    """Return arguments as JSON. Numbers of `--args` keep their spelling."""
    return msgspec.Raw(encode(arguments))
