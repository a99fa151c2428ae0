"""New members of JSON files: they take over the style of their neighbours, and no other line changes."""

from __future__ import annotations

import json

import pytest

from mcp_workbench.config.documents import open_document
from tests.config.documents.editing import SERVER, edited, lines_changed

FILE = """{
  "mcpServers": {
    "wb": {
      "command": "npx",
      "args": ["-y", "@scope/server"],
      "env": {
        "KEY": "ü"
      }
    }
  }
}"""


@pytest.mark.parametrize("source", ["{}", "{ }", "{\n}", "{\r\n}"])
def test_an_empty_object_takes_several_lines(source: str) -> None:
    after = edited("json", source, ("set", ("mcpServers", "wb"), SERVER))
    assert after.replace("\r\n", "\n") == FILE
    assert after.count("\r") == (10 if "\r" in source else 0)


@pytest.mark.parametrize("source", ["", " \n", "\ufeff"])
def test_an_empty_file_becomes_an_object_with_a_final_line_break(source: str) -> None:
    assert edited("json", source) == source
    assert edited("json", source, ("set", ("mcpServers", "wb"), SERVER)).strip(" \n\ufeff") == FILE
    assert edited("json", source, ("set", ("a",), 1)) == f'{source}{{\n  "a": 1\n}}\n'


def test_a_comment_in_an_empty_object_stays() -> None:
    assert edited("json", "{ // c\n}", ("set", ("a",), 1)) == '{ // c\n  "a": 1\n}'
    assert edited("json", "{ /* c */ }", ("set", ("a",), 1)) == '{ /* c */\n  "a": 1\n}'
    assert edited("json", "{\n  // c\n}", ("set", ("a",), 1)) == '{\n  "a": 1\n  // c\n}'


@pytest.mark.parametrize("indent", ["\t", "  ", "   ", "    "])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("comma", ["", ","])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_the_style_of_the_neighbours_is_taken_over(indent: str, newline: str, comma: str, bom: str) -> None:
    def text(*lines: str) -> str:
        return bom + newline.join(line.replace("  ", indent) for line in lines)

    head = ("{", '  "s": {', '    "a": {', '      "command": "x"' + comma)
    before = text(*head, "    }" + comma, "  }" + comma, "}")
    after = text(*head, "    },", '    "b": {', '      "n": 1', "    }" + comma, "  }" + comma, "}")
    assert edited("json", before, ("set", ("s", "b"), {"n": 1})) == after
    assert edited("json", after, ("remove", ("s", "b"))) == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a": 1}', '{"a": 1, "b": {"c": [1, 2]}}'),
        ('{"a":1}', '{"a":1,"b":{"c":[1,2]}}'),
        ('{ "a" : 1 }', '{ "a" : 1, "b" : { "c" : [1, 2] } }'),
        ('{"a": 1, }', '{"a": 1, "b": {"c": [1, 2]}, }'),
        ('{"a": 1 /* one */}', '{"a": 1 /* one */, "b": {"c": [1, 2]}}'),
        ('{"a": 1 // one\n}', '{"a": 1, // one\n  "b": {\n    "c": [1, 2]\n  }\n}'),
        ('{\n "a": 1 }', '{\n "a": 1,\n "b": {\n  "c": [1, 2]\n } }'),
        ('{\n  "a": {"x": 1}\n}', '{\n  "a": {"x": 1},\n  "b": {"c": [1, 2]}\n}'),
        (
            '{\n  "a": 1 // one\n  // foot\n}',
            '{\n  "a": 1, // one\n  "b": {\n    "c": [1, 2]\n  }\n  // foot\n}',
        ),
        (
            '{\n  "a": 1 /* x */ , // one\n}',
            '{\n  "a": 1 /* x */ , // one\n  "b": {\n    "c": [1, 2]\n  },\n}',
        ),
    ],
)
def test_a_member_goes_behind_the_last_one(before: str, after: str) -> None:
    assert edited("json", before, ("set", ("b",), {"c": [1, 2]})) == after
    assert edited("json", after, ("remove", ("b",))) == before


