"""Comments and trailing commas become spaces; everything else in the text stays where it is."""

from __future__ import annotations

import json
import time

import pytest

from mcp_workbench.config.source.json_comments import without_comments


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1} // end', '{"a": 1}       '),
        ('{/* a\r\nb */"a": 1}', '{    \r\n    "a": 1}'),
        ('{"a": "// no /* comment */"}', '{"a": "// no /* comment */"}'),
        (r'{"a\"//": "\\"} //x', r'{"a\"//": "\\"}    '),
        ("[1, 2, ]", "[1, 2  ]"),
        ('{"a": 1, // last\n}', '{"a": 1         \n}'),
        ('{"a": ",]", "b": [1,],}', '{"a": ",]", "b": [1 ] }'),
        ("[1 /* a */, /* b */]", "[1                 ]"),
    ],
)
def test_comments_and_trailing_commas_become_spaces(text: str, expected: str) -> None:
    assert without_comments(text) == expected
    json.loads(expected)


@pytest.mark.parametrize(
    "text", ["[,]", "{,}", "[1,,]", '{"a":,}', "[1,,2]", "[/* a */,]", "[1 /*", "[1 / 2]", "# a\n[]"]
)
def test_a_mistake_stays_a_mistake(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(without_comments(text))


def test_a_string_that_is_not_closed_is_reported_where_it_starts() -> None:
    text = '{\n  "a": "x, // y\n  // comment\n}'
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads(without_comments(text))
    assert (caught.value.lineno, caught.value.msg[:12]) == (2, "Invalid cont")


@pytest.mark.untraced
def test_a_large_file_takes_a_fraction_of_a_second() -> None:
    text = "[" + '{"url": "https://x", /* c */ "args": [1, 2,],}, // c\n' * 20_000 + "]"
    started = time.perf_counter()
    assert len(json.loads(without_comments(text))) == 20_000
    assert time.perf_counter() - started < 2
