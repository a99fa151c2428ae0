"""Parts of a JSON text, as they stand."""

from __future__ import annotations

import json

import pytest

from mcp_workbench.errors import NoSuchPart
from mcp_workbench.workbench.kept.json_parts import find_part, items_of, kind_of, members_of
from mcp_workbench.workbench.kept.shape import shape_of_json, shape_of_text
from tests.support.nesting import TOO_DEEP

DOCUMENT = rb""" {
  "rows": [ {"id": 1.50, "name": "a\u00e9"}, {"id":2} ],
  "a/b": {"m~n": null}, "": {"": [true]}, "total" : 2,
  "text": "x", "k\"q\n\\": 7
} """


@pytest.mark.parametrize(
    ("pointer", "part"),
    [
        ("", DOCUMENT.strip()),
        ("/rows", rb'[ {"id": 1.50, "name": "a\u00e9"}, {"id":2} ]'),
        ("/rows/0", rb'{"id": 1.50, "name": "a\u00e9"}'),
        ("/rows/0/id", b"1.50"),
        ("/rows/0/name", rb'"a\u00e9"'),
        ("/a~1b/m~0n", b"null"),
        ("//", b"[true]"),
        ("///0", b"true"),
        ("/total", b"2"),
        ('/k"q\n\\', b"7"),
    ],
)
def test_a_pointer_leads_to_a_part_as_it_stands(pointer: str, part: bytes) -> None:
    assert bytes(find_part(DOCUMENT, pointer)) == part


@pytest.mark.parametrize(
    ("pointer", "reason"),
    [
        ("rows/0", "the pointer 'rows/0' does not begin with /: write for example \"/rows/0/name\""),
        (
            "/row",
            "nothing is at '/row': the whole is an object with the keys rows, a/b, , total, text, k\"q\n\\",
        ),
        ("/rows/2", "nothing is at '/rows/2': '/rows' is an array with items 0 to 1"),
        ("/rows/-", "nothing is at '/rows/-': '/rows' is an array with items 0 to 1"),
        ("/rows/00", "nothing is at '/rows/00': '/rows' is an array with items 0 to 1"),
        ("/rows/" + "9" * 5000, f"nothing is at '/rows/{'9' * 5000}': '/rows' is an array with items 0 to 1"),
        (
            "/rows/1/id/x",
            "nothing is at '/rows/1/id/x': '/rows/1/id' is of the type integer, and has nothing inside",
        ),
        ("/rows/1/x/y", "nothing is at '/rows/1/x/y': '/rows/1' is an object with the keys id"),
    ],
)
def test_a_pointer_that_leads_nowhere_is_told_how_far_it_leads(pointer: str, reason: str) -> None:
    with pytest.raises(NoSuchPart) as raised:
        find_part(DOCUMENT, pointer)
    assert str(raised.value) == reason


def test_of_many_keys_some_are_named() -> None:
    with pytest.raises(NoSuchPart, match=r"k28, k29 and 70 more$"):
        find_part(json.dumps({f"k{n}": n for n in range(100)}).encode(), "/x")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("{}", "object"),
        ("[]", "array"),
        ('""', "string"),
        ("true", "boolean"),
        ("false", "boolean"),
        ("null", "null"),
        ("-12", "integer"),
        ("1.0", "number"),
        ("1e5", "number"),
    ],
)
def test_the_kind_of_a_value_is_that_of_json_schema(value: str, kind: str) -> None:
    assert kind_of(value.encode()) == kind


def test_what_is_nested_too_deeply_is_not_looked_into() -> None:
    deep = b"[" * TOO_DEEP + b"]" * TOO_DEEP
    assert items_of(deep) is None
    assert members_of(b'{"a":%b}' % deep) is None
    with pytest.raises(NoSuchPart, match="nested too deeply"):
        find_part(b'{"a":%b}' % deep, "/a")
    assert shape_of_json(b'{"a":%b}' % deep, 100) == "object[very many]"


def test_millions_of_tiny_items_are_not_taken_apart_and_as_many_rows_are_counted() -> None:
    tiny = b"[%b1]" % (b"1," * 3_200_000)
    assert items_of(tiny) is None
    assert shape_of_json(b'{"rows":%b,"total":1}' % tiny, 600) == "{rows: array[very many], total: integer}"
    rows = b'{"rows":[%b{}],"total":1}' % (b'{"id":1,"name":"one of many"},' * 200_000)
    assert shape_of_json(rows, 600) == "{rows: array[200001] of {id: integer, name: string}, total: integer}"


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (
            {"rows": [{"id": 1, "name": "a"}] * 3, "total": 3},
            "{rows: array[3] of {id: integer, name: string}, total: integer}",
        ),
        ([], "array[0]"),
        ({}, "{}"),
        ([1, "a", None], "array[3] of integer | null | string"),
        ([[1.5], [2.5]], "array[2] of array[1] of number"),
        ("text", "string"),
        ({"a": {"b": {"c": {"d": {"e": 1}}}}}, "{a: {b: {c: {d: object[1]}}}}"),
    ],
)
def test_the_shape_of_json_is_its_keys_types_and_lengths(value: object, shape: str) -> None:
    assert shape_of_json(json.dumps(value).encode(), 600) == shape


def test_a_shape_is_as_deep_as_there_is_room_for() -> None:
    value = json.dumps({f"key{n}": {"inner": {"x": n}} for n in range(50)}).encode()
    shape = shape_of_json(value, 110)
    assert len(shape) <= 110
    assert shape.startswith("{key0: object[1], key1: ")
    assert shape.endswith("… 45 more keys}")
    assert shape_of_json(value, 5) == "object[50]"


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("one", "1 line"),
        ("one\n", "1 line"),
        ("one\nthree\r\nfour", "3 lines, the longest has 6 bytes"),
        ("é\n" + "x" * 2_000_000 + "\n\n", "3 lines, the longest has 2,000,000 bytes"),
    ],
)
def test_the_shape_of_a_text_is_its_lines(text: str, shape: str) -> None:
    assert shape_of_text(text.encode()) == shape
