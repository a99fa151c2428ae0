"""The toolbox with which kept results are read: what its tools take, and what they answer."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import jsonschema
import msgspec
import pytest
import regex

from mcp_workbench.errors import CallError
from mcp_workbench.workbench.kept import tools
from mcp_workbench.workbench.kept.client_results import Content
from mcp_workbench.workbench.kept.definitions import TOOLS
from tests.support.kept import Bench, Maker
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from mcp_workbench.workbench.kept.client_results import ClientResults, ContentKind

LIMIT = 50_000
LINES = "".join(f"line {number} — é\n" for number in range(1, 5001))
ROWS = json.dumps({"rows": [{"id": n, "text": "x" * 100} for n in range(1000)], "long": "a\nb\n" * 20_000})
KEPT: dict[str, tuple[str, ContentKind, bool]] = {
    "res_lines": (LINES, "text", False),
    "res_rows": (ROWS, "text", True),
    "res_line": ("x" * 100_000, "text", False),
    "res_small": ("one\r\ntwo\n\nfour", "text", False),
    "res_file": ("cGl4ZWxz", "binary", False),
}


@pytest.fixture
async def client_results() -> ClientResults:
    client_results = Bench(memory=10**9).client_results
    frame = {"type": msgspec.Raw(b'"resource"'), "resource": msgspec.Raw(b'{"uri":"x:y"}')}
    contents = [
        Content(
            handle,
            data.encode(),
            kind,
            is_json=is_json,
            mime="application/pdf" * (kind == "binary"),
            frame=frame,
        )
        for handle, (data, kind, is_json) in KEPT.items()
    ]
    client_results.keep_now(contents, Maker(), LIMIT)
    return client_results


async def call(client_results: ClientResults, tool: str, **arguments: object) -> list[dict[str, Any]]:
    result = await tools.answer(client_results, tool, json.dumps(arguments).encode())
    blocks: list[dict[str, Any]] = json.loads(bytes(result))["content"]
    return blocks


async def read(client_results: ClientResults, handle: str, **arguments: object) -> tuple[str, str]:
    """A part, and the note on it."""
    part, note = await call(client_results, "read_result", handle=handle, **arguments)
    return part["text"], note["text"]


async def search(client_results: ClientResults, handle: str, **arguments: object) -> list[str]:
    """The lines of the search's result."""
    (found,) = await call(client_results, "search_result", handle=handle, **arguments)
    lines: list[str] = found["text"].split("\n")
    return lines


async def failure(client_results: ClientResults, tool: str, **arguments: object) -> str:
    with pytest.raises(CallError) as raised:
        await call(client_results, tool, **arguments)
    return str(raised.value)


def test_the_tools_are_listed_as_a_server_would() -> None:
    assert list(TOOLS) == ["read_result", "search_result"]
    for name, raw in TOOLS.items():
        tool = json.loads(bytes(raw))
        assert tool["name"] == name
        assert tool["annotations"]["readOnlyHint"] is True
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])


async def test_without_a_range_the_beginning_is_read_in_whole_lines(client_results: ClientResults) -> None:
    text, note = await read(client_results, "res_lines")
    assert LINES.startswith(text)
    assert 19_900 < len(text.encode()) <= 20_000
    last = text.count("\n")
    where = f"(bytes 0 to {len(text.encode()):,} of {len(LINES.encode()):,})"
    assert note == f'These are lines 1 to {last:,} of 5,000 {where}. Go on with "start_line": {last + 1}.'


@pytest.mark.parametrize(
    ("asked", "text", "note"),
    [
        (
            {"start_line": 2, "end_line": 3},
            "two\n\n",
            'lines 2 to 3 of 4 (bytes 5 to 10 of 14). Go on with "start_line": 4.',
        ),
        ({"start_line": 4}, "four", "lines 4 to 4 of 4 (bytes 10 to 14 of 14). This is the end."),
        ({"end_line": 1}, "one\r\n", 'lines 1 to 1 of 4 (bytes 0 to 5 of 14). Go on with "start_line": 2.'),
        ({"offset": 1, "length": 2}, "ne", 'bytes 1 to 3 of 14. Go on with "offset": 3.'),
        ({"offset": "6"}, "wo\n\nfour", "bytes 6 to 14 of 14. This is the end."),
        (
            {"start_line": 1, "end_line": 99},
            "one\r\ntwo\n\nfour",
            "lines 1 to 4 of 4 (bytes 0 to 14 of 14). This is the end.",
        ),
    ],
)
async def test_a_range_is_read_exactly(
    client_results: ClientResults, asked: dict[str, object], text: str, note: str
) -> None:
    assert await read(client_results, "res_small", **asked) == (text, f"These are {note}")


