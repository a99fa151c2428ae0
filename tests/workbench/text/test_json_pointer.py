"""The escapes of JSON pointers."""

from __future__ import annotations

import pytest

from mcp_workbench.workbench.text.json_pointer import escape_step, unescape_step


@pytest.mark.parametrize(
    ("key", "step"),
    [("", ""), ("a b", "a b"), ("a/b", "a~1b"), ("m~n", "m~0n"), ("~1", "~01"), ("/~", "~1~0")],
)
def test_a_step_of_a_pointer_leads_to_the_key_that_it_was_made_from(key: str, step: str) -> None:
    assert escape_step(key) == step
    assert unescape_step(step) == key
