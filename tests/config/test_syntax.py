"""Files that are not JSON, and JSON that says the same thing twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.errors import Problem
from tests.config.loading import problems

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("content", "where", "what"),
    [
        ('# mine\n{"toolboxes": {}}', "line 1, column 1", "a comment of another language"),
        ('{"toolboxes": {} /* mine }', "line 1, column 18", "a comment without its end"),
        ('{"toolboxes": [1, 2,, ]}', "line 1, column 21", "a comma without a value before or after it"),
        ('{"toolboxes": [,]}', "line 1, column 16", "a comma without a value before or after it"),
        (
            '{\n  // mine,\n  "toolboxes": {},\n  "a": oops, // , }\n}',
            "line 4, column 8",
            "a value is expected here",
        ),
        ("{'toolboxes': {}}", "line 1, column 2", "the wrong kind of quotes"),
        ("{\u201ctoolboxes\u201d: {}}", "line 1, column 2", "the wrong kind of quotes"),
        ('{"toolboxes": None}', "line 1, column 15", "a word that JSON does not know"),
        ('{"toolboxes" {}}', "line 1, column 14", "a colon is missing after the key"),
        ('{"a": {}\n "b": {}}', "line 2, column 2", "a comma is missing before this"),
        ('{"a": "x\ty"}', "line 1, column 9", "a line break or a tab inside a string"),
        (r'{"a": "C:\Users"}', "line 1, column 10", "a backslash that escapes nothing"),
        ('{"a": "x}', "line 1, column 7", "a string without its closing double quotes"),
        ('{"toolboxes": {}', "line 1, column 17", "the file ends too early"),
        ('{"toolboxes": {}}}', "line 1, column 18", "something follows the end of the file's object"),
        ("{toolboxes: {}}", "line 1, column 2", "a key is expected here"),
        ('{"toolboxes": }', "line 1, column 15", "a value is expected here"),
    ],
)
def test_a_slip_in_the_json_is_named_with_its_line_and_column(
    tmp_path: Path, content: str, where: str, what: str
) -> None:
    (problem,) = problems(tmp_path, content)
    assert (problem.where, problem.what) == (where, f"invalid JSON: {what}")
    assert problem.remedy


@pytest.mark.parametrize("content", ["[]", "3", "null", '"toolboxes"'])
def test_a_file_that_holds_no_object_is_refused_with_an_example(tmp_path: Path, content: str) -> None:
    (problem,) = problems(tmp_path, content)
    assert problem.what == "the file should hold one JSON object"
    assert "Start from this" in problem.remedy


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "9" * 5000])
def test_a_number_that_is_none_is_refused(tmp_path: Path, number: str) -> None:
    assert problems(tmp_path, f'{{"toolboxes": {number}}}') == [
        Problem(
            "", "the file holds NaN, Infinity or a number of thousands of digits", "Write an ordinary number."
        )
    ]


def test_bottomless_nesting_is_refused(tmp_path: Path) -> None:
    content = '{"a":' * 100_000 + "1" + "}" * 100_000
    assert problems(tmp_path, content) == [Problem("", "the JSON is nested too deeply", "Flatten it.")]


def test_every_key_that_is_written_twice_is_reported_also_inside_what_was_overwritten(tmp_path: Path) -> None:
    content = """
      {"toolboxes": {
        "dev": {"description": "a", "description": "b", "tags": [{"k": 1, "k": 2}], "mcpServers": {}},
        "dev": {"description": "c", "mcpServers": {
          "fs": {"command": "x", "env": {"A": "1", "A": "2", "A": "3"}}
        }}
      }}
    """
    twice = "this key is written 2 times in the same object, and only one can count"
    thrice = "this key is written 3 times in the same object, and only one can count"
    remedy = "Delete or rename the others."
    assert problems(tmp_path, content) == [
        Problem("toolboxes.dev.tags[0].k", twice, remedy),
        Problem("toolboxes.dev.description", twice, remedy),
        Problem("toolboxes.dev.mcpServers.fs.env.A", thrice, remedy),
        Problem("toolboxes.dev", twice, remedy),
    ]


def test_a_repeated_key_does_not_hide_the_other_mistakes(tmp_path: Path) -> None:
    content = '{"toolMode": "dynamic", "toolMode": "dynamic", "toolboxes": []}'
    assert [problem.where for problem in problems(tmp_path, content)] == ["toolMode", "toolMode", "toolboxes"]
