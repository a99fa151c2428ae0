"""What we write: one line for each message, around a body that is already JSON."""

from __future__ import annotations

import json

import msgspec
import pytest

from mcp_workbench.wire.message import error_line, notification_line, request_line, result_line


def test_a_request_carries_its_parameters_as_they_are() -> None:
    assert request_line(7, "tools/call", b'{"a" : 1.0}') == (
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a" : 1.0}}\n'
    )


def test_a_notification_has_no_id_and_may_have_no_parameters() -> None:
    assert notification_line("x/y") == b'{"jsonrpc":"2.0","method":"x/y"}\n'
    assert notification_line("x/y", b"{}") == b'{"jsonrpc":"2.0","method":"x/y","params":{}}\n'


@pytest.mark.parametrize(
    ("request_id", "text"),
    [(0, "0"), (10**30, str(10**30)), ('a"\n', '"a\\"\\n"'), ("7", '"7"'), ("é", '"é"')],
)
def test_an_answer_carries_the_very_id_and_the_result_as_it_is(request_id: int | str, text: str) -> None:
    line = result_line(request_id, msgspec.Raw(b'{"b" : 1.0, "a":1e400}'))
    assert line == f'{{"jsonrpc":"2.0","id":{text},"result":{{"b" : 1.0, "a":1e400}}}}\n'.encode()


def test_an_error_has_data_only_when_it_is_given() -> None:
    assert error_line(1, -5, "no") == b'{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"no"}}\n'
    assert json.loads(error_line(1, -5, "no", None))["error"] == {"code": -5, "message": "no", "data": None}


def test_an_error_without_a_readable_id_leaves_the_member_out() -> None:
    assert error_line(None, -5, "no") == b'{"jsonrpc":"2.0","error":{"code":-5,"message":"no"}}\n'


def test_a_message_of_several_lines_stays_one_line() -> None:
    line = error_line("a\nb", -5, "one\ntwo\r\n", {"three": "\n"})
    assert (line.count(b"\n"), line[-1:]) == (1, b"\n")
