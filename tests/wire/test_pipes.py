"""Bytes in and out of whatever a descriptor may be: pipes, terminals, regular files, the null device."""

from __future__ import annotations

import asyncio
import os
import threading
import tty
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.wire.lines import EDGE_BYTES, MAX_LINE_BYTES
from mcp_workbench.wire.reader import LineReader, read_lines
from mcp_workbench.wire.writer import open_writer
from tests.support.waiting import PATIENCE, poll
from tests.wire.loops import ON_BOTH_LOOPS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from mcp_workbench.wire.message import Body
    from mcp_workbench.wire.writer import Writer

pytestmark = ON_BOTH_LOOPS

PIPES = 500


class Reading:
    """What was read from a file so far, and whether it has ended."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.overlong: list[bytes] = []
        self.ended = asyncio.Event()
        self.on_line: Callable[[], None] = lambda: None
        self.reader = LineReader(self._take, self.ended.set, self._take_overlong)

    def _take(self, line: bytes | memoryview) -> None:
        self.lines.append(bytes(line))
        self.on_line()

    def _take_overlong(self, edges: bytes, *, is_over: bool) -> None:
        if is_over:
            self.overlong.append(edges)

    async def end(self) -> list[bytes]:
        async with asyncio.timeout(PATIENCE):
            await self.ended.wait()
        return self.lines


async def reading(file: BinaryIO) -> Reading:
    it = Reading()
    await read_lines(file, it.reader)
    return it


def pipe() -> tuple[BinaryIO, BinaryIO]:
    read_end, write_end = os.pipe()
    return os.fdopen(read_end, "rb", 0), os.fdopen(write_end, "wb", 0)


def unheard(*_: object, **__: object) -> None:
    """For tests that do not ask about the loss of a reader."""


async def ended(writer: Writer) -> None:
    async with asyncio.timeout(PATIENCE):
        await writer.closed()


async def test_the_lines_of_a_pipe_come_as_they_are_written() -> None:
    source, sink = pipe()
    it = await reading(source)
    sink.write(b"one\ntwo")
    await poll(lambda: it.lines == [b"one"])
    sink.write(b"\nthree")
    sink.close()
    assert await it.end() == [b"one", b"two", b"three"]


async def test_the_lines_of_a_regular_file_come_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    lines = [str(number).encode() * 1000 for number in range(1000)]
    path.write_bytes(b"\n".join(lines))
    assert await (await reading(path.open("rb", 0))).end() == lines


async def test_the_null_device_ends_at_once() -> None:
    with open(os.devnull, "rb", 0) as null:  # noqa: ASYNC230, PTH123 - opening it takes no time, and it is no path
        assert await (await reading(os.fdopen(os.dup(null.fileno()), "rb", 0))).end() == []


async def test_a_terminal_can_be_read() -> None:
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    it = await reading(os.fdopen(theirs, "rb", 0))
    os.write(ours, b"typed\n")
    await poll(lambda: it.lines == [b"typed"])
    os.close(ours)
    assert await it.end() == [b"typed"]


async def test_empty_lines_are_passed_over() -> None:
    source, sink = pipe()
    it = await reading(source)
    sink.write(b"\n\n\none\r\n\n\ntwo\n\n")
    sink.close()
    assert await it.end() == [b"one\r", b"two"]


async def test_what_the_lines_of_one_read_cause_to_be_written_goes_out_in_order() -> None:
    source, sink = pipe()
    answers, answering = pipe()
    writer = await open_writer(answering, unheard, unheard)
    reader = LineReader(lambda line: writer.write(answer_to(bytes(line))), writer.close, unheard)
    questions = [b"%d" % number for number in range(100)]
    sink.write(b"\n".join(questions))
    sink.close()
    it = await reading(answers)
    await read_lines(source, reader)
    assert await it.end() == [b"".join(answer_to(question)).strip() for question in questions]


def answer_to(question: bytes) -> list[Body]:
    """Short and long ones in turn."""
    return [question * (1 if int(question) % 3 else 10_000), b"!", b"\n"]


async def test_a_line_too_long_to_keep_is_told_by_its_beginning_and_the_next_is_read() -> None:
    source, sink = pipe()
    it = await reading(source)
    writer = await open_writer(sink, unheard, unheard)
    writer.write(b"a" * (MAX_LINE_BYTES + 1) + b"\nnext\n")
    writer.close()
    assert await it.end() == [b"next"]
    assert it.overlong == [b"a" * 2 * EDGE_BYTES]


async def test_a_reader_that_is_closed_says_that_it_has_ended() -> None:
    source, sink = pipe()
    it = await reading(source)
    it.reader.close()
    assert await it.end() == []
    sink.close()


async def test_a_write_never_waits_and_all_of_it_arrives_in_order() -> None:
    source, sink = pipe()
    writer = await open_writer(sink, unheard, unheard)
    lines = [str(number).encode() * 10_000 for number in range(200)]
    for line in lines:
        writer.write(line + b"\n")
    writer.close()
    assert await (await reading(source)).end() == lines
    await ended(writer)


async def test_a_reader_that_has_gone_is_told_once_and_writing_on_is_silent() -> None:
    source, sink = pipe()
    lost: list[str] = []
    writer = await open_writer(sink, lambda: lost.append("lost"), unheard)
    source.close()
    await poll(lambda: lost)
    for _ in range(10):
        writer.write(b"x" * 100_000)
    writer.close()
    await ended(writer)
    assert lost == ["lost"]


async def test_a_reader_that_goes_in_the_middle_of_a_large_write_ends_it() -> None:
    source, sink = pipe()
    writer = await open_writer(sink, unheard, unheard)
    writer.write(b"x" * 5_000_000)
    source.close()
    await ended(writer)


async def test_a_regular_file_gets_all_that_is_written_in_order(tmp_path: Path) -> None:
    path = tmp_path / "written"
    writer = await open_writer(path.open("wb", 0), unheard, unheard)
    lines = [str(number).encode() * 1000 + b"\n" for number in range(500)]
    for line in lines:
        writer.write(line)
    writer.close()
    await ended(writer)
    assert path.read_bytes() == b"".join(lines)


@pytest.mark.parametrize("device", [path for path in ("/dev/null", "/dev/full") if Path(path).exists()])
async def test_a_device_that_keeps_nothing_is_written_to_in_silence(device: str) -> None:
    writer = await open_writer(os.fdopen(os.open(device, os.O_WRONLY), "wb", 0), unheard, unheard)
    writer.write(b"x" * 100_000)
    writer.write(b"y")
    writer.close()
    await ended(writer)


async def test_waiting_for_the_end_may_be_given_up_and_taken_up_again() -> None:
    source, sink = pipe()
    writer = await open_writer(sink, unheard, unheard)
    writer.write(b"x" * 1_000_000)
    writer.close()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await writer.closed()
    it = await reading(source)
    await it.end()
    await ended(writer)


async def test_closing_pipes_closes_no_file_of_another_thread() -> None:
    """A descriptor that is closed twice may be that of a file which a thread has opened in between."""
    faults: list[OSError] = []
    is_over = threading.Event()

    def write_files() -> None:
        while not is_over.is_set():
            try:
                descriptors = [os.open(os.devnull, os.O_WRONLY) for _ in range(3)]
                for descriptor in descriptors:
                    os.write(descriptor, b"x")
                    os.close(descriptor)
            except OSError as fault:
                faults.append(fault)

    threads = [threading.Thread(target=write_files) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(PIPES):
            reading, writing = os.pipe()
            read = Reading()
            await read_lines(os.fdopen(reading, "rb", 0), read.reader)
            writer = await open_writer(os.fdopen(writing, "wb", 0), lambda: None, lambda _: None)
            writer.close()
            await writer.closed()
            await read.ended.wait()
            read.reader.close()
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert faults == []
