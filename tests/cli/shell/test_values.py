"""Values are read by the schema of what they are for, and text stays text."""

from __future__ import annotations

import msgspec
import pytest

from mcp_workbench.cli.shell.values import ValueReader, WrongValue

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
EITHER = {"anyOf": [WHOLE, TEXT]}
MODE = {"enum": ["fast", "slow", 3, None]}
DOCUMENT = {"$defs": {"count": WHOLE, "loop": {"$ref": "#/$defs/loop"}}}


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("5", TEXT, "5"),
        ("true", TEXT, "true"),
        ("null", {"type": ["string", "null"]}, None),
        ("5", WHOLE, 5),
        ("-5", WHOLE, -5),
        ("0.10", {"type": "number"}, 0.1),
        ("1e3", {"type": "number"}, 1000.0),
        (".5", {"type": "number"}, 0.5),
        ("12345678901234567890.5", {"type": "number"}, 12345678901234567890.5),
        ("yes", {"type": "boolean"}, True),
        ("0", {"type": "boolean"}, False),
        ("yes", {"type": ["boolean", "string"]}, "yes"),
        ("true", {"type": ["boolean", "string"]}, True),
        ("x", {"type": []}, "x"),
        ("5", EITHER, 5),
        ("five", EITHER, "five"),
        ("007", EITHER, "007"),
        ("007", WHOLE, 7),
        ("yes", {"type": ["boolean", "null"]}, True),
        ("a", {"anyOf": [{"type": "array", "items": TEXT}, {"type": "null"}]}, ["a"]),
        ("a", {"anyOf": [{"type": "array", "items": TEXT}, TEXT]}, "a"),
        ("null", {"anyOf": [{"type": "null"}, WHOLE]}, None),
        ("a", {"type": "array", "items": TEXT}, ["a"]),
        ("[1, 2]", {"type": "array", "items": WHOLE}, [1, 2]),
        ("7", {"type": "array", "items": WHOLE}, [7]),
        ('{"a": [1]}', {"type": "object"}, {"a": [1]}),
        ("{}", {"properties": {"a": TEXT}}, {}),
        ("slow", MODE, "slow"),
        ("3", MODE, 3),
        ("null", MODE, None),
        ("x", {"const": "x"}, "x"),
        ("5", {"$ref": "#/$defs/count"}, 5),
        ("5", {"allOf": [{"$ref": "#/$defs/count"}, {"minimum": 1}]}, 5),
        ("5", {"$ref": "#/$defs/loop"}, 5),
        ("5", {}, 5),
        ("five", True, "five"),
        ("\N{SNOWMAN}", TEXT, "\N{SNOWMAN}"),
    ],
)
def test_a_value_is_read_by_its_schema(text: str, schema: object, value: object) -> None:
    read = ValueReader(DOCUMENT).read(text, schema)
    assert msgspec.json.decode(msgspec.json.encode(read)) == value
    assert not isinstance(value, bool) or read is value


def test_a_number_keeps_its_digits() -> None:
    read = ValueReader({}).read("0.10000000000000000001", {"type": "number"})
    assert msgspec.json.encode(read) == b"0.10000000000000000001"


@pytest.mark.parametrize(
    ("text", "schema", "reason"),
    [
        ("five", WHOLE, "takes an integer, not 'five'"),
        ("1_000", WHOLE, "takes an integer, not '1_000'"),
        ("5.0", WHOLE, "takes an integer, not '5.0'"),
        ("nan", {"type": "number"}, "takes a number, not 'nan'"),
        ("1e9999", {"type": "number"}, "takes a number, not '1e9999'"),
        ("maybe", {"type": "boolean"}, "takes true or false, not 'maybe'"),
        ("[1", {"type": "array"}, "takes a JSON array: "),
        ("a", {"type": "array", "items": WHOLE}, "takes an integer, not 'a'"),
        ("a", {"type": "object"}, "takes a JSON object, not 'a'"),
        ("[]", {"type": "object"}, "takes a JSON object, not '[]'"),
        ("fats", MODE, "takes fast, slow, 3 or null, not 'fats'. Did you mean: fast?"),
        ("x\x1b[2J", {"type": "null"}, "takes null, not 'x\\x1b[2J'"),
        ("a", {"anyOf": [WHOLE, {"type": "boolean"}]}, "takes integer|boolean, not 'a'"),
    ],
)
def test_a_value_of_another_type_is_refused_with_what_fits(text: str, schema: object, reason: str) -> None:
    with pytest.raises(WrongValue) as refused:
        ValueReader(DOCUMENT).read(text, schema)
    assert str(refused.value).startswith(reason)


def test_a_schema_that_refers_to_itself_without_end_is_survived() -> None:
    both = {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "array", "items": {"$ref": "#/$defs/a"}}]}
    document = {"$defs": {"a": {**both, "oneOf": [both, both]}}}
    reader = ValueReader(document)
    assert reader.read("5", {"$ref": "#/$defs/a"}) == 5
    assert reader.schemas.kind_of({"$ref": "#/$defs/a"}) == "any"
