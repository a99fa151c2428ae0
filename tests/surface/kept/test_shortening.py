"""Results in short: what is large is taken out, and everything else stays as it is."""

from __future__ import annotations

import json
from base64 import b64encode
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.surface.kept.preview import MAX_CHARACTERS
from mcp_workbench.surface.kept.shortening import ShortResult, shorten

if TYPE_CHECKING:
    from mcp_workbench.workbench.kept.client_results import Content

LIMIT = 10_000
LINES = "".join(f"line {number} of the text\n" for number in range(1, 1001))
ROWS = {"rows": [{"id": number, "name": f"row {number}"} for number in range(1000)], "total": 1000}
PIXELS = b64encode(bytes(range(256)) * 60).decode()


def short(result: dict[str, Any], limit: int = LIMIT) -> tuple[dict[str, Any], list[Content]]:
    """What is passed on, and what is kept."""
    made = shorten(json.dumps(result).encode(), limit)
    assert isinstance(made, ShortResult)
    passed: dict[str, Any] = json.loads(bytes(made.result))
    return passed, made.contents


def text(value: str, **others: object) -> dict[str, Any]:
    return {"type": "text", "text": value, **others}


def test_a_long_text_is_kept_and_shown_in_part_and_all_else_stays() -> None:
    small = text("small", annotations={"audience": ["user"]})
    large = text(LINES, annotations={"priority": 1.0}, _meta={"x": 1})
    result = {"content": [small, large], "isError": True, "_meta": {"a": 1.50}, "unknown": [1]}
    passed, (content,) = short(result)
    assert content.data == LINES.encode()
    assert (content.kind, content.is_json) == ("text", False)
    shown = passed["content"][1].pop("text")
    assert passed == {**result, "content": [small, {key: large[key] for key in large if key != "text"}]}
    assert shown.splitlines()[:4] == [
        f"Result kept by the workbench: {len(LINES):,} bytes of text, handle {content.handle}",
        "Shape: 1,000 lines, the longest has 21 bytes",
        "",
        "line 1 of the text",
    ]
    beginning, end = shown.split("bytes left out")
    assert LINES.startswith(beginning.split("\n\n", 1)[1].rpartition("\n… ")[0])
    assert "line 1000 of the text\n" in end
    assert '"tool": "read_result"' in end
    assert f'{{"$result": "{content.handle}"}}' in end


def test_reading_goes_on_where_the_beginning_ends() -> None:
    passed, _ = short({"content": [text(LINES)]})
    shown = passed["content"][0]["text"]
    last_shown = shown.split("\n\n", 1)[1].partition("\n… ")[0].splitlines()[-1]
    number = int(last_shown.split()[1])
    assert f'"start_line": {number + 1}}}' in shown


def test_json_is_shown_with_its_shape_and_a_pointer_into_it() -> None:
    passed, (content,) = short({"content": [text(json.dumps(ROWS))]})
    assert (content.kind, content.is_json) == ("text", True)
    shown = passed["content"][0]["text"]
    assert "bytes of JSON, handle res_" in shown
    assert "Shape: {rows: array[1000] of {id: integer, name: string}, total: integer}\n" in shown
    assert '"pointer": "/rows/0"' in shown


def test_structured_content_is_kept_as_json_and_both_halves_say_how_to_read_it() -> None:
    passed, (content,) = short({"content": [text("1000 rows")], "structuredContent": ROWS})
    assert json.loads(content.data) == ROWS
    assert content.kind == "json"
    told = passed["structuredContent"].pop("workbench")
    assert passed["structuredContent"] == {"$result": content.handle}
    assert "Shape: {rows: array[1000] of {id: integer, name: string}, total: integer}\n" in told
    said, note = passed["content"]
    assert said == text("1000 rows")
    head = f"Result kept by the workbench: {len(content.data):,} bytes of JSON, handle {content.handle}\n"
    assert told.startswith(head)
    assert note["text"].startswith(f"{head}To read on: use_tool ")


