"""Events are cut out of a stream as the standard has it, wherever it is cut on the way, and within bounds."""

from __future__ import annotations

import pytest

from mcp_workbench.downstream.remote.events import EventParser
from mcp_workbench.errors import TooLong

Told = list[tuple[str, bytes, str]]

STREAMS: dict[str, tuple[bytes, Told]] = {
    "one": (b"data: {}\n\n", [("message", b"{}", "")]),
    "without a space": (b"data:{}\n\n", [("message", b"{}", "")]),
    "with two spaces": (b"data:  {}\n\n", [("message", b" {}", "")]),
    "with all fields": (b"event: x\nid: 7\nretry: 5\ndata: 1\n\n", [("x", b"1", "7")]),
    "an id that lasts": (b"id: 7\ndata: 1\n\ndata: 2\n\n", [("message", b"1", "7"), ("message", b"2", "7")]),
    "an id with a NUL": (b"id: 7\0\ndata: 1\n\n", [("message", b"1", "")]),
    "no data": (b"event: x\nid: 7\n\n", []),
    "empty data": (b"id: 7\ndata\n\n", [("message", b"", "7")]),
    "several lines": (b'data: {"a":\ndata: 1}\n\n', [("message", b'{"a": 1}', "")]),
    "comments": (b": hi\n\n:\n\ndata: 1\n: hi\n\n", [("message", b"1", "")]),
    "unknown fields": (b"foo: 1\nbar\ndata: 1\ndatax: 2\n\n", [("message", b"1", "")]),
    "carriage returns and newlines": (
        b"data: 1\r\n\r\ndata: 2\r\n\r\n",
        [("message", b"1", ""), ("message", b"2", "")],
    ),
    "carriage returns": (b"data: 1\r\rdata: 2\r\r", [("message", b"1", ""), ("message", b"2", "")]),
    "all kinds of ends": (b"data: 1\r\n\ndata: 2\n\r\n", [("message", b"1", ""), ("message", b"2", "")]),
    "a byte order mark": (b"\xef\xbb\xbfdata: 1\n\n", [("message", b"1", "")]),
    "bytes that are no text": (b"data: \xff\xfe\n\n", [("message", b"\xff\xfe", "")]),
    "an event that is not finished": (b"data: 1\n\ndata: 2\n", [("message", b"1", "")]),
    "odd spellings": (b'data: {"a":1.0,"b":"\\u00e9"}\n\n', [("message", b'{"a":1.0,"b":"\\u00e9"}', "")]),
}


def told(parser: EventParser, chunks: list[bytes]) -> Told:
    return [
        (event.name, bytes(event.data), event.last_id) for chunk in chunks for event in parser.feed(chunk)
    ]


@pytest.mark.parametrize(("stream", "events"), STREAMS.values(), ids=STREAMS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_the_same_however_they_arrive(stream: bytes, events: Told, size: int) -> None:
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert told(EventParser(100_000), chunks) == events


@pytest.mark.parametrize(
    ("line", "retry"),
    [
        (b"retry: 1500", 1.5),
        (b"retry: 0", 0.0),
        (b"retry: soon", None),
        (b"retry: -1", None),
        (b"retry:", None),
    ],
)
def test_the_time_to_wait_is_in_milliseconds(line: bytes, retry: float | None) -> None:
    parser = EventParser(100_000)
    assert told(parser, [line + b"\n\n"]) == []
    assert parser.retry == retry


@pytest.mark.parametrize(
    "chunks",
    [
        [b"data: ", *[b"x" * 1000] * 200],
        [b"data: xxxxxxxxx\n"] * 20_000,
        [b"data: " + b"x" * 200_000 + b"\n\n"],
        [b"event: ", *[b"x" * 1000] * 200],
    ],
    ids=["a line that does not end", "lines that do not end", "one line", "a name that does not end"],
)
def test_an_event_that_is_too_long_is_refused_before_it_has_come(chunks: list[bytes]) -> None:
    with pytest.raises(TooLong):
        told(EventParser(100_000), chunks)
