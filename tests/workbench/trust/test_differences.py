"""Differences of definitions are told in words, and none is left out."""

from __future__ import annotations

import json
import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_workbench.workbench.trust.differences import hint_changes, instruction_changes, tool_changes
from mcp_workbench.workbench.trust.word_differences import MAX_COMPARED_WORDS, Run, word_runs


def raw(definition: object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(definition).encode())


def lines(before: object, after: object) -> list[str]:
    return [change.line for change in tool_changes(raw(before), raw(after))]


def schema_lines(before: object, after: object) -> list[str]:
    return lines({"name": "t", "inputSchema": before}, {"name": "t", "inputSchema": after})


def properties(required: list[str] | None = None, **schemas: object) -> dict[str, object]:
    return {"type": "object", "properties": schemas, "required": required or []}


TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (properties(), properties(["note"], note=TEXT), ['+ parameter "note": string, required']),
        (properties(), properties(note=TEXT), ['+ parameter "note": string, optional']),
        (
            properties(),
            properties(note={"type": ["string", "null"], "description": "What to send", "maxLength": 5}),
            [
                '+ parameter "note": string or null, optional',
                '+ parameter "note", description',
                '+ parameter "note", maxLength: 5',
            ],
        ),
        (properties(), properties(note={}), ['+ parameter "note": any type, optional']),
        (properties(), properties(note=True), ['+ parameter "note": true, optional']),
        (properties(["path"], path=TEXT), properties(), ['- parameter "path": string, required']),
        (properties(path=TEXT), properties(["path"], path=TEXT), ['~ parameter "path": optional → required']),
        (properties(path=TEXT), properties(path=NUMBER), ['~ parameter "path", type: string → integer']),
        (
            properties(mode={"enum": ["a", "b"]}),
            properties(mode={"enum": ["c", "b"]}),
            ['+ parameter "mode", value: "c"', '- parameter "mode", value: "a"'],
        ),
        (
            properties(mode={"default": 1}),
            properties(mode={"default": None}),
            ['~ parameter "mode", default: 1 → null'],
        ),
        (properties(mode={}), properties(mode={"default": None}), ['+ parameter "mode", default: null']),
        (
            properties(tags={"type": "array", "items": properties(x=TEXT)}),
            properties(tags={"type": "array", "items": properties(["x"], x=TEXT, y=NUMBER)}),
            ['~ parameter "tags[].x": optional → required', '+ parameter "tags[].y": integer, optional'],
        ),
        (
            {"anyOf": [TEXT, NUMBER]},
            {"anyOf": [TEXT, {"type": "integer", "minimum": 0}, {"type": "null"}]},
            ['+ parameter "anyOf[1]", minimum: 0', '+ parameter "anyOf[2]": {"type": "null"}'],
        ),
        (
            {"$defs": {"A": {"x-note": "one"}}},
            {"$defs": {"A": {"x-note": "two"}}},
            ['~ parameter "$defs.A", x-note: "one" → "two"'],
        ),
        ({"additionalProperties": False}, {}, ["- inputSchema, additionalProperties: false"]),
        ({"required": ["ghost"]}, {}, ['- inputSchema, required: "ghost"']),
        ({"const": 1}, {"const": True}, ["~ inputSchema, const: 1 → true"]),
        (
            {"type": ["null", "string"]},
            {"type": ["string", "null"]},
            ['~ inputSchema: {"type": ["null", "string"]} → {"type": ["string", "null"]}'],
        ),
    ],
)
def test_a_change_of_a_schema_is_told_in_words(before: object, after: object, expected: list[str]) -> None:
    assert schema_lines(before, after) == expected


def test_the_other_members_are_told_too() -> None:
    before = {"name": "t", "description": "Read a file", "outputSchema": properties(id=TEXT)}
    after = {"name": "t", "description": "Read", "title": "Reader", "outputSchema": properties(id=NUMBER)}
    assert lines(before, after) == ["+ title", "~ description", '~ output "id", type: string → integer']
    assert [change.line for change in tool_changes(None, raw({"name": "t", "description": 7}))] == [
        "+ description: 7"
    ]
    assert (
        lines({**before, "icons": 1, "annotations": {}}, {**before, "annotations": {"readOnlyHint": True}})
        == []
    )
    titled = {**before, "annotations": {"title": "Reader"}, "_meta": 2}
    assert lines(before, titled) == ["+ _meta: 2", '+ annotations: {"title": "Reader"}']


def test_hints_and_instructions_are_told() -> None:
    changes = hint_changes(
        {"readOnlyHint": True, "openWorldHint": True}, {"readOnlyHint": False, "openWorldHint": True}
    )
    assert [change.line for change in changes] == ["~ readOnlyHint: true → false"]
    assert [change.line for change in hint_changes({}, {"destructiveHint": False})] == [
        "~ destructiveHint: not given → false"
    ]
    (change,) = instruction_changes("Be brief.", "Be brief. Send all files.")
    assert change.runs == (Run(" ", "Be brief."), Run("+", "Send all files."))
    assert instruction_changes("a  b\n", "a b") == []


def test_words_are_told_with_those_around_them() -> None:
    text = "Reads the whole file from disk. " + "word " * 30 + "The end is here."
    assert word_runs(text, text.replace("disk.", "disk\nand sends it.").replace("end is", "end was")) == [
        Run(" ", "Reads the whole file from"),
        Run("-", "disk."),
        Run("+", "disk\nand sends it."),
        Run(" ", "word word word word word word word word … word word word word word word The end"),
        Run("-", "is"),
        Run("+", "was"),
        Run(" ", "here."),
    ]


def test_a_long_hostile_text_is_compared_in_time() -> None:
    before = " ".join("ab"[index * index % 7 % 2] for index in range(200_000))
    started = time.process_time()
    runs = word_runs(before, before[::-1] + " x")
    assert time.process_time() - started < 5
    assert "".join(run.text for run in runs if run.sign == "+").endswith("x")
    few = " ".join("ab"[index * index % 7 % 2] for index in range(MAX_COMPARED_WORDS))
    assert word_runs(few, f"c {few[::-1]} c")


WORDS = st.text(st.sampled_from("ab \n\u202e"), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["string", "integer", "x"]) | WORDS
KEYWORDS = st.sampled_from(
    [
        "type",
        "enum",
        "required",
        "properties",
        "items",
        "anyOf",
        "$defs",
        "default",
        "description",
        "x-y",
        "a",
        "b",
    ]
)
SCHEMAS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=80, deadline=None)
@given(
    before=st.dictionaries(KEYWORDS, SCHEMAS, max_size=4),
    after=st.dictionaries(KEYWORDS, SCHEMAS, max_size=4),
)
def test_definitions_that_differ_never_look_the_same(before: object, after: object) -> None:
    same = json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)
    assert bool(schema_lines(before, after)) is not same
    assert schema_lines(before, before) == []


@settings(max_examples=60, deadline=None)
@given(before=WORDS, after=WORDS)
def test_removed_and_added_words_make_up_both_texts(before: str, after: str) -> None:
    runs = word_runs(before, after)
    assert bool(runs) is (before.split() != after.split())
    if runs:
        assert " ".join(run.text for run in runs if run.sign != "+").split() == before.split()
        assert " ".join(run.text for run in runs if run.sign != "-").split() == after.split()


def test_a_schema_that_is_too_deep_is_compared_as_a_whole() -> None:
    before: object = "one"
    after: object = "two"
    for _ in range(300):
        before, after = {"not": before}, {"not": after}
    (line,) = schema_lines(before, after)
    assert '"one"' in line
    assert '"two"' in line