def test_a_structure_beside_a_kept_text_says_how_to_read_that_and_is_left_as_it_is() -> None:
    structure = '{"exit" : 0, "workbench": "theirs"}'
    result = f'{{"content":[{json.dumps(text(LINES))}],"structuredContent":{structure}}}'
    made = shorten(result.encode(), LIMIT)
    assert made is not None
    (content,) = made.contents
    assert structure[:-1].encode() in bytes(made.result)
    told = json.loads(bytes(made.result))["structuredContent"]["_workbench"]
    assert told.startswith(f"Result kept by the workbench: {len(LINES):,} bytes of text")
    assert f'"handle": "{content.handle}"' in told


@pytest.mark.parametrize("indent", [None, 2])
def test_text_and_structure_that_say_the_same_have_one_handle(indent: int | None) -> None:
    written = json.dumps(ROWS, indent=indent)
    passed, (content,) = short({"content": [text(written)], "structuredContent": ROWS})
    assert content.data.decode() == written
    assert (content.kind, content.is_json) == ("json", True)
    told = passed["content"][0]["text"]
    assert passed["structuredContent"] == {"$result": content.handle, "workbench": told}
    assert f"handle {content.handle}" in told


@pytest.mark.parametrize(
    ("written", "value", "kind"),
    [
        (LINES, LINES, "text"),
        (json.dumps(ROWS, indent=2), ROWS, "json"),
        (json.dumps(ROWS), json.dumps(ROWS), "text"),
    ],
    ids=["text", "JSON", "JSON as text"],
)
def test_they_have_one_handle_too_if_the_structure_wraps_what_the_text_says(
    written: str, value: object, kind: str
) -> None:
    passed, (content,) = short({"content": [text(written)], "structuredContent": {"result": value}})
    assert (content.data.decode(), content.kind) == (written, kind)
    told = passed["content"][0]["text"]
    assert passed["structuredContent"] == {"result": {"$result": content.handle}, "workbench": told}


def test_the_limit_holds_for_each_half_because_a_model_is_shown_one_of_them() -> None:
    limit = len(json.dumps(ROWS)) + 10_000
    both = {"content": [text(json.dumps(ROWS))], "structuredContent": ROWS}
    assert shorten(json.dumps(both).encode(), limit) is None
    # The same text with white space is too large, and then the structure is not shown whole either.
    both["content"] = [text(json.dumps(ROWS, indent=4))]
    passed, (content,) = short(both, limit)
    assert passed["structuredContent"]["$result"] == content.handle


def test_of_text_and_structure_that_differ_each_half_names_both_handles() -> None:
    passed, contents = short({"content": [text(LINES)], "structuredContent": ROWS})
    assert {content.kind for content in contents} == {"text", "json"}
    for half in ("content", "structuredContent"):
        assert all(content.handle in json.dumps(passed[half]) for content in contents)


IMAGE = {
    "type": "image",
    "data": PIXELS,
    "mimeType": "image/png",
    "annotations": {"priority": 0.5},
    "more": 1,
}
MEDIA: list[dict[str, Any]] = [
    IMAGE,
    IMAGE | {"type": "audio", "mimeType": "audio/wav"},
    {"type": "resource", "resource": {"uri": "x:y", "mimeType": "image/png", "blob": PIXELS}},
]


def test_images_and_sounds_pass_as_they_are_and_do_not_count() -> None:
    assert shorten(json.dumps({"content": [*MEDIA, text("x" * 9000)]}).encode(), LIMIT) is None
    passed, (content,) = short({"content": [*MEDIA, text(LINES)]})
    assert passed["content"][:-1] == MEDIA
    assert content.data == LINES.encode()
    small = [text("x" * 200) for _ in range(100)]
    passed, (content,) = short({"content": [*small, *MEDIA]})
    assert passed["content"][1:] == MEDIA
    assert json.loads(content.data) == small


