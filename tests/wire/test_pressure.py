"""When one side does not read: a writer says that it is full, and a paused reader takes nothing."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING

from mcp_workbench.wire.lines import LONG_BYTES
from mcp_workbench.wire.reader import read_lines
from mcp_workbench.wire.writer import FULL_BYTES, open_writer
from tests.support.waiting import PATIENCE, poll
from tests.wire.loops import ON_BOTH_LOOPS
from tests.wire.test_pipes import Reading, ended, pipe, reading, unheard

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = ON_BOTH_LOOPS

LINE = b"x" * 99_999 + b"\n"


async def test_a_writer_is_full_when_much_waits_and_not_any_more_when_all_is_read() -> None:
    source, sink = pipe()
    full: list[bool] = []
    writer = await open_writer(sink, unheard, full.append)
    count = 0
    while not full:
        writer.write(LINE)
        count += 1
    assert FULL_BYTES < writer.waiting <= FULL_BYTES + len(LINE)
    for _ in range(10):
        writer.write([b"y" * 50_000, b"\n"])
    assert full == [True]
    it = await reading(source)
    await poll(lambda: full == [True, False])
    assert writer.waiting == 0
    writer.close()
    assert len(await it.end()) == count + 10


async def test_a_little_that_waits_is_nothing_to_speak_of() -> None:
    source, sink = pipe()
    full: list[bool] = []
    writer = await open_writer(sink, unheard, full.append)
    for _ in range(10):
        writer.write(LINE)
    assert writer.waiting > 0
    it = await reading(source)
    writer.close()
    assert len(await it.end()) == 10
    assert full == []


async def test_a_reader_that_is_gone_makes_room_too() -> None:
    source, sink = pipe()
    full: list[bool] = []
    writer = await open_writer(sink, unheard, full.append)
    writer.write(b"x" * (FULL_BYTES + 1_000_000))
    assert full == [True]
    source.close()
    await ended(writer)
    assert (full, writer.waiting) == ([True, False], 0)


async def test_the_thread_of_a_shared_socket_tells_the_same() -> None:
    ours, theirs = socket.socketpair()
    full: list[bool] = []
    writer = await open_writer(os.fdopen(ours.detach(), "wb", 0), unheard, full.append, read_too=True)
    for _ in range(2 * FULL_BYTES // len(LINE)):
        writer.write(LINE)
    assert full == [True]
    assert writer.waiting > FULL_BYTES // 2
    it = await reading(os.fdopen(theirs.detach(), "rb", 0))
    await poll(lambda: full == [True, False])
    writer.close()
    assert len(await it.end()) == 2 * FULL_BYTES // len(LINE)


async def test_a_paused_reader_leaves_what_comes_to_the_other_side() -> None:
    source, sink = pipe()
    it = await reading(source)
    writer = await open_writer(sink, unheard, unheard)
    writer.write(b"one\n")
    await poll(lambda: it.lines == [b"one"])
    it.reader.pause()
    for _ in range(100):
        writer.write(LINE)
    await turns()
    assert it.lines == [b"one"]
    assert writer.waiting > 0
    it.reader.resume()
    writer.close()
    assert await it.end() == [b"one", *[LINE[:-1]] * 100]


async def test_a_reader_that_is_paused_by_a_line_before_a_long_one_stays_so() -> None:
    """For the long one another protocol stands in, and a change of protocol begins to read again."""
    source, sink = pipe()
    it = await reading(source)
    writer = await open_writer(sink, unheard, unheard)
    writer.write([b"l" * 3 * LONG_BYTES, b"\n"])  # from here on the pipe is wide, and so is a read
    await poll(lambda: it.lines)
    it.on_line = it.reader.pause
    it.reader.pause()
    writer.write([b"short\n", b"l" * 40 * LONG_BYTES, b"\n"])
    await turns()
    it.reader.resume()
    await poll(lambda: len(it.lines) == 2)
    await turns()
    assert writer.waiting > 20 * LONG_BYTES
    it.on_line = unheard
    it.reader.resume()
    writer.close()
    assert [len(line) for line in await it.end()] == [3 * LONG_BYTES, 5, 40 * LONG_BYTES]


async def test_a_regular_file_is_read_no_further_than_it_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(LINE * 200)
    it = Reading()
    it.reader.pause()
    await read_lines(path.open("rb", 0), it.reader)
    await turns()
    held = len(it.lines)
    assert held <= 2
    it.reader.resume()
    assert len(await it.end()) == 200


async def turns() -> None:
    """Long enough for whatever is ready to be read."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(PATIENCE):
        for _ in range(50):
            done = loop.create_future()
            loop.call_later(0.001, done.set_result, None)
            await done
