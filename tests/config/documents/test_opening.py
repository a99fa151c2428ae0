"""Files that cannot be edited, whatever their format: the reason is named, and nothing is written."""

from __future__ import annotations

import json
import time

import pytest

from mcp_workbench.config.documents import Format, open_document
from mcp_workbench.errors import DocumentError
from tests.config.documents.editing import Change, change

FORMATS: list[Format] = ["json", "toml", "yaml"]


def refusal(form: Format, source: bytes) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        open_document(form, source)
    return caught.value


@pytest.mark.parametrize(
    ("form", "source", "message"),
    [
        (
            "json",
            b'{\n  "a": 1\n  "b": 2\n}',
            "line 3, column 3: invalid JSON: a comma is missing before this",
        ),
        ("json", b"[1]", "line 1: the file does not hold an object"),
        ("json", b'{"a": NaN}', "the file has a number that JSON cannot hold"),
        ("json", b'{"a": 1} /* open', "line 1, column 10: invalid JSON: a comment without its end"),
        ("toml", b"a = 1\nb = \n", "line 2, column 5: invalid TOML: Invalid value"),
        ("toml", b"a = 1\na = 2\n", "line 2, column 6: invalid TOML: Cannot overwrite a value"),
        ("yaml", b"a: 1\n b: 2\n", "line 2, column 3: invalid YAML: mapping values are not allowed here"),
        ("yaml", b"- a\n", "line 1: the file does not hold a mapping"),
        (
            "yaml",
            b"a: 1\nb:\n  c: 1\n  c: 2\n",
            'line 4, column 3: the key "c" is written twice in the same mapping',
        ),
        ("yaml", b"a: 1\n---\nb: 2\n", "line 2, column 1: invalid YAML: but found another document"),
        ("yaml", b"a: \x01", "invalid YAML: the file has a character that is not allowed"),
        ("yaml", b"? [a]\n: 1\n", "line 1: a key is a list or a mapping"),
        ("yaml", b"a: &a [*a]\n", "line 1: a value contains itself"),
    ],
)
def test_a_broken_file_is_refused_with_the_place_and_the_reason(
    form: Format, source: bytes, message: str
) -> None:
    assert str(refusal(form, source)) == message


@pytest.mark.parametrize("form", FORMATS)
def test_another_encoding_is_refused(form: Format) -> None:
    assert refusal(form, "\ufeffa".encode("utf-16-le")).reason == "the file is UTF-16, not UTF-8"
    assert str(refusal(form, b"# 1\n\xe4")) == "line 2: the file is not UTF-8"


@pytest.mark.parametrize(
    ("form", "source"),
    [
        ("json", b'{"a":' * 100_000),
        ("json", b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        ("toml", b"a = " + b"[" * 5_000 + b"]" * 5_000),
        ("yaml", b"a: " + b"[" * 700 + b"]" * 700),
    ],
)
def test_a_file_that_is_nested_too_deeply_is_refused(form: Format, source: bytes) -> None:
    assert refusal(form, source).reason == "the file is nested too deeply"


@pytest.mark.parametrize("form", FORMATS)
def test_a_value_that_no_file_can_hold_is_refused_and_the_document_stays_as_it_was(form: Format) -> None:
    document = open_document(form, b"")
    document.set(("a",), 1)
    before = document.encode()
    deep: object = []
    for _ in range(100_000):
        deep = [deep]
    for value in (deep, {1, 2}, float("nan"), {1: 2}, b"x"):
        with pytest.raises(DocumentError):
            document.set(("b",), value)
    edits: list[Change] = [("set", (), 1), ("set", ("a", "b"), 1), ("append", ("a",), 1)]
    for edit in edits:
        with pytest.raises(DocumentError):
            change(document, edit)
    assert (document.encode(), document.data) == (before, {"a": 1})


def test_a_key_that_is_written_twice_is_refused_only_where_it_matters() -> None:
    source = b'{"x": {"a": 1, "a": 2}, "y": {"b": 1}}'
    document = open_document("json", source)
    edits: list[Change] = [("set", ("x", "b"), 1), ("set", ("x", "a"), 1), ("remove", ("x", "a"))]
    for edit in edits:
        with pytest.raises(DocumentError, match='line 1: the key "a" is written twice in the same object'):
            change(document, edit)
    document.set(("y", "c"), 2)
    assert document.encode() == source.replace(b'"b": 1', b'"b": 1, "c": 2')


@pytest.mark.parametrize("form", FORMATS)
def test_the_data_of_a_document_is_not_the_text(form: Format) -> None:
    document = open_document(form, b"")
    assert document.data == {}
    assert document.encode() == b""
    document.set(("a", "b"), [1, "x", True, {"c": 1.5}])
    assert json.loads(json.dumps(document.data)) == {"a": {"b": [1, "x", True, {"c": 1.5}]}}


@pytest.mark.untraced
def test_a_large_json_file_is_edited_in_less_than_a_second() -> None:
    tree = {f"key {n}": {"args": ["x" * 20] * 5, "env": {"A": "https://x"}} for n in range(6_000)}
    source = json.dumps(tree, indent=2).encode()
    assert len(source) > 1_000_000
    started = time.perf_counter()
    document = open_document("json", source)
    document.set(("key 5999", "env", "B"), "x")
    document.remove(("key 0",))
    assert time.perf_counter() - started < 3