def test_an_embedded_resource_is_kept_by_its_text_or_its_blob() -> None:
    resource = {"uri": "file:///a.txt", "mimeType": "text/csv", "text": LINES}
    passed, (content,) = short({"content": [{"type": "resource", "resource": resource}]})
    assert (content.data, content.kind, content.mime) == (LINES.encode(), "text", "text/csv")
    assert "bytes of text (text/csv) of the resource file:///a.txt, handle" in passed["content"][0]["text"]
    resource = {"uri": "file:///a.bin", "blob": PIXELS}
    _, (content,) = short({"content": [{"type": "resource", "resource": resource, "_meta": {"a": 1}}]})
    assert (content.data.decode(), content.kind) == (PIXELS, "binary")
    frame = {name: json.loads(bytes(value)) for name, value in content.frame.items()}
    assert frame == {"type": "resource", "resource": {"uri": "file:///a.bin"}, "_meta": {"a": 1}}


def test_what_a_server_calls_it_is_shown_in_short() -> None:
    resource = {"uri": "x:" + "y" * 50_000, "mimeType": "z" * 50_000, "text": "t" * 50_000}
    result = json.dumps({"content": [{"type": "resource", "resource": resource}]}).encode()
    short = shorten(result, 10_000)
    assert short is not None
    assert len(short.result) < MAX_CHARACTERS + 1000
    assert short.contents[0].data == b"t" * 50_000


def test_many_small_blocks_are_kept_as_one() -> None:
    blocks = [text(f"block {number} " + "x" * 200) for number in range(100)]
    passed, (content,) = short({"content": blocks, "isError": False})
    assert json.loads(content.data) == blocks
    assert content.kind == "json"
    ((shown,), is_error) = passed["content"], passed["isError"]
    assert "Shape: array[100] of {type: string, text: string}" in shown["text"]
    assert is_error is False


@pytest.mark.parametrize(
    "block",
    [
        {"type": "hologram", "light": "x" * LIMIT},
        {"type": "resource", "resource": None, "more": "x" * LIMIT},
        {"type": "resource", "more": "x" * LIMIT},
        "x" * LIMIT,
    ],
)
def test_blocks_of_no_known_type_or_form_are_kept_with_all_the_others(block: object) -> None:
    blocks = [block, text("small")]
    _, (content,) = short({"content": blocks})
    assert json.loads(content.data) == blocks


def test_of_some_medium_ones_as_many_are_kept_as_it_takes() -> None:
    blocks = [text(letter * 40_000) for letter in "abc"]
    passed, contents = short({"content": blocks}, limit=100_000)
    assert len(contents) == 1
    assert [len(block["text"]) for block in passed["content"]][1:] == [40_000, 40_000]


@pytest.mark.parametrize(
    "result",
    [
        {"content": "x" * 20_000},
        {"content": [], "_meta": {"x": "x" * 20_000}},
        {"content": [text("small")], "_meta": {"x": "x" * 20_000}},
        {"unknown": ["x" * 20_000]},
    ],
)
def test_what_is_no_content_is_left_as_it_is(result: dict[str, Any]) -> None:
    assert shorten(json.dumps(result).encode(), LIMIT) is None


