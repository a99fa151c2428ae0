"""A response leaves together: one write where one will do."""

from __future__ import annotations

import asyncio

import pytest

from mcp_workbench.serve.responses import COPIED_BYTES, ResponseWriter

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n"
EVENTS = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


class Written(asyncio.Transport):
    """Keeps what is written to it, each time by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))

    def writelines(self, list_of_data: object) -> None:
        assert isinstance(list_of_data, tuple)
        self.writes.append(b"".join(list_of_data))

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def transport() -> Written:
    return Written()


@pytest.mark.parametrize("size", [0, 2, COPIED_BYTES + 1])
def test_a_head_goes_out_with_the_body_that_it_announces(transport: Written, size: int) -> None:
    way_out = ResponseWriter(transport, transport.close)
    way_out.write(HEAD)
    assert transport.writes == []
    way_out.write(b"~" * size)
    assert transport.writes == [HEAD + b"~" * size]


def test_what_comes_after_goes_out_by_itself(transport: Written) -> None:
    way_out = ResponseWriter(transport, transport.close)
    for part in (HEAD, b"{", b"}"):
        way_out.write(part)
    assert transport.writes == [HEAD + b"{", b"}"]


def test_the_head_of_a_stream_goes_out_at_once(transport: Written) -> None:
    way_out = ResponseWriter(transport, transport.close)
    way_out.write(EVENTS)
    assert transport.writes == [EVENTS]


def test_a_head_whose_body_never_comes_goes_out_before_the_end(transport: Written) -> None:
    way_out = ResponseWriter(transport, transport.close)
    way_out.write(HEAD)
    way_out.close()
    assert transport.writes == [HEAD]
    assert way_out.is_closing()