def test_an_object_on_one_line_stays_there_and_a_whole_file_on_one_line_does_not() -> None:
    before = '{\n  "a": {"x": 1, "env": {}}\n}'
    assert edited("json", before, ("set", ("a", "env", "K"), "v")) == before.replace("{}", '{"K": "v"}')
    assert edited("json", '{"s": {}}', ("set", ("s", "a"), 1)) == '{"s": {\n  "a": 1\n}}'


def test_an_item_goes_behind_the_last_one() -> None:
    assert edited("json", '{"a": ["x"]}', ("append", ("a",), "y")) == '{"a": ["x", "y"]}'
    assert (
        edited("json", '{"a": [\n  1, // one\n]}', ("append", ("a",), 2)) == '{"a": [\n  1, // one\n  2,\n]}'
    )
    assert edited("json", '{\n  "a": []\n}', ("append", ("a",), 1)) == '{\n  "a": [1]\n}'
    assert edited("json", "{}", ("append", ("a", "b"), {"c": 1})) == (
        '{\n  "a": {\n    "b": [\n      {\n        "c": 1\n      }\n    ]\n  }\n}'
    )


def test_a_long_list_takes_a_line_for_each_item() -> None:
    after = edited("json", "{}", ("set", ("args",), ["x" * 60, "y" * 60]))
    assert after == f'{{\n  "args": [\n    "{"x" * 60}",\n    "{"y" * 60}"\n  ]\n}}'


def test_letters_of_any_language_stay_and_what_has_no_bytes_is_escaped() -> None:
    assert (
        edited("json", "{}", ("set", ("ключ",), "🚀\ud800\n")) == '{\n  "ключ": "\\ud83d\\ude80\\ud800\\n"\n}'
    )
    assert edited("json", "{}", ("set", ("ключ",), "🚀\n")) == '{\n  "ключ": "🚀\\n"\n}'


def test_a_null_is_replaced_by_the_parent_that_is_missing() -> None:
    assert edited("json", '{\n  "a": null\n}', ("set", ("a", "b"), 1)) == '{\n  "a": {\n    "b": 1\n  }\n}'
    assert edited("json", '{"a": null}', ("append", ("a",), 1)) == '{"a": [1]}'


def test_setting_an_object_changes_only_the_members_that_differ() -> None:
    before = '{\n  "s": {\n    // why\n    "command": "npx", // c\n    "args": ["a"],\n    "old": 1\n  }\n}\n'
    after = edited("json", before, ("set", ("s",), {"args": ["b"], "command": "npx", "new": True}))
    assert lines_changed(before, after) == [
        '-    "args": ["a"],', '-    "old": 1', '+    "args": ["b"],', '+    "new": true',
    ]  # fmt: skip


def test_an_equal_value_changes_nothing_and_a_number_is_not_a_boolean() -> None:
    before = '{"a": [ 1,2 ], "b": 1}'
    assert edited("json", before, ("set", ("a",), [1, 2]), ("set", ("b",), 1)) == before
    assert edited("json", before, ("set", ("b",), True)) == '{"a": [ 1,2 ], "b": true}'


@pytest.mark.parametrize("key", ["a.b", "a/b", "", " ", '"', "\\", "//", "/*", "ключ"])
def test_any_key_is_found_again(key: str) -> None:
    source = json.dumps({"x": {key: {"y": 1}}}, indent=1)
    document = open_document("json", source.encode())
    document.set(("x", key, "z"), 2)
    assert document.data == {"x": {key: {"y": 1, "z": 2}}}
    document.remove(("x", key, "z"))
    assert document.encode().decode() == source


def test_a_key_with_escapes_is_found_and_stays_as_it_is_written() -> None:
    assert edited("json", r'{"\u0061": 1}', ("set", ("a",), 2)) == r'{"\u0061": 2}'
