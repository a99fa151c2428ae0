"""What is saved of a line that is nested too deeply to be decoded."""

from __future__ import annotations

import pytest

from mcp_workbench.wire.salvage import depth_of, without_deep_values


def deep(levels: int, around: str = "1") -> str:
    return '{"a":[' * (levels // 2) + around + "]}" * (levels // 2)


def test_only_the_values_at_that_level_that_go_too_deep_are_replaced() -> None:
    line = f'{{"r":{{"t":[{{"n":1}},{deep(3000)},{{"n":{deep(10)}}},{deep(2000)}],"u":{deep(4)}}}}}'
    assert without_deep_values(line.encode(), 4, 100).decode() == (
        f'{{"r":{{"t":[{{"n":1}},null,{{"n":{deep(10)}}},null],"u":{deep(4)}}}}}'
    )


@pytest.mark.parametrize("text", [r'"]}]}{[{["', r'"\"{[{["', r'"\\"', '"\\u007b"', '""'])
def test_brackets_in_texts_are_no_brackets(text: str) -> None:
    line = f'{{"r":{{"t":[{{"n":{text}}},{{"n":{deep(300, text)}}},{text}]}}}}'
    assert without_deep_values(line.encode(), 4, 100).decode() == (
        f'{{"r":{{"t":[{{"n":{text}}},null,{text}]}}}}'
    )
    assert depth_of(f"[{text}]".encode()) == 1


@pytest.mark.parametrize("line", [b"", b"{", b"]]]]", b'"', b'{"a":"', b"[[[[[[[[[["])
def test_what_is_no_json_is_left_as_it_is(line: bytes) -> None:
    assert without_deep_values(line, 4, 5) == line


@pytest.mark.parametrize(("value", "depth"), [("1", 0), ("[]", 1), ("[[],{}]", 2), (deep(500), 500)])
def test_the_depth_of_a_value_is_the_number_of_its_levels(value: str, depth: int) -> None:
    assert depth_of(value.encode()) == depth
