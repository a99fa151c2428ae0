"""A peer gives every request its own answer, and hands on the rest."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
import pytest

from mcp_workbench.errors import ConnectionClosed, RemoteError, RequestTimeout
from mcp_workbench.wire.lines import LONG_BYTES, LineSplitter
from mcp_workbench.wire.request import Request
from tests.wire.loops import IN_JUMPING_TIME, now
from tests.wire.wires import Wire

pytestmark = IN_JUMPING_TIME

if TYPE_CHECKING:
    from mcp_workbench.errors import WireError

IDLE = 5.0


class Streaming(Request):
    """A stream that notes how it ended."""

    ends: list[str] = msgspec.field(default_factory=list)

    def succeed(self, result: msgspec.Raw) -> None:
        self.ends.append(bytes(result).decode())

    def fail(self, error: WireError) -> None:
        self.ends.append(str(error))


async def test_many_in_flight_each_get_their_own_answer_in_whatever_order_they_come() -> None:
    wire = Wire()
    requests = [wire.peer.ask("x", b"{}", limit=IDLE) for _ in range(500)]
    for request in reversed(requests):
        wire.answer(request.id, f"to {request.id}")
    answers = [bytes(await request.answer).decode() for request in requests]
    assert answers == [f'"to {request.id}"' for request in requests]
    assert wire.handled == []


async def test_a_request_goes_out_as_one_line_under_the_announced_id() -> None:
    wire = Wire()
    announced = wire.peer.next_id
    request = wire.peer.ask("tools/list", b'{"a":1}', limit=IDLE)
    assert request.id == announced
    assert wire.lines == [b'{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{"a":1}}\n' % announced]
    wire.peer.forget(request)


async def test_a_result_is_handed_over_byte_for_byte() -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=IDLE)
    wire.peer.receive(b'{"id":1,"jsonrpc":"2.0","result":{"b" : 1.0, "a":1e400}}')
    assert bytes(await request.answer) == b'{"b" : 1.0, "a":1e400}'


async def test_a_request_knows_what_its_latest_answer_was_seen_to_lack() -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=IDLE)
    splitter = LineSplitter(lambda *_, **__: None, watched=(b"uri",))

    def answer(request_id: str, text: str) -> bool:
        """Have the same request answered once more, as one that is made again is."""
        wire.peer._in_flight[1] = request
        start = f'{{"jsonrpc":"2.0","id":{request_id},"result":'.encode()
        splitter.feed(start)
        (line,) = splitter.feed(f'"{text}"}}\n'.encode())
        wire.peer.receive(line)
        return request.lacks_watched

    for request_id in ("1", '"1"'):
        assert answer(request_id, "~" * LONG_BYTES)
        assert not answer(request_id, "short")
        assert answer(request_id, "~" * LONG_BYTES)
        assert not answer(request_id, "~" * LONG_BYTES + "uri")


async def test_an_error_is_raised_as_it_came() -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=IDLE)
    wire.peer.receive(b'{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"no","data":[1.0]}}')
    with pytest.raises(RemoteError) as raised:
        await request.answer
    assert (raised.value.code, raised.value.message, raised.value.data) == (-5, "no", b"[1.0]")


async def test_an_id_may_come_back_as_text() -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=IDLE)
    wire.answer("1", "yes")
    assert bytes(await request.answer) == b'"yes"'


async def test_answers_may_come_in_a_batch() -> None:
    wire = Wire()
    first, second = (wire.peer.ask("x", b"{}", limit=IDLE) for _ in range(2))
    wire.peer.receive(b'[{"id":2,"result":"b"}, 5, {"id":1,"result":"a"}]')
    assert [bytes(await first.answer), bytes(await second.answer)] == [b'"a"', b'"b"']


async def test_an_answer_after_its_request_was_forgotten_is_ignored() -> None:
    wire = Wire()
    kept, forgotten = (wire.peer.ask("x", b"{}", limit=IDLE) for _ in range(2))
    wire.peer.forget(forgotten)
    assert forgotten.answer.cancelled()
    wire.answer(forgotten.id, "late")
    wire.answer(kept.id, "in time")
    assert bytes(await kept.answer) == b'"in time"'
    assert wire.handled == []


async def test_of_two_answers_the_first_counts() -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=IDLE)
    wire.answer(1, "first")
    wire.answer(1, "second")
    wire.peer.receive(b'{"id":1,"error":{"code":1,"message":"third"}}')
    assert bytes(await request.answer) == b'"first"'
    assert wire.handled == []


async def test_forgetting_an_answered_or_failed_request_is_harmless() -> None:
    wire = Wire()
    answered, failed = (wire.peer.ask("x", b"{}", limit=IDLE) for _ in range(2))
    wire.answer(1, "yes")
    wire.peer.receive(b'{"id":2,"error":{"code":1,"message":"never looked at"}}')
    for request in (answered, failed, answered):
        wire.peer.forget(request)
    assert bytes(await answered.answer) == b'"yes"'


async def test_closing_fails_everything_in_flight_with_the_reason() -> None:
    wire = Wire()
    answered, *waiting = (wire.peer.ask("x", b"{}", limit=IDLE) for _ in range(20))
    wire.answer(1, "yes")
    wire.peer.close("the server exited with code 3")
    assert bytes(await answered.answer) == b'"yes"'
    for request in waiting:
        with pytest.raises(ConnectionClosed, match=r"^the server exited with code 3$"):
            await request.answer
    assert now() == 0


async def test_after_the_end_a_request_fails_at_once_and_nothing_is_written() -> None:
    wire = Wire()
    wire.peer.close("gone")
    request = wire.peer.ask("x", b"{}", limit=IDLE)
    wire.peer.notify("y")
    wire.peer.open_stream(Streaming(), "z", b"{}")
    wire.peer.send(b"raw\n")
    wire.answer(request.id, "from beyond")
    with pytest.raises(ConnectionClosed, match=r"^gone$"):
        await request.answer
    assert (wire.lines, now()) == ([], 0)


async def test_a_stream_takes_an_id_and_hears_of_its_end_but_is_not_waited_for() -> None:
    wire = Wire()
    stream = Streaming()
    wire.peer.open_stream(stream, "listen", b'{"a":1}')
    assert not wire.peer.is_busy
    request = wire.peer.ask("x", b"{}", limit=IDLE)
    wire.answer(1, "the end of the stream")
    wire.answer(2, "yes")
    assert wire.sent[0] == {"jsonrpc": "2.0", "id": 1, "method": "listen", "params": {"a": 1}}
    assert stream.ends == ['"the end of the stream"']
    assert bytes(await request.answer) == b'"yes"'
    assert wire.handled == []


async def test_a_stream_hears_that_it_is_refused_and_that_the_connection_has_ended() -> None:
    wire = Wire()
    refused, open_ = Streaming(), Streaming()
    wire.peer.open_stream(refused, "listen", b"{}")
    wire.peer.open_stream(open_, "listen", b"{}")
    wire.peer.receive(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}')
    wire.peer.close("gone")
    assert (refused.ends, open_.ends) == (["JSON-RPC error -32601: no"], ["gone"])


async def test_the_time_of_a_request_that_is_held_does_not_count() -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=IDLE)
    await asyncio.sleep(IDLE / 2)
    wire.peer.hold(request)
    await asyncio.sleep(IDLE * 100)
    wire.peer.release(request)
    with pytest.raises(RequestTimeout):
        await request.answer
    assert now() == pytest.approx(IDLE * 101)


async def test_a_request_that_is_held_takes_no_room() -> None:
    wire = Wire()
    wire.peer.limit_to(1)
    request = wire.peer.ask("x", b"{}", limit=IDLE)
    assert (wire.peer.is_full, wire.peer.free_slots) == (True, 0)
    wire.peer.hold(request)
    assert (wire.peer.is_full, wire.peer.free_slots) == (False, 1)
    wire.peer.release(request)
    assert (wire.peer.is_full, wire.peer.free_slots) == (True, 0)
    wire.peer.hold(request)
    wire.answer(1, "yes")
    assert (wire.peer.is_full, wire.peer.free_slots) == (False, 1)
    wire.peer.ask("y", b"{}", limit=IDLE)
    assert (wire.peer.is_full, wire.peer.free_slots) == (True, 0)


async def test_requests_and_notifications_go_to_the_handler() -> None:
    wire = Wire()
    request = wire.peer.ask("x", b"{}", limit=IDLE)
    wire.peer.receive(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    wire.peer.receive(b'{"jsonrpc":"2.0","id":"a","method":"ask","params":{"b" : 1}}')
    wire.peer.receive(b'{"jsonrpc":"2.0","method":"told","params":[1.0]}')
    assert wire.handled == [
        ("request", 1, "ping", b""),
        ("request", "a", "ask", b'{"b" : 1}'),
        ("notification", "told", b"[1.0]"),
    ]
    assert not request.answer.done()
    wire.peer.forget(request)
