"""Structured content is printed unless a text of the result says the same."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_workbench.cli.shell.result_display import ShownResult, show_result


@pytest.mark.parametrize(
    ("text", "structured", "shown"),
    [
        ("a line", {"result": "a line"}, "a line\n"),
        ("5", {"result": 5}, "5\n"),
        ('["a"]', {"result": ["a"]}, '["a"]\n'),
        ('{"a": 1}', {"a": 1}, '{"a": 1}\n'),
        ("done", {"result": None}, 'done\n{\n  "result": null\n}\n'),
        (
            "1 of 2",
            {"result": "1 of 2", "more": True},
            '1 of 2\n{\n  "result": "1 of 2",\n  "more": true\n}\n',
        ),
    ],
)
def test_a_text_that_says_the_same_is_not_repeated(
    capfd: pytest.CaptureFixture[str], text: str, structured: dict[str, Any], shown: str
) -> None:
    show_result(ShownResult([{"type": "text", "text": text}], structured), [])
    assert capfd.readouterr().out == shown
