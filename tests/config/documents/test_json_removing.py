"""Members of JSON files that are removed or moved: their comments go with them, and those of others stay."""

from __future__ import annotations

import pytest

from mcp_workbench.errors import DocumentError
from tests.config.documents.editing import edited, lines_changed

FILE = """{
  // about this file

  // about a
  "a": { "x": 1, /* why */ "y": 2 }, // tail a
  "b": [1, 2, // two
    3],

  /* about c,

     in full */
  "c": {
    // about d
    "d": 1 /* k */ , // tail d
    "e": 2
  } // tail c
  // foot
}
"""


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        (("a",), ["-  // about a", '-  "a": { "x": 1, /* why */ "y": 2 }, // tail a']),
        (("b",), ['-  "b": [1, 2, // two', "-    3],"]),
        (
            ("a", "x"),
            ['-  "a": { "x": 1, /* why */ "y": 2 }, // tail a', '+  "a": { /* why */ "y": 2 }, // tail a'],
        ),
        (("a", "y"), ['-  "a": { "x": 1, /* why */ "y": 2 }, // tail a', '+  "a": { "x": 1 }, // tail a']),
        (("b", 1), ['-  "b": [1, 2, // two', '+  "b": [1,']),
        (("b", 2), ['-  "b": [1, 2, // two', "-    3],", '+  "b": [1, 2 // two', "+    ],"]),
        (("c", "d"), ["-    // about d", '-    "d": 1 /* k */ , // tail d']),
        (("c", "e"), ['-    "d": 1 /* k */ , // tail d', '-    "e": 2', '+    "d": 1 /* k */  // tail d']),
    ],
)
def test_only_the_lines_of_a_removed_member_change(path: tuple[str | int, ...], lines: list[str]) -> None:
    assert lines_changed(FILE, edited("json", FILE, ("remove", path))) == lines


def test_the_comma_before_a_removed_last_member_goes_too() -> None:
    after = edited("json", FILE, ("remove", ("c",)))
    assert after.endswith('  "b": [1, 2, // two\n    3]\n\n  // foot\n}\n')


def test_the_last_member_leaves_an_empty_object() -> None:
    assert (
        edited("json", '{\n  // c\n  "a": {\n    "b": 1,\n  },\n}', ("remove", ("a", "b")))
        == '{\n  // c\n  "a": {},\n}'
    )
    assert edited("json", '{ "a": 1 } // end', ("remove", ("a",))) == "{} // end"
    assert (
        edited("json", '{\n  // stays\n\n  // goes\n  "a": 1\n}', ("remove", ("a",))) == "{\n  // stays\n\n}"
    )


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ('{\n  "a": 1\n, "b": 2\n, "c": 3\n}', "b", '{\n  "a": 1\n, "c": 3\n}'),
        ('{\n  "a": 1\n, "b": 2\n}', "b", '{\n  "a": 1\n}'),
        ('{\n  "a": 1\n, "b": 2\n}', "a", '{\n  "b": 2\n}'),
    ],
)
def test_lines_that_start_with_commas_are_kept(before: str, path: str, after: str) -> None:
    assert edited("json", before, ("remove", (path,))) == after


def test_what_is_absent_cannot_be_removed() -> None:
    for path in [("x",), ("a", "z"), ("b", 3), ("b", -1), ("b", "0"), ()]:
        with pytest.raises(KeyError):
            edited("json", FILE, ("remove", path))


def test_a_renamed_member_keeps_its_place_and_its_comments() -> None:
    assert lines_changed(FILE, edited("json", FILE, ("move", ("c", "d"), ("c", "ü")))) == [
        '-    "d": 1 /* k */ , // tail d',
        '+    "ü": 1 /* k */ , // tail d',
    ]


def test_a_moved_member_takes_its_comments_along() -> None:
    member = '    // about a\n    "a": {\n      "b": 1 // b\n    }, // tail\n'
    before = f'{{\n  "x": {{\n{member}    "c": 2\n  }},\n  "y": {{}}\n}}\n'
    assert edited("json", before, ("move", ("x", "a"), ("y", "z", "a"))) == (
        '{\n  "x": {\n    "c": 2\n  },\n  "y": {\n    "z": {\n      // about a\n      "a": {\n'
        '        "b": 1 // b\n      } // tail\n    }\n  }\n}\n'
    )


def test_a_member_is_moved_into_an_object_on_one_line() -> None:
    before = '{\n  "x": {"a": 1},\n  // two\n  "b": 2\n}'
    assert (
        edited("json", before, ("move", ("b",), ("x", "b")))
        == '{\n  "x": {"a": 1,\n    // two\n    "b": 2}\n}'
    )


def test_nothing_is_moved_onto_another_value_or_into_itself() -> None:
    for new_path in [("b",), ("a", "z"), ("a",)]:
        with pytest.raises(DocumentError):
            edited("json", FILE, ("move", ("a",), new_path))
    with pytest.raises(KeyError):
        edited("json", FILE, ("move", ("x",), ("y",)))
