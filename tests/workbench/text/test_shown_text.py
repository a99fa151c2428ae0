"""Text for people: what would be hidden is written out, and everything else stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.workbench.text.sanitise import clean_text, show_name, show_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b2J", r"\x9b2J"),
        ("a\u202eb\u200bc", r"a\u202eb\u200bc"),
        ("\U000e0041", r"\U000e0041"),
        ("\ud800", r"\ud800"),
        ("one\ntwo\tthree", "one\ntwo\tthree"),
        ("one\rtwo\u2028three\x85four", r"one\rtwo\u2028three\x85four"),
        ("\U0001f469\u200d\U0001f4bb \u2764\ufe0f", "\U0001f469\u200d\U0001f4bb \u2764\ufe0f"),
        (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        ),
        ("[red]a[/] \xe9 \u6587", "[red]a[/] \xe9 \u6587"),
    ],
    ids=ascii,
)
def test_hidden_characters_are_written_out(text: str, shown: str) -> None:
    assert show_text(text) == shown


def test_a_name_is_one_line() -> None:
    assert show_name("a\n\tb\r\nc\x0bd") == r"a\n\tb\r\nc\x0bd"


@given(st.text())
def test_nothing_hidden_is_left(text: str) -> None:
    assert clean_text(show_text(text)) == show_text(text)
    assert len(show_name(text).splitlines()) <= 1