async def test_one_very_long_line_is_read_by_bytes(client_results: ClientResults) -> None:
    text, note = await read(client_results, "res_line")
    assert text == "x" * 20_000
    assert note == 'These are bytes 0 to 20,000 of 100,000. Go on with "offset": 20000.'
    assert (await read(client_results, "res_line", start_line=1))[1] == note
    text, _ = await read(client_results, "res_line", offset=20_000, length=10**9)
    assert text == "x" * LIMIT


async def test_a_pointer_reads_a_value_as_it_stands(client_results: ClientResults) -> None:
    text, note = await read(client_results, "res_rows", pointer="/rows/7")
    assert text == json.dumps({"id": 7, "text": "x" * 100})
    assert note == "This is all of '/rows/7', of the type object (121 bytes)."


async def test_of_a_value_that_is_too_large_the_shape_is_shown_and_how_to_go_deeper(
    client_results: ClientResults,
) -> None:
    text, note = await read(client_results, "res_rows", pointer="/rows")
    assert text == "array[1000] of {id: integer, text: string}"
    assert '"pointer": "/rows/0"' in note
    text, _ = await read(client_results, "res_rows", pointer="/rows", offset=0, length=10)
    assert text == '[{"id": 0,'


async def test_a_long_string_inside_of_json_is_read_as_the_text_that_it_is(
    client_results: ClientResults,
) -> None:
    text, note = await read(client_results, "res_rows", pointer="/long")
    assert text == "a\nb\n" * 5000
    assert note.endswith('of 40,000 (bytes 0 to 20,000 of 80,000). Go on with "start_line": 10001.')
    text, _ = await read(client_results, "res_rows", pointer="/long", start_line=2, end_line=2)
    assert text == "b\n"


async def test_a_file_comes_back_as_one_and_by_bytes_as_base64(client_results: ClientResults) -> None:
    (block,) = await call(client_results, "read_result", handle="res_file")
    assert block == {"type": "resource", "resource": {"uri": "x:y", "blob": "cGl4ZWxz"}}
    text, _ = await read(client_results, "res_file", offset=0, length=4)
    assert text == "cGl4"


@pytest.mark.parametrize(
    ("handle", "asked", "reason"),
    [
        (
            "res_small",
            {"start_line": 1, "offset": 1},
            "ask for lines or for bytes (offset, length), not for both",
        ),
        ("res_small", {"start_line": 0}, "start_line must be at least 1, and is 0"),
        ("res_small", {"start_line": 3, "end_line": 2}, "end_line must be at least 3, and is 2"),
        ("res_small", {"offset": -1}, "offset must be at least 0, and is -1"),
        ("res_small", {"length": 0}, "length must be at least 1, and is 0"),
        ("res_small", {"start_line": 5}, "start_line is 5, and the last is 4"),
        ("res_small", {"offset": 14}, "offset is 14, and the end is at 14 bytes"),
        (
            "res_small",
            {"pointer": "/a"},
            "it is not JSON, so a pointer cannot select a part of it. Ask for lines or bytes",
        ),
        ("res_small", {"start_line": "two"}, "Expected `int | null`, got `str` - at `$.start_line`"),
        ("res_small", {"lines": 5}, "Object contains unknown field `lines`"),
        (
            "res_rows",
            {"pointer": "/rows/1000"},
            "nothing is at '/rows/1000': '/rows' is an array with items 0 to 999",
        ),
        ("res_file", {"start_line": 1}, "it is application/pdf, which has no lines and no parts"),
    ],
)
async def test_a_wrong_range_is_told_what_is_right(
    client_results: ClientResults, handle: str, asked: dict[str, object], reason: str
) -> None:
    said = await failure(client_results, "read_result", handle=handle, **asked)
    assert said.startswith(f"Invalid arguments: {reason}")


async def test_a_call_without_a_handle_is_told_what_it_takes(client_results: ClientResults) -> None:
    assert (await failure(client_results, "read_result")).endswith(
        "It takes handle, start_line, end_line, offset, length, pointer"
    )


async def test_matches_are_shown_with_their_lines_and_those_around(client_results: ClientResults) -> None:
    assert await search(client_results, "res_lines", text="line 123 ") == [
        "1 match for the text 'line 123 '.",
        "121- line 121 — é",
        "122- line 122 — é",
        "123: line 123 — é",
        "124- line 124 — é",
        "125- line 125 — é",
    ]
    assert await search(client_results, "res_lines", regex=r"^line (10|12|4999) ", context=1) == [
        r"3 matches for the regex '^line (10|12|4999) '.",
        "9- line 9 — é",
        "10: line 10 — é",
        "11- line 11 — é",
        "12: line 12 — é",
        "13- line 13 — é",
        "--",
        "4998- line 4998 — é",
        "4999: line 4999 — é",
        "5000- line 5000 — é",
    ]


