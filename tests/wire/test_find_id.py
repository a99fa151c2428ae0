"""The id in a line that cannot be decoded is found, so that its request fails at once."""

from __future__ import annotations

import pytest

from mcp_workbench.wire.salvage import find_id

LONG = b"x" * 10_000


@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"text":"\xff', 7),
        (b'{"jsonrpc":"2.0","id":7,"result":"' + LONG, 7),
        (b'{"id" : 7 , "result":', 7),
        (b'{"id":-7,', -7),
        (b'{"jsonrpc":2.0,"id":7,"result":{}}', 7),
        (b'{"id":0}', 0),
        (b'{"id":"seven","result":\xff', "seven"),
        (b'{"id":"7","result":\xff', "7"),
        (b'{"id":999999999999999999,', 999999999999999999),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_it_is_found_at_the_beginning(line: bytes, request_id: object) -> None:
    assert find_id(line) == request_id


@pytest.mark.parametrize("end", [b'"id":7}', b'"id": 7 }\r', b'"jsonrpc":"2.0","id":7}'])
def test_it_is_found_at_the_end_behind_a_long_body(end: bytes) -> None:
    assert find_id(b'{"result":{"text":"\xff' + LONG + b'"},' + end) == 7


def test_the_one_at_the_end_wins_over_one_deep_in_a_long_body() -> None:
    line = b'{"result":{"text":"\xff' + LONG + b'","id":5,' + b'"more":"' + LONG + b'"},"id":7}'
    assert find_id(line) == 7


def test_the_one_at_the_beginning_wins_over_one_at_the_end() -> None:
    assert find_id(b'{"jsonrpc":"2.0","id":7,"result":{"text":"\xff' + LONG + b'","id":5}') == 7


def test_one_that_stands_inside_a_body_at_the_beginning_does_not_hide_the_one_at_the_end() -> None:
    # The official TypeScript SDK writes the result first and the id last.
    assert find_id(b'{"result":{"id":5,"text":"\\ud800"},"jsonrpc":"2.0","id":7}') == 7


def test_one_in_an_escaped_text_is_none() -> None:
    assert find_id(b'{"result":"{\\"id\\":7,\\"x\\":1}\xff"}') is None


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff\xfe",
        b"npm WARN deprecated",
        b'{"id":null,',
        b'{"id":01,',
        b'{"id":1.5,',
        b'{"id":9999999999999999999,',
        b'{"id":"not\\u0041plain",',
        b'{"id":"",',
        b'{"id":7',
        b'{"ids":7,',
    ],
)
def test_what_cannot_be_told_is_none(line: bytes) -> None:
    assert find_id(line) is None
