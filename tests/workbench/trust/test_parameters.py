"""A parameter by which a model could be made to hand out what it knows is held, and an honest one is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.workbench.trust.pinned import Pinned, tool

if TYPE_CHECKING:
    from pathlib import Path

Schema = dict[str, Any]
ID = {"id": {"type": "integer"}}
TEXT = {"type": "string"}
SHORT = {"type": "string", "maxLength": 64}
NEEDY = {"properties": {"z": TEXT}, "required": ["z"]}


def schema(**keywords: Any) -> Schema:
    return {"type": "object", "properties": ID, **keywords}


def taking(value: Any, **keywords: Any) -> Schema:
    return schema(properties={**ID, "ctx": value}, **keywords)


async def is_held(before: Schema, after: Schema, home: Path) -> bool:
    pinned = Pinned(home)
    assert not (await pinned.lists(tool(inputSchema=before))).held
    held = (await pinned.lists(tool(inputSchema=after))).held
    assert not (await pinned.lists(tool(inputSchema=before))).held
    return bool(held)


FREE: dict[str, Any] = {
    "a string": TEXT,
    "anything": {},
    "anything, in other words": True,
    "no schema": None,
    "no type": {"minimum": 1},
    "no type but properties": {"properties": {}},
    "no type but items": {"items": {"type": "integer"}},
    "an empty type": {"type": []},
    "an unknown type": {"type": "text"},
    "a null type": {"type": None},
    "a type among others": {"type": ["number", "string"]},
    "an object without names": {"type": "object"},
    "an object with no names": {"type": "object", "properties": {}},
    "an object with more": {"type": "object", "properties": ID},
    "an object of numbers": {"type": "object", "additionalProperties": {"type": "integer"}},
    "an object by pattern": {
        "type": "object",
        "patternProperties": {".*": {"type": "integer"}},
        "additionalProperties": False,
    },
    "an object with the rest": {
        "type": "object",
        "unevaluatedProperties": TEXT,
        "additionalProperties": False,
    },
    "an array": {"type": "array"},
    "an array of nothing": {"type": "array", "items": []},
    "an array of texts": {"type": "array", "items": TEXT, "maxItems": 1},
    "an array of short texts": {"type": "array", "items": SHORT},
    "an array of many short texts": {"type": "array", "items": SHORT, "maxItems": 500},
    "an array with a wrong limit": {"type": "array", "items": SHORT, "maxItems": True},
    "an array of dates": {"type": "array", "items": {"type": "string", "format": "date"}},
    "arrays in an array": {
        "type": "array",
        "maxItems": 8,
        "items": {"type": "array", "items": SHORT, "maxItems": 8},
    },
    "an array of objects": {
        "type": "array",
        "items": {"type": "object", "properties": {"a": SHORT}, "additionalProperties": False},
    },
    "a tuple": {"type": "array", "items": {"type": "integer"}, "prefixItems": [{"type": "integer"}]},
    "a pattern that repeats much": {"type": "string", "pattern": "^[\\s\\S]{0,99999}$"},
    "a pattern that repeats a class": {"type": "string", "pattern": "^[a-z ]{0,99}$"},
    "a pattern with alternatives": {"type": "string", "pattern": "^|$"},
    "a pattern with a group": {"type": "string", "pattern": "^(?:[a-z]{9}){9}$"},
    "a pattern without an end": {"type": "string", "pattern": "^[a-z]{3}"},
    "a pattern without a bound": {"type": "string", "pattern": "^[a-z]{3,}$"},
    "a pattern that ends with a sign": {"type": "string", "pattern": "^a\\$"},
    "a long text": {"type": "string", "maxLength": 65},
    "a limit that is none": {"type": "string", "maxLength": True},
    "a limit below zero": {"type": "string", "maxLength": -1},
    "a limit as text": {"type": "string", "maxLength": "5"},
    "no values": {"type": "string", "enum": []},
    "null for values": {"type": "string", "enum": None},
    "null for a value": {"type": "string", "const": None},
    "no choices": {"type": "string", "anyOf": []},
    "only no choices": {"anyOf": []},
    "a choice": {"anyOf": [{"type": "integer"}, TEXT]},
    "a choice without a type": {"type": "string", "anyOf": [{"maxLength": 5}]},
    "several at once": {"allOf": [TEXT, {"properties": {}}]},
    "several with a limit": {"allOf": [TEXT, {"enum": ["a"]}]},
    "a reference": {"$ref": "#/$defs/text"},
    "a reference with a limit": {"$ref": "#/$defs/text", "enum": ["a"]},
    "a reference with a type": {"$ref": "#/$defs/number", "type": "string"},
    "a reference to an anchor": {"$ref": "#t"},
    "a reference to the whole": {"$ref": "#"},
    "a reference to nothing": {"$ref": "#/definitions/none"},
    "a reference to elsewhere": {"$ref": "https://x.example/s.json"},
    "a reference that is none": {"$ref": 7},
    "a dynamic reference": {"$dynamicRef": "#t", "type": "integer"},
    "a circle": {"$ref": "#/$defs/circle"},
    "an address": {"type": "string", "format": "uri"},
    "an encoding": {"type": "string", "contentEncoding": "base64"},
}
DEFS = {
    "text": {"$anchor": "t", **TEXT},
    "number": {"type": "integer"},
    "colour": {"enum": ["red", "blue"]},
    "circle": {"type": "array", "items": {"$ref": "#/$defs/circle"}},
}


@pytest.mark.parametrize("value", FREE.values(), ids=FREE.keys())
async def test_a_new_parameter_without_a_known_limit_is_held(value: Any, tmp_path: Path) -> None:
    assert await is_held(schema(**{"$defs": DEFS}), taking(value, **{"$defs": DEFS}), tmp_path)


LIMITED: dict[str, Schema] = {
    "a boolean": {"type": "boolean", "default": False},
    "an integer": {"type": "integer"},
    "a number or null": {"type": ["number", "null"]},
    "values": {"type": "string", "enum": ["a", "b"]},
    "a value": {"const": "a"},
    "null": {"type": "null", "const": None},
    "a short text": SHORT,
    "a short text or null": {"anyOf": [SHORT, {"type": "null"}], "default": None},
    "a date": {"type": "string", "format": "date"},
    "an identifier": {"type": "string", "format": "uuid"},
    "a short pattern": {"type": "string", "pattern": "^[A-Z]{2,3}-\\d{4}[a-z]?$"},
    "numbers": {"type": "array", "items": {"type": "integer"}},
    "some of these": {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True},
    "a few short texts": {"type": "array", "items": SHORT, "maxItems": 8},
    "an object with names": {
        "type": "object",
        "properties": {"a": SHORT, "b": {"type": "integer"}},
        "additionalProperties": False,
    },
    "a reference": {"$ref": "#/$defs/colour", "description": "The colour."},
    "a reference, as some libraries write it": {"allOf": [{"$ref": "#/$defs/colour"}], "default": "red"},
    "an integer, or a date": {"anyOf": [{"type": "integer"}, {"type": "string", "format": "date"}]},
}


@pytest.mark.parametrize("value", LIMITED.values(), ids=LIMITED.keys())
async def test_a_new_optional_parameter_with_limits_is_accepted(value: Schema, tmp_path: Path) -> None:
    assert not await is_held(schema(**{"$defs": DEFS}), taking(value, **{"$defs": DEFS}), tmp_path)


CHOICE = [{"required": ["id"]}, {"required": ["name"]}]
NAMED = {"type": "object", "properties": {**ID, "name": TEXT}}
WORSE: dict[str, tuple[Schema, Schema]] = {
    "a name without a description": (schema(), schema(required=["talk"])),
    "a choice of names": (schema(), schema(anyOf=[{"required": ["talk"]}])),
    "a name that another needs": (schema(), schema(dependentRequired={"id": ["talk"]})),
    "a name that another needs, as before": (schema(), schema(dependencies={"id": ["talk"]})),
    "a schema that another needs": (schema(), schema(dependencies={"id": NEEDY})),
    "a schema that depends": (schema(), schema(dependentSchemas={"id": NEEDY})),
    "a condition": (schema(), schema(**{"if": {}, "then": NEEDY})),
    "a contrary condition": (schema(), schema(**{"if": False, "else": NEEDY})),
    "all of several": (schema(), schema(allOf=[NEEDY])),
    "none of several": (schema(), schema(**{"not": {"properties": {"x": TEXT}}})),
    "more members": (schema(), schema(minProperties=3)),
    "members by pattern": (schema(), schema(patternProperties={"^x": TEXT})),
    "the rest": (schema(), schema(unevaluatedProperties=TEXT)),
    "a reference": (schema(), schema(**{"$ref": "#/$defs/q", "$defs": {"q": NEEDY}})),
    "an anchor": (schema(), schema(**{"$ref": "#q", "$defs": {"q": {"$anchor": "q", **NEEDY}}})),
    "an address": (schema(), schema(**{"$ref": "q.json", "$defs": {"q": {"$id": "q.json", **NEEDY}}})),
    "a dynamic reference": (
        schema(),
        schema(**{"$dynamicRef": "#q", "$defs": {"q": {"$dynamicAnchor": "q", **NEEDY}}}),
    ),
    "other names behind an anchor": (
        schema(allOf=[{"$ref": "#q"}], additionalProperties=False, **{"$defs": {"q": {"$anchor": "q"}}}),
        schema(
            allOf=[{"$ref": "#q"}], additionalProperties=False, **{"$defs": {"q": {"$anchor": "q", **NEEDY}}}
        ),
    ),
    "other names behind a pointer": (
        schema(**{"$ref": "#/$defs/q", "$defs": {"q": {}}}),
        schema(**{"$ref": "#/$defs/q", "$defs": {"q": NEEDY}}),
    ),
    "another base for a pointer": (
        taking({"$ref": "#/$defs/i"}, **{"$defs": {"i": {"type": "integer"}}}),
        taking(
            {"$ref": "#/$defs/i", "$id": "x", "$defs": {"i": TEXT}}, **{"$defs": {"i": {"type": "integer"}}}
        ),
    ),
    "members without names": (schema(additionalProperties=False), schema()),
    "members without names, in other words": (
        schema(additionalProperties=False),
        schema(additionalProperties=True),
    ),
    "inner members without names": (
        taking({"type": "object", "properties": ID, "additionalProperties": False}),
        taking({"type": "object", "properties": ID}),
    ),
    "a name that was needed in some cases": (
        {**NAMED, "anyOf": CHOICE},
        {**NAMED, "anyOf": CHOICE, "required": ["id"]},
    ),
    "a limit beside the properties": (
        taking(TEXT, allOf=[{"properties": {"ctx": {"enum": ["a"]}}}]),
        taking(TEXT),
    ),
    "a limit among several": (taking({"allOf": [TEXT, {"maxLength": 5}]}), taking(TEXT)),
    "a limit beside a choice": (taking({"anyOf": [TEXT], "maxLength": 5}), taking({"anyOf": [TEXT]})),
    "a limit of a pattern that is not understood": (
        taking({"type": "string", "pattern": "^(?:a|b)$"}),
        taking(TEXT),
    ),
    "a member with the name of a path": (
        schema(properties={"a.b": TEXT, "a": {"type": "object", "properties": {}}}),
        schema(properties={"a.b": TEXT, "a": {"type": "object", "properties": {"b": TEXT}}}),
    ),
    "items for a name with brackets": (
        schema(properties={"a[]": TEXT, "a": {"type": "array", "items": {"type": "integer"}}}),
        schema(properties={"a[]": TEXT, "a": {"type": "array", "items": TEXT}}),
    ),
    "a text for a number": (taking({"type": "integer"}), taking(TEXT)),
    "more values in an array": (
        taking({"type": "array", "items": SHORT, "maxItems": 2}),
        taking({"type": "array", "items": SHORT}),
    ),
}


@pytest.mark.parametrize(("before", "after"), WORSE.values(), ids=WORSE.keys())
async def test_a_schema_that_asks_for_more_is_held(before: Schema, after: Schema, tmp_path: Path) -> None:
    assert await is_held(before, after, tmp_path)


OPTIONAL = {"anyOf": [TEXT, {"type": "null"}]}
TREE = {"circle": {"type": "array", "items": {"$ref": "#/$defs/circle"}}}
HONEST: dict[str, tuple[Schema, Schema]] = {
    "no members without names": (schema(), schema(additionalProperties=False)),
    "members without names, as before": (schema(), schema(additionalProperties=True)),
    "members without names, in other words": (schema(additionalProperties={}), schema()),
    "a longer text": (
        taking({"type": "string", "maxLength": 500}),
        taking({"type": "string", "maxLength": 900, "minLength": 1}),
    ),
    "a limit": (taking(TEXT), taking({"type": "string", "maxLength": 500, "pattern": "a"})),
    "words in a choice": (
        taking({"anyOf": [{**TEXT, "description": "A."}, {"type": "null"}]}),
        taking({"anyOf": [{**TEXT, "description": "B."}, {"type": "null"}]}),
    ),
    "words beside a choice": (taking(OPTIONAL), taking({**OPTIONAL, "title": "Context", "default": None})),
    "null besides": (taking(TEXT), taking(OPTIONAL)),
    "words in a choice of names": (
        {**NAMED, "anyOf": CHOICE},
        {**NAMED, "anyOf": [{**one, "description": "One."} for one in CHOICE]},
    ),
    "words beside a circle": (
        taking({"$ref": "#/$defs/circle"}, **{"$defs": TREE}),
        taking({"$ref": "#/$defs/circle", "description": "A tree."}, **{"$defs": TREE}),
    ),
    "a number in an object": (
        taking({"type": "object", "properties": {}}),
        taking({"type": "object", "properties": {"a": {"type": "integer"}}}),
    ),
    "more values": (taking({"enum": ["a"]}), taking({"enum": ["a", "b"]})),
    "less required": (schema(required=["id"]), schema()),
    "a parameter less": (taking(TEXT), schema()),
}


@pytest.mark.parametrize(("before", "after"), HONEST.values(), ids=HONEST.keys())
async def test_an_honest_change_of_a_schema_is_accepted(
    before: Schema, after: Schema, tmp_path: Path
) -> None:
    assert not await is_held(before, after, tmp_path)