async def test_case_counts_unless_it_is_not_to(client_results: ClientResults) -> None:
    assert await search(client_results, "res_small", text="FOUR") == [
        "No match for the text 'FOUR' in 14 bytes."
    ]
    found = await search(client_results, "res_small", text="FOUR", ignore_case=True, context=0)
    assert found == ["1 match for the text 'FOUR'.", "4: four"]
    assert (await search(client_results, "res_lines", text="É", ignore_case=True, limit=1, context=0))[
        1
    ] == "1: line 1 — é"


async def test_in_a_long_line_it_is_shown_what_is_around_and_at_which_byte(
    client_results: ClientResults,
) -> None:
    summary, found = await search(client_results, "res_rows", text='"id": 500,')
    assert summary == "1 match for the text '\"id\": 500,'."
    at = ROWS.index('"id": 500,')
    assert re.fullmatch(rf'1: byte {at}: ….{{150}}"id": 500,.{{150}}…', found)
    text, _ = await read(client_results, "res_rows", offset=at, length=10)
    assert text == '"id": 500,'


async def test_of_many_matches_the_first_are_shown(client_results: ClientResults) -> None:
    summary, *lines = await search(client_results, "res_lines", text="line", limit=3, context=0)
    assert summary.startswith("The first 3 matches for the text 'line'; there are more.")
    assert lines == ["1: line 1 — é", "2: line 2 — é", "3: line 3 — é"]
    found = "\n".join(await search(client_results, "res_rows", text="x" * 90, limit=200))
    assert len(found.encode()) < 20_500


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({}, "give either text or regex"),
        ({"text": "a", "regex": "b"}, "give either text or regex"),
        ({"text": ""}, "what is searched for cannot be empty"),
        ({"text": "x" * 1001}, "it can have 1,000 characters at most"),
        ({"regex": "(a"}, "it is not a regular expression: missing ) at position 2"),
        ({"regex": "(" * 400 + ")" * 400}, "the expression is nested too deeply"),
        ({"text": "a", "limit": 0}, "limit must be from 1 to 200, and is 0"),
        ({"text": "a", "limit": 10_000}, "limit must be from 1 to 200, and is 10000"),
        ({"text": "a", "context": 21}, "context must be from 0 to 20, and is 21"),
        ({"text": "a", "ignore_case": []}, "Expected `bool`, got `array`"),
    ],
)
async def test_a_wrong_search_is_told_what_is_right(
    client_results: ClientResults, asked: dict[str, object], reason: str
) -> None:
    said = await failure(client_results, "search_result", handle="res_small", **asked)
    assert said.startswith(f"Invalid arguments: {reason}")


async def test_what_an_expression_needed_is_not_kept_after_the_search(client_results: ClientResults) -> None:
    expression = "^line [0-9]{1,4} "
    await search(client_results, "res_lines", regex=expression)
    cached = regex._main._cache  # type: ignore[attr-defined] # no other way to know
    assert not any(expression in key for key in cached)


async def test_an_expression_that_takes_too_much_memory_is_given_up(
    client_results: ClientResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Greedy:
        def finditer(self, *_: object, **__: object) -> None:
            raise MemoryError

    monkeypatch.setattr(regex, "compile", lambda *_, **__: Greedy())
    said = await failure(client_results, "search_result", handle="res_small", regex="(.)*")
    assert said.startswith("Invalid arguments: the search took more memory than there is for it: simplify")


async def test_an_image_cannot_be_searched(client_results: ClientResults) -> None:
    said = await failure(client_results, "search_result", handle="res_file", text="a")
    assert said == "Invalid arguments: it is application/pdf, which cannot be searched"


async def test_an_expression_without_end_is_given_up(
    client_results: ClientResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_workbench.workbench.kept.search.SEARCH_SECONDS", 0.2)
    client_results.keep_now([Content("res_evil", b"a" * 500 + b"!", "text")], Maker(), LIMIT)
    searching = asyncio.create_task(
        failure(client_results, "search_result", handle="res_evil", regex="(a|aa)+$")
    )
    turns = 0
    async with asyncio.timeout(PATIENCE):
        while not searching.done():
            await asyncio.sleep(0)
            turns += 1
    assert turns > 100  # others were not held up meanwhile
    said = await searching
    assert said.startswith("Invalid arguments: the search took more than 0.2 s: simplify the expression")
