"""A signature says in one line how a tool is called, whatever its schema looks like."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.workbench.text.shortening import shorten
from mcp_workbench.workbench.text.signatures import display_name, signature, summary

if TYPE_CHECKING:
    from tests.support.client import Json

LONGEST = 5000
DEEP = 100


def definition(schema: Json | bool | None = None, description: str | None = None) -> bytes:
    members: dict[str, Any] = {"name": "tool"}
    if description is not None:
        members["description"] = description
    if schema is not None:
        members["inputSchema"] = schema
    return json.dumps(members).encode()


def typed(schema: Json | bool, **document: Any) -> str:
    """The type of a required parameter with this schema; empty if there is none."""
    whole = {"type": "object", "properties": {"it": schema}, "required": ["it"], **document}
    line = signature("tool", definition(whole))
    return "" if line is None else line.removeprefix("tool(it: ").removesuffix(")")


def test_a_signature_has_name_parameters_and_what_is_said_about_them() -> None:
    schema = {
        "type": "object",
        "properties": {
            "head": {"type": "integer", "description": "Only the first N lines"},
            "path": {"type": "string", "description": "The file to read."},
            "encoding": {"type": "string", "default": "utf-8"},
        },
        "required": ["path"],
    }
    assert signature("read_file", definition(schema, "Read the complete contents of a file")) == (
        'read_file(path: string, head?: integer, encoding?: string = "utf-8") — '
        "Read the complete contents of a file. path: The file to read; head: Only the first N lines"
    )


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "date-time"}, "string:date-time"),
        ({"type": "integer", "format": "int64"}, "integer"),
        ({"type": ["string", "null"]}, "string|null"),
        ({"enum": ["a", "b c", 1, None]}, '"a"|"b c"|1|null'),
        ({"const": "fixed"}, '"fixed"'),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        (
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
            "(string|integer)[]",
        ),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a"|"b")[]'),
        ({"type": "array"}, "any[]"),
        ({"prefixItems": [{"type": "number"}, {"type": "number"}]}, "[number, number]"),
        (
            {"properties": {"lon": {"type": "number"}, "lat": {"type": "number"}}, "required": ["lat"]},
            "{lat: number, lon?: number}",
        ),
        ({"type": "object"}, "object"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "{[key]: string}"),
        ({"oneOf": [{"type": "string"}, {"type": "boolean"}, {"type": "string"}]}, "string|boolean"),
        ({"type": "integer", "minimum": 1, "maximum": 100}, "integer(1..100)"),
        ({"type": "number", "minimum": 0.5}, "number(0.5..)"),
        ({"type": "integer", "minimum": -9007199254740991, "maximum": 9007199254740991}, "integer"),
        ({"type": "string", "minLength": 1, "maxLength": 80}, "string(1..80)"),
        ({"type": "string", "minLength": 0}, "string"),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, "string[](1..)"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 5}, "string[](..5)"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "string:/^[a-z]+$/"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, "string"),
        ({"type": "integer", "default": 10}, "integer = 10"),
        ({"type": "integer", "exclusiveMinimum": 0, "maximum": 9007199254740991}, "integer(>0..)"),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True, "exclusiveMaximum": 1}, "number(>0..<1)"),
        ({"type": "integer", "maximum": 4102444800000}, "integer(..4102444800000)"),
        ({"type": "string", "format": "date", "pattern": "^2"}, "string:date:/^2/"),
        ({"type": "object", "default": {"a": 1}}, 'object = {"a":1}'),
        ({"type": "string", "default": "x" * 100}, "string = …"),
        ({"properties": {"n": {"type": "integer", "default": 3}}}, "{n?: integer = 3}"),
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": False}, "string[]"),
        ({}, "any"),
        (True, "any"),
        (False, "never"),
        ({"description": "said"}, "any) — it: said"),
    ],
)
def test_types_are_written_in_a_few_characters(schema: Json | bool, expected: str) -> None:
    assert typed(schema) == expected


def test_references_and_parts_are_put_in_their_place() -> None:
    definitions = {
        "Point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
        "Named": {"properties": {"name": {"type": "string"}}},
    }
    both = {"allOf": [{"$ref": "#/$defs/Point"}, {"$ref": "#/$defs/Named"}]}
    assert typed({"$ref": "#/$defs/Point"}, **{"$defs": definitions}) == "{x: number}"
    assert typed(both, **{"$defs": definitions}) == "{x: number, name?: string}"


def test_long_choices_are_all_shown() -> None:
    written = typed({"enum": [f"choice-{number}" for number in range(100)]})
    assert written == "|".join(f'"choice-{number}"' for number in range(100))


TREE = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}
OBJECTS = [{"type": "object", "properties": {name: {"type": "string"}}, "required": [name]} for name in "ab"]
DEEP_OBJECT: Json = {"type": "string"}
for name in "dcba":
    DEEP_OBJECT = {"type": "object", "properties": {name: DEEP_OBJECT}}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/Tree"},
        {"$ref": "#/$defs/None"},
        {"$ref": "https://elsewhere.example/schema.json"},
        {"oneOf": OBJECTS},
        {"type": "array", "items": {"anyOf": OBJECTS}},
        {"properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"type": "string", "anyOf": [{"minLength": 1}, {"pattern": "x"}]},
        {"type": "string", "pattern": "x" * 100},
        {"type": "string", "not": {"const": ""}},
        {"$ref": "#/$defs/Tree", "description": "A reference to itself that says more"},
        {"$ref": "#/$defs/None", "description": "A reference to nothing that says more"},
        {"$ref": "#tree"},
        {"$ref": ["#/$defs/Tree"]},
        {"type": "integer", "multipleOf": 5},
        {"type": "array", "uniqueItems": True},
        {"type": "object", "minProperties": 1},
        {"type": "string", "contentEncoding": "base64"},
        {"prefixItems": [{"type": "string"}], "items": {"type": "number"}},
        {"type": "integer", "minimum": 1, "exclusiveMinimum": 0},
        {"minimum": 3},
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"anyOf": [{"type": "string"}], "oneOf": [{"type": "string"}]},
        {"maxLength": 5, "anyOf": [{"type": "string"}, {"type": "null"}]},
        {"allOf": [{"type": "integer", "minimum": 1}, {"minimum": 2}]},
        {"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"maxLength": 3}}}]},
        {"type": "object", "patternProperties": {"^x": {}}},
        {"enum": [f"choice-{number}" for number in range(1000)]},
        DEEP_OBJECT,
    ],
)
def test_what_cannot_be_said_in_a_line_has_no_signature(schema: Json) -> None:
    assert typed(schema, **{"$defs": {"Tree": TREE}}) == ""
    assert signature("tool", definition({"type": "object", "properties": {"a": {"items": schema}}})) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "oneOf": OBJECTS},
        {"type": "object", "properties": {"a": {}}, "dependentRequired": {"a": ["b"]}},
        {
            "type": "object",
            "properties": {"a": {}, "b": {}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        {"$ref": "#"},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}},
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    ],
)
def test_conditions_between_parameters_have_no_signature(schema: Json) -> None:
    assert signature("tool", definition(schema)) is None


def test_what_is_said_about_inner_properties_is_shown_with_their_path() -> None:
    edit = {"type": "object", "properties": {"old": {"type": "string", "description": "Text to find"}}}
    schema = {"properties": {"edits": {"type": "array", "description": "In this order", "items": edit}}}
    assert signature("tool", definition(schema)) == (
        "tool(edits?: {old?: string}[]) — edits: In this order; edits.old: Text to find"
    )


def test_what_is_said_at_a_reference_or_an_alternative_is_said_about_the_property() -> None:
    schema = {
        "properties": {
            "color": {"$ref": "#/$defs/Color"},
            "ids": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/Id"}}]},
            "level": {"oneOf": [{"const": 1, "title": "Low"}, {"const": 2, "description": "Urgent"}]},
        },
        "$defs": {
            "Color": {"enum": ["r", "g"], "description": "What to paint"},
            "Id": {"type": "object", "properties": {"at": {"type": "string", "description": "Its place"}}},
        },
    }
    assert signature("tool", definition(schema)) == (
        'tool(color?: "r"|"g", ids?: null|{at?: string}[], level?: 1|2) — color: What to paint; '
        "level 1: Low; level 2: Urgent; ids.at: Its place"
    )


OBJECT_TYPE = "The type of the object to look for, as the service calls it."
VALUES = "Valid values include: contacts, companies, deals"
SIDE = "The side from which the car comes to the place: 'curb' (as a taxi does it) or 'any' (the usual one)"
PATH = "The path of the file to read on this machine."


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        (
            f"{OBJECT_TYPE} Ask the user if it is not clear which one is meant. {VALUES}.",
            f"{OBJECT_TYPE} {VALUES}",
        ),
        (f"{SIDE}. {PATH}", f"{SIDE}. {PATH[:-1]}"),
        ("Optional. " + "The directory for the output " * 9, "Optional. The directory for the output"),
        (f"{PATH} " * 4, f"{PATH} …"),
    ],
)
def test_values_that_only_a_description_names_are_not_cut(description: str, expected: str) -> None:
    schema = {"properties": {"it": {"type": "string", "description": description}}}
    line = signature("tool", definition(schema)) or ""
    assert line.startswith(f"tool(it?: string) — it: {expected}")
    listed = {"properties": {"it": {"enum": ["a"], "description": description}}}
    assert len(signature("tool", definition(listed)) or "") < 120, "the schema names the values"


def test_text_that_is_left_out_leaves_an_ellipsis() -> None:
    line = signature("tool", definition({}, "Reads a file. " * 30)) or ""
    assert line.endswith("Reads a file. …")


def test_a_name_that_is_not_plain_is_written_as_a_json_string() -> None:
    schema = {"type": "object", "properties": {"a b?": {"description": "Odd"}, "x-y": {}}, "required": ["ü"]}
    assert signature("weg (neu)\n", definition(schema)) == (
        r'"weg (neu)\n"("ü": any, "a b?"?: any, x-y?: any) — "a b?": Odd'
    )
    names = ["read_file", "ns/get.v2", "a:b", "", "9", "a b", "поиск", "a:"]
    assert [display_name(name) for name in names] == [*names[:3], '""', '"9"', '"a b"', '"поиск"', '"a:"']


def test_what_the_name_says_already_is_not_said_again() -> None:
    schema = {"properties": {"time_zone": {"type": "string", "description": "Time zone."}}}
    assert signature("tool", definition(schema)) == "tool(time_zone?: string)"


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b"[]",
        b"",
        b"nonsense",
        definition(True),
        definition({"properties": [], "required": "all", "type": "object"}),
        definition({"properties": {}, "required": []}),
        b'{"inputSchema":null,"description":7}',
    ],
)
def test_a_tool_that_says_nothing_of_its_parameters_shows_none(raw: bytes) -> None:
    assert signature("tool", raw) == "tool()"


def nested(levels: int) -> Json:
    schema: Json = {"type": "string"}
    for level in range(levels):
        schema = {"type": "array", "items": schema} if level % 2 else {"properties": {"deeper": schema}}
    return schema


FAN = {
    f"Level{n}": {"properties": {f"p{m}": {"$ref": f"#/$defs/Level{n + 1}"} for m in range(30)}}
    for n in range(30)
}
"""References that would unfold to 30 to the power of 30 types."""

ODD: dict[str, Json] = {
    "deep": {"properties": {"it": nested(DEEP)}},
    "very deep": {"properties": {"it": nested(400)}},
    "wide": {
        "properties": {f"property_{n}": {"type": "string", "description": "x" * 500} for n in range(10_000)}
    },
    "fan": {"properties": {"it": {"$ref": "#/$defs/Level0"}}, "$defs": FAN},
    "wrong": {
        "properties": {
            "a": {"type": 7, "enum": "x", "anyOf": {}, "items": 3, "format": []},
            "b": {"type": ["string", 3, None], "properties": 3, "required": {}},
            "c": {"type": [], "oneOf": [], "allOf": [3], "description": ["x"]},
            "d": {"type": "object", "properties": {"x": 3}, "additionalProperties": 4, "required": [1, "y"]},
            "e": [],
            "f": {"type": "not a type!", "default": [1]},
        }
    },
    "long names": {"properties": {"n" * 1500: {"type": "string"}}},
}


@pytest.mark.parametrize("schema", ODD.values(), ids=ODD)
def test_whatever_the_schema_the_line_is_one_and_bounded(schema: Json) -> None:
    line = signature("tool", definition(schema, "Many words. " * 1000))
    assert line is None or (line.startswith("tool(") and "\n" not in line and len(line) <= LONGEST)


def test_wrong_schemas_say_what_can_be_made_of_them() -> None:
    assert signature("tool", definition(ODD["wrong"])) == (
        "tool(a?: any, b?: any, c?: any, d?: {y: any, x?: any}, e?: any, f?: any = [1])"
    )


def test_a_definition_that_is_too_deep_to_be_read_is_not_read() -> None:
    raw = b'{"inputSchema":' + b'{"items":' * 100_000 + b"1" + b"}" * 100_001
    assert signature("tool", raw) in ("tool()", None)


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("", ""),
        ("Read a file", "Read a file"),
        ("Read a file. Then more of it.", "Read a file."),
        ("Read a\n  file\n\nArgs: path", "Read a file"),
        ("Reads (e.g. 'a.txt') files. More", "Reads (e.g. 'a.txt') files."),
        ("Uses v1.2 of etc. and so on. More", "Uses v1.2 of etc. and so on."),
        ("读取文件。然后更多", "读取文件。"),
        ("Reads the complete contents of a file", "Reads the complete…"),
        ("x" * 50, "x" * 19 + "…"),
    ],
)
def test_a_summary_is_the_first_sentence_as_far_as_there_is_room(description: str, expected: str) -> None:
    assert summary(description, 30 if len(description) < 37 else 20) == expected


@pytest.mark.parametrize("width", range(12))
def test_nothing_is_longer_than_it_may_be(width: int) -> None:
    assert len(shorten("one two three", width)) <= width
