"""The tools of a demo server: their schemas, and the validation of arguments.

The protocol is in `serving`. Uses the standard library only, so that a server starts quickly.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Schema = dict[str, Any]

READS_ONLY: Final = {"readOnlyHint": True, "openWorldHint": False}


class ToolError(Exception):
    """A tool cannot do what the call asks for; the model reads the message."""


class DemoTool(NamedTuple):
    """A tool of a demo server; `run` returns text, or an object that fits the output schema."""

    name: str
    title: str
    description: str
    run: Callable[[dict[str, Any]], str | dict[str, Any]]
    takes: Schema
    gives: Schema | None = None
    annotations: dict[str, bool] = READS_ONLY

    def definition(self) -> dict[str, Any]:
        """Return the definition of the tool for `tools/list`."""
        output = {"outputSchema": self.gives} if self.gives else {}
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.takes,
            **output,
            "annotations": self.annotations,
        }

    def call(self, arguments: Any) -> dict[str, Any]:
        """Return the result of `tools/call`. Wrong arguments give an error result that the model can read."""
        if problems := "; ".join(_mistakes(arguments, self.takes, "arguments")):
            return _text(problems, failed=True)
        try:
            given = self.run(arguments)
        except ToolError as error:
            return _text(str(error), failed=True)
        if isinstance(given, str):
            return _text(given)
        return {**_text(json.dumps(given, ensure_ascii=False)), "structuredContent": given}


def an_object(properties: dict[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    """Return the schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _text(text: str, *, failed: bool = False) -> dict[str, Any]:
    outcome = {"isError": True} if failed else {}
    return {"content": [{"type": "text", "text": text}], **outcome}


_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
}


def _mistakes(value: Any, schema: Schema, where: str) -> Iterator[str]:
    """Yield what is wrong with a value, by the few keywords that the schemas of the demo use."""
    kind = schema["type"]
    if not _is_of(kind, value):
        yield f"{where} must be of type {kind}"
    elif kind == "object":
        yield from _mistakes_in_object(value, schema, where)
    elif kind == "array":
        if not schema["minItems"] <= len(value) <= schema["maxItems"]:
            yield f"{where} must have {schema['minItems']} to {schema['maxItems']} items"
        for index, item in enumerate(value):
            yield from _mistakes(item, schema["items"], f"{where}[{index}]")
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{where} must be one of: {', '.join(schema['enum'])}"
    elif "minimum" in schema and not schema["minimum"] <= value <= schema["maximum"]:
        yield f"{where} must be from {schema['minimum']:g} to {schema['maximum']:g}"


def _is_of(kind: str, value: object) -> bool:
    return isinstance(value, _TYPES[kind]) and not isinstance(value, bool)


def _mistakes_in_object(value: dict[str, Any], schema: Schema, where: str) -> Iterator[str]:
    properties = schema["properties"]
    for name in schema["required"]:
        if name not in value:
            yield f"{where}.{name} is missing"
    for name, item in value.items():
        if name in properties:
            yield from _mistakes(item, properties[name], f"{where}.{name}")
        else:
            yield f"{where}.{name} is not known here"
