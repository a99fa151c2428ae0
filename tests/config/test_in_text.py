"""Secrets inside of a longer text are masked where the text is shown, in time that grows with its length."""

from __future__ import annotations

import time

import pytest

from mcp_workbench.config.masking.in_text import mask_in_text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("see https://u:p@ss@h/x and https://u@h", "see https://u:***@h/x and https://u@h"),
        ("https://h/x?%74oken=abc#access_token=q", "https://h/x?%74oken=***#access_token=***"),
        ("curl -H 'Authorization: Bearer abc' h", "curl -H 'Authorization: ***' h"),
        ("Cookie: a=b; c=d\nAccept: x", "Cookie: ***\nAccept: x"),
        ('{"password": "a \\"b\\" c", "x": 1}', '{"password": ***, "x": 1}'),
        (r"{\"password\": \"a b\"}", r"{\"password\": ***}"),
        ("mysql --password hunter2 -u x", "mysql --password *** -u x"),
        ("PGPASSWORD='a b' psql", "PGPASSWORD=*** psql"),
        ("send Bearer abc123def456", "send Bearer ***"),
        ("x-----BEGIN PRIVATE KEY-----\na\n-----END PRIVATE KEY-----y", "x***y"),
        ("pass_phrase=a", "pass_phrase=***"),
        ("x -----BEGIN PRIVATE KEY-----\na\n-----END PRIVATE KEY----- y", "x *** y"),
    ],
)
def test_a_secret_in_a_text_is_masked(text: str, masked: str) -> None:
    assert mask_in_text(text) == masked


@pytest.mark.parametrize(
    "text",
    ["sort key=name", "a bearer certificate", "token://x", "git+ssh://git@host/x?page=2", "a: b, c=d --e f"],
)
def test_other_text_stays(text: str) -> None:
    assert mask_in_text(text) == text


@pytest.mark.parametrize(
    "piece",
    ["a:", "://a:", 'password:"', 'password:\\"\\', "token=", "{{", "a; b=c", "--token ", " eyJa-.", "A"],
)
def test_a_long_text_takes_little_time(piece: str) -> None:
    begun = time.monotonic()
    mask_in_text(piece * 30_000)
    assert time.monotonic() - begun < 5
