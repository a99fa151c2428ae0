"""Text in a header is decoded to the same text, whatever characters it has."""

from __future__ import annotations

import pytest

from mcp_workbench.protocol.headers import decode_value, encode_value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "read file",
        " padded ",
        "naïve",
        "日本",
        "a\nb",
        "=?base64?YQ==?=",
        "=?base64?=",
        "=?base64??=",
    ],
)
def test_a_text_comes_back_from_a_header_as_it_was(text: str) -> None:
    value = encode_value(text).decode("ascii")
    assert decode_value(value) == text
    assert value == value.strip()


@pytest.mark.parametrize("value", ["=?base64?no base64?=", "=?base64?gA==?="])
def test_a_value_that_cannot_be_decoded_carries_no_text(value: str) -> None:
    assert decode_value(value) is None
