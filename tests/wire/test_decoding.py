"""What a line says: a message with its bodies untouched, or why it is none."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from mcp_workbench.errors import BadAnswer, RemoteError, Undecodable
from mcp_workbench.wire.message import (
    ABSENT,
    BOM,
    Message,
    decode,
    decode_batch,
    decode_error,
    repair_text,
    starts_with,
)
from tests.support.nesting import TOO_DEEP

DEEP = b"[" * TOO_DEEP + b"]" * TOO_DEEP


def shown(message: Message) -> dict[str, Any]:
    """The members that a message has, bodies as bytes."""
    members = {name: getattr(message, name) for name in message.__struct_fields__}
    return {
        name: bytes(value) if isinstance(value, msgspec.Raw) else value
        for name, value in members.items()
        if value is not msgspec.UNSET and not (isinstance(value, msgspec.Raw) and not value)
    }


def undecodable(line: bytes) -> tuple[str, bool, object]:
    with pytest.raises(Undecodable) as raised:
        decode(line)
    assert raised.value.size == len(line.removeprefix(BOM))
    return str(raised.value), raised.value.is_json, raised.value.request_id


def test_a_request_keeps_its_parameters_byte_for_byte() -> None:
    line = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params": {"b" : 1.0, "a":1e400, "a":"\\u00e9"} }'
    assert shown(decode(line)) == {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": b'{"b" : 1.0, "a":1e400, "a":"\\u00e9"}',
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"jsonrpc":"2.0","method":"x"}', {"jsonrpc": "2.0", "method": "x"}),
        (
            b'{"jsonrpc":"2.0","id":"a","result":null}',
            {"jsonrpc": "2.0", "id": "a", "method": None, "result": b"null"},
        ),
        (
            b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}',
            {"jsonrpc": "2.0", "id": 1, "method": None, "error": b'{"code":1}'},
        ),
        (b'{"jsonrpc":"2.0","id":null}', {"jsonrpc": "2.0", "id": None, "method": None}),
        (b"{}", {"jsonrpc": "", "method": None}),
        (b'{"unknown":{"id":5},"id":6}', {"jsonrpc": "", "id": 6, "method": None}),
        (b'{"id":%d}' % 10**30, {"jsonrpc": "", "id": 10**30, "method": None}),
        (b'{"id":-1}', {"jsonrpc": "", "id": -1, "method": None}),
    ],
)
def test_a_message_is_what_its_members_make_it(line: bytes, expected: dict[str, Any]) -> None:
    assert shown(decode(line)) == expected


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":1}\r',
        b'\t {"id":1} \r',
        BOM + b'{"id":1}',
        BOM + b'{"id":1}\r',
        '{"id":1,"x":"é€𝄞"}'.encode(),
        BOM + '{"id":1,"x":"é"}'.encode(),
    ],
)
def test_a_byte_order_mark_and_white_space_do_no_harm(line: bytes) -> None:
    assert decode(line).id == 1


@pytest.mark.parametrize(
    ("line", "reason", "is_json", "request_id"),
    [
        (b"[]", "Expected `object`, got `array`", True, None),
        (b"42", "Expected `object`, got `int`", True, None),
        (b'{"id":1,"method":5}', "Expected `str | null`, got `int` - at `$.method`", True, 1),
        (b'{"id":true}', "Expected `int | str | null`, got `bool` - at `$.id`", True, None),
        (b'{"id":{},"method":5}', "Expected `int | str | null`, got `object` - at `$.id`", True, None),
        (b'{"id":1' + b"0" * 5000 + b"}", "Integer value out of range - at `$.id`", True, None),
        (b'{"id":"a","method":5', "Expected `str | null`, got `int` - at `$.method`", False, None),
        (b'{"id":1,', "Input data was truncated", False, None),
        (b"", "it is blank", False, None),
        (b"hello", "JSON is malformed: invalid character (byte 0)", False, None),
        (b'{"id":1}{"id":2}', "JSON is malformed: trailing characters (byte 9)", False, None),
        (b'{"id":1,"result":NaN}', "JSON is malformed: invalid character (byte 17)", False, None),
        (b'{"id":1,"result":"\xff"}', "invalid UTF-8 at byte 18", False, None),
        (b'{"id":1,"result":"\xed\xa0\x80"}', "invalid UTF-8 at byte 18", False, None),
        (BOM + b"\xff", "invalid UTF-8 at byte 0", False, None),
        (b'{"id":1,"params":' + DEEP + b"}", "nested too deeply", True, 1),
        (b'{"result":' + DEEP + b',"jsonrpc":"2.0","id":1}', "nested too deeply", True, 1),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_line_that_is_no_message_says_why(
    line: bytes, reason: str, is_json: bool, request_id: object
) -> None:
    assert undecodable(line) == (reason, is_json, request_id)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (rb'"\ud800"', rb'"\ufffd"'),
        (rb'"\uDC00\ud83d"', rb'"\ufffd\ufffd"'),
        (rb'"\ud83d\ude00 \ud83d"', rb'"\ud83d\ude00 \ufffd"'),
        (rb'"\\ud800 \\\ud800"', rb'"\\ud800 \\\ufffd"'),
        (rb'{"a" : 1e400, "b":"\udfff"}', rb'{"a" : 1e400, "b":"\ufffd"}'),
    ],
)
def test_half_of_a_surrogate_pair_is_replaced_and_all_else_kept(written: bytes, read: bytes) -> None:
    assert bytes(decode(b'{"id":1,"result":%b}' % written).result) == read


def test_broken_json_is_not_blamed_on_a_whole_surrogate_pair() -> None:
    emoji = json.dumps("😀")
    _, is_json, _ = undecodable(b'{"id":1,"result":%b,' % emoji.encode())
    assert not is_json


def test_a_batch_is_its_objects() -> None:
    assert decode_batch(b'[ {"id":1} , 5, [{}], "x", {"id" : 2}\r ]') == [b'{"id":1}', b'{"id" : 2}']


@pytest.mark.parametrize("line", [b"{}", b"", b"[", b"[{}", b"5", b"[" * 100_000, b"[" + DEEP + b"]"])
def test_what_is_no_batch_has_no_messages(line: bytes) -> None:
    assert decode_batch(line) == []


def test_what_is_no_utf8_can_be_replaced() -> None:
    assert repair_text(b'{"id":1,"result":"a\xffb"}') == '{"id":1,"result":"a\ufffdb"}'.encode()
    assert repair_text('{"id":1,"result":"é"}'.encode()) is None


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b'{"code":-1,"message":"no"}', None),
        (b'{"code":-1,"message":"no","data":null}', b"null"),
        (b'{"code":-1,"message":"no","data":{"a" : 1.0},"more":5}', b'{"a" : 1.0}'),
    ],
)
def test_an_error_keeps_its_data_byte_for_byte(body: bytes, data: bytes | None) -> None:
    error = decode_error(body)
    assert isinstance(error, RemoteError)
    assert (error.code, error.message, error.data) == (-1, "no", data)


@pytest.mark.parametrize(
    "body", [b'"went wrong"', b"{}", b"[]", b"null", b'{"code":"x","message":"no"}', b'{"code":1}', DEEP]
)
def test_an_error_of_another_form_is_quoted_up_to_eighty_characters(body: bytes) -> None:
    error = decode_error(body)
    assert isinstance(error, BadAnswer)
    assert str(error) == f"its answer was an error of no known form: {body[:80].decode()}"


def test_the_start_of_a_body_can_be_asked_for() -> None:
    assert starts_with(msgspec.Raw(b'{"a":1}'), b"{")
    assert not starts_with(msgspec.Raw(b"[1]"), b"{")
    assert not starts_with(ABSENT, b"{")


def test_a_byte_order_mark_before_a_long_line_is_passed_over() -> None:
    line = memoryview(b"\xef\xbb\xbf" + b'{"jsonrpc":"2.0","id":1,"result":"x"}')
    assert decode(line).id == 1
