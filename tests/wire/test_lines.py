"""Lines come out whole however the stream was cut, and no stream can fill the memory."""

from __future__ import annotations

import tracemalloc
from itertools import combinations, cycle, pairwise
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.wire.lines import EDGE_BYTES, GROWTH_BYTES, LONG_BYTES, LineSplitter, lacks_watched

if TYPE_CHECKING:
    from mcp_workbench.wire.lines import Line

LIMIT = 5


class Fed:
    """What a splitter made of some chunks."""

    def __init__(self, *chunks: bytes, limit: int = LIMIT) -> None:
        self.overlong: list[bytes] = []
        self.begun: list[bytes] = []
        self.splitter = LineSplitter(self.on_overlong, limit)
        self.lines = [line for chunk in chunks for line in self.splitter.feed(chunk)]

    def on_overlong(self, edges: bytes, *, is_over: bool) -> None:
        (self.overlong if is_over else self.begun).append(edges)


def cut(stream: bytes, places: tuple[int, ...]) -> list[bytes]:
    edges = [0, *places, len(stream)]
    return [stream[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize("stream", [b"a\nbc\n\nd", b"\n\nab\n", b"\xc3\xa9\r\n\xe2\x82\xac\nx"])
def test_a_stream_gives_the_same_lines_wherever_it_is_cut(stream: bytes) -> None:
    *lines, rest = stream.split(b"\n")
    inner = range(1, len(stream))
    for count in range(len(stream)):
        for places in combinations(inner, count):
            fed = Fed(*cut(stream, places), limit=len(stream))
            assert (fed.lines, fed.splitter.finish(), fed.overlong) == (lines, rest, [])


def test_a_stream_in_one_byte_pieces_gives_the_same_lines() -> None:
    stream = b'{"id":1}\n{"id":2}\n{"id":3}'
    fed = Fed(*(bytes([byte]) for byte in stream), limit=100)
    assert (fed.lines, fed.splitter.finish()) == ([b'{"id":1}', b'{"id":2}'], b'{"id":3}')


def test_a_finished_stream_has_nothing_more() -> None:
    fed = Fed(b"ab")
    assert [fed.splitter.finish(), fed.splitter.finish()] == [b"ab", b""]


def test_an_overlong_line_is_dropped_and_the_stream_recovers_wherever_it_is_cut() -> None:
    stream = b"ab\n0123456789\ncd\n01234\nef"
    for size in range(1, LIMIT + 1):
        fed = Fed(*(stream[at : at + size] for at in range(0, len(stream), size)))
        assert (fed.lines, fed.splitter.finish()) == ([b"ab", b"cd", b"01234"], b"ef")
        assert fed.overlong == [b"0123456789"]


def test_a_line_of_just_the_limit_is_kept() -> None:
    assert Fed(b"01234\n").lines == [b"01234"]
    assert Fed(b"012345\n").lines == []


def test_an_overlong_line_is_told_as_soon_as_it_is_one() -> None:
    fed = Fed(b"01234", b"5678", b"9ab", limit=8)
    assert (fed.lines, fed.begun, fed.overlong) == ([], [b"012345678"], [])
    assert fed.splitter.feed(b"c\nok\n") == [b"ok"]
    assert (fed.begun, fed.overlong) == ([b"012345678"], [b"0123456789abc"])


def test_two_overlong_lines_in_a_row_are_both_reported() -> None:
    fed = Fed(b"aaaaaaaaa", b"\nbbbb", b"bbbbb", b"\nok\n")
    assert (fed.lines, fed.overlong) == ([b"ok"], [b"aaaaaaaaa", b"bbbbbbbbb"])


def test_a_stream_that_ends_inside_an_overlong_line_ends_with_nothing() -> None:
    fed = Fed(b"0123456789")
    assert (fed.splitter.finish(), fed.overlong) == (None, [b"0123456789"])


def test_only_the_edges_of_an_overlong_line_are_shown() -> None:
    line = bytes(range(65, 91)) * 1000
    for size in (100, 3000, 9999, len(line)):
        fed = Fed(*(line[at : at + size] for at in range(0, len(line), size)), b"\n", limit=10_000)
        assert fed.overlong == [line[:EDGE_BYTES] + line[-EDGE_BYTES:]]


def allocated(splitter: LineSplitter, chunk: bytes) -> int:
    """The most memory, in bytes, that was in use at once beyond what was before, while `chunk` was fed."""
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    splitter.feed(chunk)
    return tracemalloc.get_traced_memory()[1] - before


@pytest.mark.untraced
def test_the_room_for_a_long_line_grows_in_steps_and_its_end_copies_nothing() -> None:
    # A copy of what is there for every chunk would let the cost grow with the square.
    chunk, count = b"x" * 65536, 32
    splitter = LineSplitter(lambda *_, **__: None)
    tracemalloc.start()
    try:
        while_it_grew = [allocated(splitter, chunk) for _ in range(count)]
        at_its_end = allocated(splitter, b"\n")
        of_the_next = [allocated(splitter, chunk) for _ in range(count)]
    finally:
        tracemalloc.stop()
    assert max(while_it_grew) < 3 * GROWTH_BYTES
    # What a chunk takes besides is its text, for the check that it is some.
    checked = len(chunk) + 1000
    assert sum(size > checked for size in while_it_grew) <= len(chunk) * count / GROWTH_BYTES + 1
    assert at_its_end < 1000
    assert [size > checked for size in of_the_next] == [True] + [False] * (count - 1)


def test_a_long_line_is_a_view_of_the_buffer_it_came_in() -> None:
    (line,) = Fed(b"x" * LONG_BYTES, b"yz\nnext", limit=2 * LONG_BYTES).lines
    assert isinstance(line, memoryview)
    assert line == b"x" * LONG_BYTES + b"yz"


@pytest.mark.parametrize("shift", range(5))
@pytest.mark.parametrize("character", ["\u00e9", "\u65e5", "\U0001f600"])
def test_a_character_may_lie_across_the_pieces_in_which_a_long_line_comes(character: str, shift: int) -> None:
    text = b"x" * shift + character.encode() * LONG_BYTES
    (line,) = Fed(
        *(text[at : at + LONG_BYTES] for at in range(0, len(text), LONG_BYTES)), b"\n", limit=len(text)
    ).lines
    assert isinstance(line, memoryview)
    assert line == text


@pytest.mark.parametrize("wrong", [b"\xff", b"\xc3", b"\xe6\x97", b"\xf0\x9f\x98"])
@pytest.mark.parametrize("after", [b"", b"x", b"x" * LONG_BYTES])
def test_a_long_line_that_is_not_text_comes_as_bytes(wrong: bytes, after: bytes) -> None:
    text = b"x" * (2 * LONG_BYTES - len(wrong)) + wrong + after
    fed = Fed(*(text[at : at + LONG_BYTES] for at in range(0, len(text), LONG_BYTES)), b"\n", limit=len(text))
    assert fed.lines == [text]
    assert isinstance(fed.lines[0], bytes)
    assert [bytes(line) for line in fed.splitter.feed(text.replace(wrong, b"") + b"\n")] == [
        text.replace(wrong, b"")
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes",
    [
        (LONG_BYTES,),
        (1, 7, 100),
        (LONG_BYTES + 1, LONG_BYTES - 1),
        (10 * LONG_BYTES,),
        (5 * LONG_BYTES, 9 * LONG_BYTES),
    ],
    ids=str,
)
def test_what_is_put_in_place_gives_the_same_lines(sizes: tuple[int, ...]) -> None:
    lines = [
        b"a" * (3 * LONG_BYTES),
        b"short",
        b"b" * (LONG_BYTES + 5),
        b"",
        b"d" * (30 * LONG_BYTES),
        b"c" * LONG_BYTES,
    ]
    stream = b"\n".join(lines)
    splitter = LineSplitter(lambda *_, **__: None)
    found: list[bytes] = []
    for size in cycle(sizes):
        if splitter.held >= LONG_BYTES:
            room = splitter.space()
            piece = stream[: min(size, len(room))]
            room[: len(piece)] = piece
            found += map(bytes, splitter.filled(len(piece)))
        else:
            piece = stream[:size]
            found += map(bytes, splitter.feed(piece))
        stream = stream[len(piece) :]
        if not stream:
            break
    assert [*found, splitter.finish()] == lines


def test_a_line_that_gets_too_long_in_place_is_dropped_and_the_stream_recovers() -> None:
    fed = Fed(b"x" * LONG_BYTES, limit=LONG_BYTES + 10)
    room = fed.splitter.space()
    room[:30] = b"y" * 20 + b"\nnext line"[:10]
    assert fed.splitter.filled(30) == []
    assert fed.overlong == [b"x" * EDGE_BYTES + b"x" * (EDGE_BYTES - 20) + b"y" * 20]
    assert fed.splitter.feed(b"!\n") == [b"next line!"]


class Searched(bytes):
    """A chunk that counts how often it is searched for a newline."""

    searches = 0

    def find(self, *args: object) -> int:
        self.searches += 1
        return super().find(*args)  # type: ignore[arg-type] # passed on as they came

    def split(self, *args: object) -> list[bytes]:
        self.searches += 1
        return super().split(*args)  # type: ignore[arg-type] # passed on as they came


def test_no_chunk_of_a_long_line_is_looked_at_again() -> None:
    chunks = [Searched(b"x" * 100) for _ in range(100)]
    fed = Fed(*chunks, b"\n", limit=100_000)
    assert fed.lines == [b"x" * 10_000]
    assert {chunk.searches for chunk in chunks} == {1}


def test_an_endless_line_takes_no_more_memory_than_the_limit() -> None:
    chunk, limit = b"x" * 65536, 1_000_000
    splitter = LineSplitter(lambda *_, **__: None, limit)
    # A fresh copy of the chunk each time, as a pipe would give.
    tracemalloc.start()
    try:
        for _ in range(200):
            splitter.feed(chunk[:-1] + b"y")
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 10_000
    assert most < 3 * limit


def long_line(text: bytes, cuts: tuple[int, ...], watched: tuple[bytes, ...]) -> Line:
    """A line that arrives in pieces, cut at these places."""
    splitter = LineSplitter(lambda *_, **__: None, watched=watched)
    lines: list[Line] = []
    for part in cut(text + b"\n", cuts):
        lines += splitter.feed(part)
    (line,) = lines
    assert line == text
    return line


@pytest.mark.parametrize("place", [0, 10, LONG_BYTES - 3, LONG_BYTES, LONG_BYTES + 200, 3 * LONG_BYTES - 7])
@pytest.mark.parametrize("watched", [b'uri"', b"\\u00"])
def test_a_watched_byte_string_is_seen_in_a_long_line_wherever_it_is_cut(place: int, watched: bytes) -> None:
    text = b"~" * 3 * LONG_BYTES
    text = text[:place] + watched + text[place + len(watched) :]
    for at in range(max(1, place - 1), place + len(watched) + 2):
        for cuts in ((at,), (LONG_BYTES, at), (LONG_BYTES, at, at + 1)):
            in_order = tuple(sorted(set(cuts) - {0}))
            assert not lacks_watched(long_line(text, in_order, (b'uri"', b"\\u00")))
            assert lacks_watched(long_line(text, in_order, (b"another",)))


@pytest.mark.parametrize(
    ("text", "watched"),
    [
        (b"~" * 2 * LONG_BYTES, ()),
        (b"~" * 100, (b"uri",)),
        (b"\0" + b"~" * 2 * LONG_BYTES, (b"uri",)),
        (b"\xff" + b"~" * 2 * LONG_BYTES, (b"uri",)),
        ("é".encode()[:1] + b"~" * 2 * LONG_BYTES, (b"uri",)),
    ],
    ids=["nothing is watched", "short", "a zero", "no UTF-8", "half a letter"],
)
def test_of_other_lines_nothing_is_known(text: bytes, watched: tuple[bytes, ...]) -> None:
    assert not lacks_watched(long_line(text, (LONG_BYTES,), watched))


def test_what_one_line_has_says_nothing_about_the_next() -> None:
    splitter = LineSplitter(lambda *_, **__: None, watched=(b"uri",))
    with_it, without = b"uri" + b"~" * LONG_BYTES, b"~" * LONG_BYTES
    for expected in (False, True, False, True):
        splitter.feed((without if expected else with_it)[:LONG_BYTES])
        (line,) = splitter.feed((without if expected else with_it)[LONG_BYTES:] + b"\n")
        assert lacks_watched(line) is expected


def test_a_line_read_in_place_is_watched_too() -> None:
    for text, expected in ((b"~" * 5 * LONG_BYTES, True), (b"~" * 5 * LONG_BYTES + b"uri", False)):
        splitter = LineSplitter(lambda *_, **__: None, watched=(b"uri",))
        splitter.feed(text[:LONG_BYTES])
        rest = text[LONG_BYTES:] + b"\n"
        lines: list[Line] = []
        while rest:
            room = splitter.space()
            count = min(len(room), len(rest), 1000)
            room[:count] = rest[:count]
            del room
            rest = rest[count:]
            lines = splitter.filled(count)
        assert lines == [text]
        assert lacks_watched(lines[0]) is expected
