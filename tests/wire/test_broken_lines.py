"""A broken answer fails its request at once, and whatever else comes does no harm."""

from __future__ import annotations

import pytest

from mcp_workbench.errors import BadAnswer, ConnectionClosed, TooLong
from tests.support.nesting import TOO_DEEP
from tests.wire.loops import IN_JUMPING_TIME
from tests.wire.wires import Wire

pytestmark = IN_JUMPING_TIME

DEEP = b"[" * TOO_DEEP + b"]" * TOO_DEEP
UNREADABLE = "its answer could not be read: "


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"jsonrpc":"2.0","id":1}', "its answer has neither a result nor an error"),
        (b'{"id":1,"error":"no"}', 'its answer was an error of no known form: "no"'),
        (b'{"id":1,"error":{}}', "its answer was an error of no known form: {}"),
        (b'{"id":1,"result":{', UNREADABLE + "Input data was truncated"),
        (b'{"id":1,"result":NaN}', UNREADABLE + "JSON is malformed: invalid character (byte 17)"),
        (b'{"id":1,"result":' + DEEP + b"}", UNREADABLE + "nested too deeply"),
        (b'[{"id":1,"error":5}]', "its answer was an error of no known form: 5"),
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_a_broken_answer_fails_its_request_at_once_and_no_other(line: bytes, message: str) -> None:
    wire = Wire()
    broken, other = (wire.peer.ask("x", b"{}", limit=5) for _ in range(2))
    wire.peer.receive(line)
    assert broken.answer.done()
    with pytest.raises(BadAnswer) as raised:
        await broken.answer
    assert str(raised.value) == message
    wire.answer(2, "yes")
    assert bytes(await other.answer) == b'"yes"'
    assert wire.handled == []


async def test_an_answer_whose_id_has_a_fraction_of_zero_does_not_keep_its_request_waiting() -> None:
    # Some libraries read every number as floating point, and give back 1.0 for 1.
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=5)
    wire.answer(1.0, "yes")
    assert request.answer.done()


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"result":{"text":"aaaa',
        b'{"result":{"text":"aaaaaaaa"},"jsonrpc":"2.0","id":1}',
    ],
)
async def test_a_line_too_long_to_keep_fails_the_request_whose_id_it_begins_or_ends_with(line: bytes) -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=5)
    wire.peer.receive_overlong(line, is_over=True)
    with pytest.raises(BadAnswer, match=r"^its answer is longer than 64 MiB$"):
        await request.answer


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"Welcome!", "JSON is malformed: invalid character (byte 0)"),
        (b"[]", "Expected `object`, got `array`"),
        (b"\xff", "invalid UTF-8 at byte 0"),
        (b'{"id":99', "Input data was truncated"),
        (b'{"jsonrpc":"2.0","id":99}', "`method` is missing"),
        (b'{"jsonrpc":"2.0"}', "`method` is missing"),
        (b'{"id":1,"method":"x"}', '`jsonrpc` must be "2.0"'),
        (b'{"jsonrpc":"1.0","method":"x"}', '`jsonrpc` must be "2.0"'),
        (b'{"jsonrpc":"2.0","id":null,"method":"x"}', "`id` must not be null"),
        (b'{"jsonrpc":"2.0","method":5}', "Expected `str | null`, got `int` - at `$.method`"),
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_a_line_that_answers_nothing_is_garbage_and_harms_no_request(line: bytes, reason: str) -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=5)
    wire.peer.receive(line)
    assert wire.handled == [("garbage", reason)]
    wire.answer(1, "yes")
    assert bytes(await request.answer) == b'"yes"'


async def test_a_log_line_that_quotes_a_request_is_garbage_and_harms_no_request() -> None:
    wire = Wire()
    request = wire.peer.ask("tools/list", b"{}", limit=5)
    wire.peer.receive(b"received: " + wire.lines[0].strip())
    assert [kind for kind, *_ in wire.handled] == ["garbage"]
    wire.answer(1, "yes")
    assert bytes(await request.answer) == b'"yes"'