@pytest.mark.parametrize("character", ["x", "\n", '"', "é", "\u4e2d"])
def test_the_limit_counts_the_bytes_of_a_text_and_not_its_escapes(character: str) -> None:
    fits = character * (LIMIT // len(character.encode()))
    assert shorten(json.dumps({"content": [text(fits)]}).encode(), LIMIT) is None
    _, contents = short({"content": [text(fits + character)]})
    assert contents[0].data.decode() == fits + character


def test_a_string_as_structured_content_is_kept_as_text() -> None:
    lines = "a line\n" * 3000
    passed, contents = short({"content": [text("small")], "structuredContent": lines})
    assert [(content.kind, content.data.decode()) for content in contents] == [("text", lines)]
    assert passed["structuredContent"]["$result"] == contents[0].handle


BLOCKS: list[dict[str, Any]] = [
    text("small"),
    text("é line\n" * 1000),
    text(json.dumps(ROWS, indent=1)),
    {"type": "image", "data": PIXELS, "mimeType": "image/png"},
    {"type": "resource", "resource": {"uri": "x:y", "blob": PIXELS}, "_meta": {"a": 1}},
    {"type": "hologram", "light": "x" * 5000},
]


def restored(block: dict[str, Any], kept: dict[str, Content]) -> object:
    """What a block stands for: itself, or what it is told to be kept in its place."""
    _, is_kept, handle = block.get("text", "").partition("\n")[0].rpartition(", handle ")
    return kept[handle].data.decode() if is_kept else block


def size_of(block: dict[str, Any]) -> int:
    """The bytes of a block that count: of text only what it says."""
    return len(block["text"].encode()) if block["type"] == "text" else len(json.dumps(block))


def content_of(block: dict[str, Any]) -> object:
    values = (block.get("text"), block.get("data"), block.get("resource", {}).get("blob"))
    return next(filter(None, values), None)


@pytest.mark.parametrize("limit", [1000, 12_000, 40_000])
@pytest.mark.parametrize("structure", [None, ROWS], ids=["", "structured"])
def test_nothing_is_lost_and_both_halves_tell_of_all_that_is_kept(
    limit: int, structure: dict[str, Any] | None
) -> None:
    for blocks in combinations_with_replacement(BLOCKS, 3):
        result = {"content": list(blocks), **({"structuredContent": structure} if structure else {})}
        counted = [block for block in blocks if block["type"] != "image"]
        sizes = sum(map(size_of, counted)), len(json.dumps(structure))
        if max(sizes) <= limit:
            assert shorten(json.dumps(result).encode(), limit) is None
            continue
        passed, contents = short(result, limit)
        kept = {content.handle: content for content in contents}
        shown = passed["content"]
        assert all(handle in json.dumps(shown) for handle in kept)
        if structure:
            told = passed["structuredContent"]
            assert all(handle in told["workbench"] for handle in kept)
            if (handle := told.get("$result")) is None:
                assert told == {**structure, "workbench": told["workbench"]}
            else:
                assert json.loads(kept[handle].data) == structure
                shown = shown[: len(shown) - (f"handle {handle}\nTo read on" in shown[-1].get("text", ""))]
        back = [restored(block, kept) for block in shown]
        assert (
            all(
                it in (block, content_of(block), json.dumps([block], separators=(",", ":")))
                for it, block in zip(back, blocks, strict=False)
            )
            or json.loads(str(next(it for it in back if isinstance(it, str)))) == counted
        )
        assert [block for block in shown if block["type"] == "image"] == [
            block for block in blocks if block["type"] == "image"
        ]


@pytest.mark.parametrize("limit", [1000, 2000, 10_000])
@pytest.mark.parametrize(
    "result",
    [
        {"content": [text(LINES)]},
        {"content": [text("x" * 30_000)]},
        {"content": [text("€" * 30_000)]},
        {"content": [text(json.dumps(ROWS, indent=2))]},
        {"content": [text(json.dumps({f"a long key number {n}": [n] for n in range(5000)}))]},
        {"content": [{"type": "resource", "resource": {"uri": "x:y", "blob": PIXELS}}]},
        {"content": [text("y" * 500)] * 200},
    ],
    ids=["lines", "one line", "not ASCII", "rows", "keys", "file", "blocks"],
)
def test_what_is_shown_is_shorter_than_the_limit_and_short_in_any_case(
    result: dict[str, Any], limit: int
) -> None:
    passed, _ = short(result, limit)
    assert sum(len(block["text"].encode()) for block in passed["content"]) <= min(limit, MAX_CHARACTERS)
