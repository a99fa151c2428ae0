"""How many typing mistakes lie between two words."""

from __future__ import annotations

import pytest

from mcp_workbench.config.edit_distance import edit_distance


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("file", "file", 0),
        ("fiel", "file", 1),
        ("ifle", "file", 1),
        ("fle", "file", 1),
        ("fiile", "file", 1),
        ("pile", "file", 1),
        ("fiels", "file", 2),
        ("lief", "file", 3),
        ("completely", "different", 3),
        ("", "ab", 2),
    ],
)
def test_typing_mistakes_are_counted_up_to_the_limit(one: str, other: str, expected: int) -> None:
    assert edit_distance(one, other, 2) == edit_distance(other, one, 2) == expected