async def test_a_broken_request_of_theirs_is_not_taken_for_the_answer_to_ours() -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=5)
    wire.peer.receive(b'{"jsonrpc":"2.0","id":1,"method":"ask","params":"\x01"}')
    assert [kind for kind, *_ in wire.handled] == ["garbage"]
    wire.answer(1, "yes")
    assert bytes(await request.answer) == b'"yes"'


async def test_a_line_too_long_to_keep_that_answers_nothing_is_garbage() -> None:
    wire = Wire()
    wire.peer.receive_overlong(b'{"jsonrpc":"2.0","id":1,"result":', is_over=True)
    assert wire.handled == [("garbage", "the line is longer than 64 MiB")]


async def test_a_batch_is_garbage_where_nothing_is_asked() -> None:
    wire = Wire()
    wire.peer.receive(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]')
    assert wire.handled == [("garbage", "Expected `object`, got `array`")]


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":"' + b"9" * 5000 + b'","result":{}}',
        b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"result":{}}',
        '{"jsonrpc":"2.0","id":"٣","result":{}}'.encode(),
        '{"jsonrpc":"2.0","id":"²","result":{}}'.encode(),
        b'{"jsonrpc":"2.0","id":"-1","result":{}}',
        b'{"jsonrpc":"2.0","id":null,"result":{}}',
        b'{"jsonrpc":"2.0","id":[1],"result":{}}',
        b"[" * 100_000,
        b"[" + b'{"id":' * 50_000,
        b"\x00" * 1000,
        b'{"id":1' * 1000,
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_no_line_raises_or_harms_a_request(line: bytes) -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=5)
    wire.peer.receive(line)
    assert not request.answer.done()
    wire.answer(1, "yes")
    assert bytes(await request.answer) == b'"yes"'


@pytest.mark.parametrize("line", [b" ", b"\r", b" \t\r", b"\x0b"])
async def test_a_blank_line_is_nothing(line: bytes) -> None:
    wire = Wire()
    wire.peer.receive(line)
    assert (wire.handled, wire.lines) == ([], [])


async def test_an_answer_that_is_too_long_fails_its_request_before_it_is_over() -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=5)
    wire.peer.receive_overlong(b'{"jsonrpc":"2.0","id":1,"result":{"text":"aaaa', is_over=False)
    with pytest.raises(TooLong):
        await request.answer
    assert wire.handled == []


async def test_a_line_that_is_too_long_and_answers_nothing_is_told_when_it_is_over() -> None:
    wire = Wire()
    for is_over in (False, True):
        wire.peer.receive_overlong(b'{"method":"x","params":"aaaa', is_over=is_over)
    assert wire.handled == [("garbage", "the line is longer than 64 MiB")]


@pytest.mark.parametrize("rest", [b'{"jsonrpc":"2.0","id":1,"resu', b"{", b"bye"])
async def test_half_a_line_at_the_end_of_all_is_no_answer(rest: bytes) -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=5)
    wire.peer.receive_rest(rest)
    assert not request.answer.done()
    wire.peer.close("the server exited with code 7")
    with pytest.raises(ConnectionClosed):
        await request.answer
    assert wire.handled == []


async def test_a_whole_line_without_its_newline_is_an_answer() -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=5)
    wire.peer.receive_rest(b'{"jsonrpc":"2.0","id":1,"result":"yes"}')
    assert bytes(await request.answer) == b'"yes"'


@pytest.mark.parametrize("line", [b"garbage", memoryview(b"x" * 1_000_000), b"\xff\xfe"])
async def test_what_does_not_begin_like_json_is_garbage_at_first_sight(line: bytes | memoryview) -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=5)
    wire.peer.receive(line)
    assert [kind for kind, _ in wire.handled] == ["garbage"]
    wire.answer(1, "yes")
    assert bytes(await request.answer) == b'"yes"'
