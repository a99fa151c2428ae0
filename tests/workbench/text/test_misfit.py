"""Where arguments do not fit a tool's schema: what is told, and that a schema cannot make it take long."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import jsonschema
import pytest

from mcp_workbench.workbench.text.misfit import MAX_ARGUMENTS_BYTES, MAX_DEFINITION_BYTES, misfits

FILE = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "head": {"type": "integer", "minimum": 1},
        "mode": {"enum": ["text", "binary", 1]},
        "edits": {"type": "array", "items": {"$ref": "#/$defs/Edit"}, "maxItems": 2},
        "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "target": {"oneOf": [{"required": ["url"]}, {"required": ["file"]}]},
    },
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"Edit": {"type": "object", "required": ["old", "new"]}},
}


def found(schema: object, arguments: object) -> list[str]:
    definition = json.dumps({"name": "it", "inputSchema": schema}).encode()
    return misfits(definition, json.dumps(arguments).encode())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"path": "a", "head": 1.0, "mode": 1, "size": None, "target": {"url": ""}}, []),
        ({}, ["'path' is missing"]),
        ({"path": 5}, ["'path' must be string, not integer"]),
        ({"path": ""}, ["'path' must have at least 1 characters"]),
        ({"path": "a", "head": 0}, ["'head' must be at least 1"]),
        ({"path": "a", "head": 1.5}, ["'head' must be integer, not number"]),
        ({"path": "a", "head": True}, ["'head' must be integer, not boolean"]),
        ({"path": "a", "mode": True}, ["'mode' is none of the values that are allowed"]),
        ({"path": "a", "edits": [{}, {"old": "b"}]},
         ["'edits[0].old' is missing", "'edits[0].new' is missing", "'edits[1].new' is missing"]),
        ({"path": "a", "edits": [1, 2, 3]}, ["'edits' must have at most 2 items"]),
        ({"path": "a", "size": "5"}, ["'size' must be integer or null, not string"]),
        ({"path": "a", "target": {}}, ["'target' fits none of its 2 alternatives"]),
        ({"file": "a"}, ["'path' is missing", "'file' is not known"]),
        ({"a": 1, "b": 2, "c": 3}, ["'path' is missing", "'a' is not known", "'b' is not known", "and more"]),
        ([], ["the whole of them must be object, not array"]),
    ],
)  # fmt: skip
def test_it_is_told_what_does_not_fit_and_where(arguments: object, told: list[str]) -> None:
    assert found(FILE, arguments) == told


@pytest.mark.parametrize(
    "schema",
    [
        *(True, {}, None, 5, [], "x"),
        {"type": "any"},
        {"type": 5, "required": 5, "properties": 5, "enum": 5, "anyOf": 5, "items": 5, "$ref": 5},
        {"type": [5], "required": [5], "minimum": "x", "minProperties": None},
        {"$ref": "https://example.org/schema.json"},
        {"$ref": "#/$defs/absent"},
        {"$ref": "#/$defs/0/9999999999"},
        {"$ref": "#anchor"},
        {"patternProperties": {"^a$": {"type": "integer"}}, "additionalProperties": False},
        {"properties": {"a": {"pattern": "^b$", "format": "email"}}},
        {"oneOf": [{"type": "object"}, {"required": ["a"]}]},
        {"not": {"type": "object"}},
    ],
    ids=str,
)
def test_what_cannot_be_told_fits(schema: object) -> None:
    assert found(schema, {"a": "a"}) == []


@pytest.mark.parametrize("definition", [b"{}", b"5", b"{", b'{"inputSchema":' + b"[" * 2000, b""])
def test_a_definition_that_says_nothing_is_fitted_by_everything(definition: bytes) -> None:
    assert misfits(definition, b'{"a":1}') == []


def test_what_is_long_is_not_looked_at() -> None:
    unfitting = {"inputSchema": {"required": ["a"]}}
    definition = json.dumps(unfitting).encode()
    assert misfits(definition, b"{}") == ["'a' is missing"]
    assert misfits(definition, b'{"b":"%b"}' % (b"x" * MAX_ARGUMENTS_BYTES)) == []
    assert misfits(json.dumps({**unfitting, "x": "x" * MAX_DEFINITION_BYTES}).encode(), b"{}") == []


def test_arguments_that_are_too_deep_to_be_decoded_have_no_misfits() -> None:
    deep = b'{"b":' * 5000 + b"1" + b"}" * 5000
    # How deep that is depends on the version of Python: these can be decoded from 3.13 on.
    assert misfits(b'{"inputSchema":{"required":["a"]}}', deep) in ([], ["'a' is missing"])


def test_names_are_shown_without_what_is_hidden_in_them_and_not_at_length() -> None:
    (told,) = found({"required": ["a\u202eb" + "c" * 1000]}, {})
    assert told.startswith("'abccc")
    assert len(told) < 100


LOOP = {"allOf": [{"$ref": "#"}, {"$ref": "#"}], "anyOf": [{"$ref": "#"}, {"$ref": "#"}]}
NAMES = [f"name{at}" for at in range(15_000)]
DEEP_VALUE: Any = json.loads('{"a":' * 150 + "1" + "}" * 150)


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"properties": {"a": {"pattern": "^(a+)+$"}}}, {"a": "a" * 60_000 + "b"}),
        (LOOP, {"a": 1}),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, {}),
        ({"additionalProperties": {"$ref": "#"}, **LOOP}, DEEP_VALUE),
        ({"additionalProperties": {"items": {"required": NAMES[:10_000]}}}, {"a": [{}] * 15_000}),
        ({"properties": {"a": {"items": {"enum": NAMES}}}}, {"a": ["x"] * 10_000}),
        ({"properties": {"a": {"items": {"type": NAMES}}}}, {"a": ["x"] * 10_000}),
        ({"properties": {"a": {"items": {"const": ["x"] * 10_000}}}}, {"a": [["x"] * 50] * 200}),
        ({"properties": {"a": {"items": {"$ref": "#/" + "x/" * 100_000}}}}, {"a": [0] * 20_000}),
    ],
    ids=["pattern", "loop", "cycle", "deep", "required", "enum", "types", "large-values", "reference"],
)  # fmt: skip
def test_no_schema_makes_it_take_long(schema: object, arguments: object) -> None:
    assert len(json.dumps(schema)) < MAX_DEFINITION_BYTES - 100
    assert len(json.dumps(arguments)) <= MAX_ARGUMENTS_BYTES
    started = time.process_time()
    found(schema, arguments)
    assert time.process_time() - started < 1


def _schema(chance: random.Random, depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    if chance.random() < 0.5:
        kinds = ["null", "boolean", "integer", "number", "string", "array", "object"]
        schema["type"] = chance.choice(kinds) if chance.random() < 0.7 else chance.sample(kinds, 2)
    for keyword in ("minimum", "exclusiveMaximum", "minLength", "maxItems", "minProperties"):
        if chance.random() < 0.1:
            schema[keyword] = chance.randint(0, 3)
    if chance.random() < 0.1:
        schema["enum"] = [_value(chance, 0) for _ in range(3)]
    if chance.random() < 0.3:
        schema["required"] = chance.sample("abc", 1)
    if chance.random() < 0.1:
        schema["$ref"] = "#/$defs/shared"
    if depth and chance.random() < 0.6:
        schema["properties"] = {name: _schema(chance, depth - 1) for name in "ab"}
        schema["additionalProperties"] = chance.choice([True, False, _schema(chance, depth - 1)])
    if depth and chance.random() < 0.3:
        schema["items"] = _schema(chance, depth - 1)
    for keyword in ("allOf", "anyOf"):
        if depth and chance.random() < 0.2:
            schema[keyword] = [_schema(chance, depth - 1) for _ in range(2)]
    return schema


def _value(chance: random.Random, depth: int) -> Any:
    if depth and chance.random() < 0.7:
        if chance.random() < 0.2:
            return [_value(chance, depth - 1) for _ in range(chance.randint(0, 3))]
        return {name: _value(chance, depth - 1) for name in chance.sample("abc", chance.randint(0, 3))}
    return chance.choice([None, True, False, 0, 1, 2, 1.0, 1.5, "", "a", "abc"])


def test_it_agrees_with_a_full_implementation_of_the_keywords_that_it_knows() -> None:
    chance = random.Random(7)  # noqa: S311 - the same schemas each time
    verdicts = {True: 0, False: 0}
    for _ in range(500):
        schema = {**_schema(chance, 3), "$defs": {"shared": {"type": chance.choice(["object", "string"])}}}
        value = _value(chance, 3)
        fits = jsonschema.Draft202012Validator(schema).is_valid(value)
        verdicts[fits] += 1
        assert (not found(schema, value)) == fits, (schema, value)
    assert min(verdicts.values()) > 50
