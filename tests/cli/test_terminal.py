"""What commands print for scripts can be shown on a terminal, and is still the same data."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout

from hypothesis import example, given
from hypothesis import strategies as st

from mcp_workbench.cli.terminal import print_json
from mcp_workbench.workbench.text.sanitise import clean_text


@given(st.text())
@example("\x7f\x9b2J\u202e\ud800\U000e0041\u2028")
@example("\U0001f469\u200d\U0001f4bb")
def test_json_is_the_same_data_and_hides_nothing(text: str) -> None:
    printed = io.StringIO()
    with redirect_stdout(printed):
        print_json({text: [text]})
    assert json.loads(printed.getvalue()) == {text: [text]}
    assert clean_text(printed.getvalue()) == printed.getvalue()
