"""Arguments as people write them become a JSON object, and what looks wrong is pointed out."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mcp_workbench.cli.shell.arguments import WrongArguments, encoded, read_written, warnings

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "where": {"type": "object", "properties": {"line": {"type": "integer"}, "to": {"type": "object"}}},
        "a.b": {"type": "integer"},
        "a": {"type": "string"},
        "labels": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
    },
    "required": ["text"],
}


def read(*words: str, given: str | None = None, schema: object = SCHEMA) -> Any:
    return msgspec.json.decode(encoded(read_written(words, given).read(schema)))


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["text=5", "count=5"], {"text": "5", "count": 5}),
        (["text="], {"text": ""}),
        (["text=a=b"], {"text": "a=b"}),
        (["text:=5"], {"text": 5}),
        (["text=@@home"], {"text": "@home"}),
        (["tags=a", "tags=b", 'tags=["c"]'], {"tags": ["a", "b", "c"]}),
        (["tags:=[1]", "tags=b"], {"tags": [1, "b"]}),
        (["labels=a", "labels=b"], {"labels": ["a", "b"]}),
        (["where.line=5", "where.to:={}"], {"where": {"line": 5, "to": {}}}),
        (["a.b=5", "a=x"], {"a.b": 5, "a": "x"}),
        (["x.y=5"], {"x.y": 5}),
        (["unknown=5", "other=a b"], {"unknown": 5, "other": "a b"}),
    ],
)
def test_words_become_an_object(words: list[str], arguments: dict[str, object]) -> None:
    assert read(*words) == arguments


def test_a_file_is_read_as_text_or_as_arguments(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("line\n\u00e9", encoding="utf-8")
    (tmp_path / "all").write_text('{"count": 1.50}', encoding="utf-8")
    assert read(f"text=@{tmp_path}/text") == {"text": "line\n\u00e9"}
    assert bytes(encoded(read_written([], f"@{tmp_path}/all").read(SCHEMA))) == b'{"count":1.50}'


def test_words_come_after_the_object_and_the_object_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"text": "in", "count": 1}')))
    assert read("-", "count=2") == {"text": "in", "count": 2}
    assert read("count=2", given='{"text": "x", "count": 1}') == {"text": "x", "count": 2}


@pytest.mark.parametrize(
    ("words", "given", "reason"),
    [
        (["text"], None, "'text' is not an argument: write key=value"),
        (["=5"], None, "'=5' is not an argument"),
        (['{"a": 1}'], None, "'{\"a\": 1}' is not an argument: write --args before a JSON object"),
        (["count=x"], None, "'count' takes an integer, not 'x'"),
        (["count:=x"], None, "'count' is not JSON: "),
        (["text=a", "text=b"], None, "'text' is given twice, and takes one value"),
        (["where=5"], None, "'where' takes a JSON object"),
        (["where.line=x"], None, "'where.line' takes an integer, not 'x'"),
        (["text=@/nonexistent/x"], None, "@/nonexistent/x cannot be read: No such file or directory"),
        (["text=\udcff"], None, "'text=\\udcff' is not text in UTF-8"),
        ([], '{"text": "\udcff"}', "the arguments are not text in UTF-8"),
        ([], " ", "the arguments are empty: write a JSON object"),
        (["-"], None, "stdin is not text in UTF-8"),
        ([], "[1]", "the arguments are not a JSON object: "),
        ([], "{", "the arguments are not a JSON object: "),
    ],
)
def test_what_cannot_be_read_is_refused(
    words: list[str], given: str | None, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\x00")))
    with pytest.raises(WrongArguments) as refused:
        read_written(words, given).read(SCHEMA)
    assert str(refused.value).startswith(reason)


@pytest.mark.parametrize(
    ("arguments", "schema", "expected"),
    [
        ({"text": 1}, SCHEMA, []),
        (
            {"txt": 1},
            SCHEMA,
            [
                "the tool has no argument 'txt'. Did you mean: text?",
                "the tool needs the argument 'text'",
            ],
        ),
        ({"text": 1, "zzz": 1}, SCHEMA, ["the tool has no argument 'zzz'."]),
        ({"text": 1, "zzz": 1}, {**SCHEMA, "additionalProperties": True}, []),
        ({"text": 1, "zzz": 1}, {**SCHEMA, "patternProperties": {"z": {}}}, []),
        ({"anything": 1}, {"type": "object", "additionalProperties": {}}, []),
    ],
)
def test_what_the_schema_does_not_expect_is_pointed_out(
    arguments: dict[str, object], schema: object, expected: list[str]
) -> None:
    assert list(warnings(arguments, schema)) == expected
